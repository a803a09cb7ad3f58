"""Attacks: record and replay, random chains, a search for worse neighbours, empirical bounds. For curators and tests."""

from importlib import import_module
from typing import Any

_HOMES = {
    "Call": "replay",
    "Case": "sensitivity_case",
    "ChainsResult": "random_chains",
    "Draws": "sensitivity_draws",
    "Experiment": "empirical",
    "Finding": "judgement",
    "Judgement": "judgement",
    "Neighbour": "replay",
    "Pair": "sensitivity_case",
    "PlanRun": "replay_pipeline",
    "RawTable": "replay_neighbours",
    "Recorder": "replay",
    "Result": "replay",
    "SearchResult": "sensitivity_search",
    "Verdict": "empirical",
    "attack_chains": "random_chains",
    "audit": "empirical",
    "neighbours": "replay_neighbours",
    "replay_plan": "replay_pipeline",
    "search": "sensitivity_search",
    "synthetic": "replay_neighbours",
}

__all__ = [
    "Call",
    "Case",
    "ChainsResult",
    "Draws",
    "Experiment",
    "Finding",
    "Judgement",
    "Neighbour",
    "Pair",
    "PlanRun",
    "RawTable",
    "Recorder",
    "Result",
    "SearchResult",
    "Verdict",
    "attack_chains",
    "audit",
    "neighbours",
    "replay_plan",
    "search",
    "synthetic",
]


def __getattr__(name: str) -> Any:  # imported when asked for: a command needs few of them
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
