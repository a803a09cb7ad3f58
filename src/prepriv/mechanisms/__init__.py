"""Mechanisms: the only place where noise is drawn, exact integers in, noisy numbers out, through a `Session`."""

from importlib import import_module
from typing import Any

_HOMES = {
    "Apart": "covariance",
    "Cost": "mechanism",
    "ExactSession": "session",
    "ExponentialMechanism": "exponential",
    "GaussianSum": "gaussian_sum",
    "GaussianTest": "propose_test_release",
    "Grid": "quantile",
    "LaplaceSum": "laplace_sum",
    "LaplaceTest": "propose_test_release",
    "MeanShares": "instance_optimal_mean",
    "Mechanism": "mechanism",
    "Mechanisms": "handle",
    "Metered": "session",
    "NoiseSource": "noise",
    "NoisySession": "session",
    "Release": "session",
    "Scores": "exponential",
    "Session": "session",
    "SpentError": "session",
    "StabilityHistogram": "stability_histogram",
    "gaussian_sum": "mean",
    "private_histogram": "histogram",
    "private_quantile": "quantile",
    "private_second_moment": "covariance",
    "private_threshold": "quantile",
    "rank_above": "quantile",
}

__all__ = [
    "Apart",
    "Cost",
    "ExactSession",
    "ExponentialMechanism",
    "GaussianSum",
    "GaussianTest",
    "Grid",
    "LaplaceSum",
    "LaplaceTest",
    "MeanShares",
    "Mechanism",
    "Mechanisms",
    "Metered",
    "NoiseSource",
    "NoisySession",
    "Release",
    "Scores",
    "Session",
    "SpentError",
    "StabilityHistogram",
    "gaussian_sum",
    "private_histogram",
    "private_quantile",
    "private_second_moment",
    "private_threshold",
    "rank_above",
]


def __getattr__(name: str) -> Any:  # imported when asked for: a command needs few of them
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
