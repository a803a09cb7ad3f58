"""What a claim is: certified trade-off functions, mixtures, amplification, composition. Does not know any data."""

from prepriv.guarantees.families import approximate_dp, gaussian, laplace, randomized_response
from prepriv.guarantees.gaussian import gdp_delta, gdp_epsilon, gdp_mu
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
