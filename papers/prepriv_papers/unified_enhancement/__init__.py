"""Unified Enhancement of Privacy Bounds for Mixture Mechanisms via f-Differential Privacy: shuffling, initialization."""
