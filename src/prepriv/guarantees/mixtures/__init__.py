"""Mixtures of mechanisms: joint concavity, the advanced bound, swaps, random initialization."""

from prepriv.guarantees.mixtures.advanced import advanced_mixture
from prepriv.guarantees.mixtures.initialization import initialization_mixture, random_initialization
from prepriv.guarantees.mixtures.mixture import joint_concavity_is_exact, mixture
from prepriv.guarantees.mixtures.swap import swap_mixture

__all__ = [
    "advanced_mixture",
    "initialization_mixture",
    "joint_concavity_is_exact",
    "mixture",
    "random_initialization",
    "swap_mixture",
]
