"""Mixtures of mechanisms: joint concavity, the advanced bound, swaps, random initialization."""

from typing import TYPE_CHECKING

from prepriv._asked import when_asked
from prepriv.guarantees.mixtures.mixture import joint_concavity_is_exact, mixture

if TYPE_CHECKING:
    from prepriv.guarantees.mixtures.advanced import advanced_mixture
    from prepriv.guarantees.mixtures.initialization import initialization_mixture, random_initialization
    from prepriv.guarantees.mixtures.swap import swap_mixture

__all__ = [
    "advanced_mixture",
    "initialization_mixture",
    "joint_concavity_is_exact",
    "mixture",
    "random_initialization",
    "swap_mixture",
]

__getattr__, __dir__ = when_asked(
    __name__,
    {
        "advanced_mixture": "advanced",
        "initialization_mixture": "initialization",
        "random_initialization": "initialization",
        "swap_mixture": "swap",
    },
)
