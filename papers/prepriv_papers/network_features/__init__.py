"""Experiments of two papers on features of a network that was trained on public data."""
