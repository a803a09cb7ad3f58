"""What a claim is: certified trade-off functions, mixtures, amplification, composition. Does not know any data."""

from typing import TYPE_CHECKING

from prepriv._asked import when_asked
from prepriv.guarantees.families import approximate_dp, gaussian, laplace, randomized_response
from prepriv.guarantees.gaussian import gdp_delta, gdp_epsilon, gdp_mu

if TYPE_CHECKING:
    from prepriv.guarantees.loss_distribution import compose, from_dp_accounting, to_dp_accounting
    from prepriv.guarantees.mixtures.advanced import advanced_mixture
    from prepriv.guarantees.mixtures.initialization import initialization_mixture, random_initialization
    from prepriv.guarantees.mixtures.mixture import joint_concavity_is_exact, mixture
    from prepriv.guarantees.mixtures.swap import swap_mixture
    from prepriv.guarantees.piecewise import discrete_pair, piecewise_linear
    from prepriv.guarantees.renyi import (
        RenyiCurve,
        bounded_range_renyi,
        gaussian_renyi,
        pure_renyi,
        renyi_curve,
        zcdp,
    )
    from prepriv.guarantees.shuffling.shuffle import shuffle
    from prepriv.guarantees.shuffling.variation_ratio import blanket, k_randomized_response, local_laplace
    from prepriv.guarantees.smooth_mechanisms import (
        exponential_mechanism,
        full_batch_gradient,
        gaussian_mechanism,
        laplace_mechanism,
        one_pass_gradient,
        sampled_gradient,
    )
    from prepriv.guarantees.smooth_renyi import (
        SmoothMechanism,
        SmoothRenyiCurve,
        inverse_pointwise_distance,
        largest_distance,
        with_preprocessing,
    )
    from prepriv.guarantees.tradeoff import TradeoffFunction

__all__ = [
    "RenyiCurve",
    "SmoothMechanism",
    "SmoothRenyiCurve",
    "TradeoffFunction",
    "advanced_mixture",
    "approximate_dp",
    "blanket",
    "bounded_range_renyi",
    "compose",
    "discrete_pair",
    "exponential_mechanism",
    "from_dp_accounting",
    "full_batch_gradient",
    "gaussian",
    "gaussian_mechanism",
    "gaussian_renyi",
    "gdp_delta",
    "gdp_epsilon",
    "gdp_mu",
    "initialization_mixture",
    "inverse_pointwise_distance",
    "joint_concavity_is_exact",
    "k_randomized_response",
    "laplace",
    "laplace_mechanism",
    "largest_distance",
    "local_laplace",
    "mixture",
    "one_pass_gradient",
    "piecewise_linear",
    "pure_renyi",
    "random_initialization",
    "randomized_response",
    "renyi_curve",
    "sampled_gradient",
    "shuffle",
    "swap_mixture",
    "to_dp_accounting",
    "with_preprocessing",
    "zcdp",
]

__getattr__, __dir__ = when_asked(
    __name__,
    {
        "RenyiCurve": "renyi",
        "SmoothMechanism": "smooth_renyi",
        "SmoothRenyiCurve": "smooth_renyi",
        "TradeoffFunction": "tradeoff",
        "advanced_mixture": "mixtures.advanced",
        "blanket": "shuffling.variation_ratio",
        "bounded_range_renyi": "renyi",
        "compose": "loss_distribution",
        "discrete_pair": "piecewise",
        "exponential_mechanism": "smooth_mechanisms",
        "from_dp_accounting": "loss_distribution",
        "full_batch_gradient": "smooth_mechanisms",
        "gaussian_mechanism": "smooth_mechanisms",
        "gaussian_renyi": "renyi",
        "initialization_mixture": "mixtures.initialization",
        "inverse_pointwise_distance": "smooth_renyi",
        "joint_concavity_is_exact": "mixtures.mixture",
        "k_randomized_response": "shuffling.variation_ratio",
        "laplace_mechanism": "smooth_mechanisms",
        "largest_distance": "smooth_renyi",
        "local_laplace": "shuffling.variation_ratio",
        "mixture": "mixtures.mixture",
        "one_pass_gradient": "smooth_mechanisms",
        "piecewise_linear": "piecewise",
        "pure_renyi": "renyi",
        "random_initialization": "mixtures.initialization",
        "renyi_curve": "renyi",
        "sampled_gradient": "smooth_mechanisms",
        "shuffle": "shuffling.shuffle",
        "swap_mixture": "mixtures.swap",
        "to_dp_accounting": "loss_distribution",
        "with_preprocessing": "smooth_renyi",
        "zcdp": "renyi",
    },
)
