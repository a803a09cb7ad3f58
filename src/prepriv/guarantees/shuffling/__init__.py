"""Amplification by shuffling: exact and certified bounds."""

from prepriv.guarantees.shuffling.shuffle import shuffle
from prepriv.guarantees.shuffling.variation_ratio import blanket, k_randomized_response, local_laplace

__all__ = ["blanket", "k_randomized_response", "local_laplace", "shuffle"]
