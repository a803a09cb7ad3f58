"""What a claim is: certified trade-off functions, mixtures, amplification, composition. Knows no data."""

from prepriv.guarantees.families import (
    approximate_dp,
    gaussian,
    gdp_delta,
    gdp_epsilon,
    gdp_mu,
    laplace,
    randomized_response,
)
from prepriv.guarantees.tradeoff import TradeoffFunction

__all__ = [
    "TradeoffFunction",
    "approximate_dp",
    "gaussian",
    "gdp_delta",
    "gdp_epsilon",
    "gdp_mu",
    "laplace",
    "randomized_response",
]
