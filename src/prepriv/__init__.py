"""Differential privacy for the whole pipeline: pre-processing, training, release."""
