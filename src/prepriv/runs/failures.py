"""How a run on private rows fails: errors that hold no cell."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, TypeVar

from prepriv._kinds import is_ours
from prepriv._quiet import silent
from prepriv.engines.engine import EngineError
from prepriv.mechanisms.session import SpentError

_T = TypeVar("_T")


class Refused(Exception):
    """The test of a step's caps did not pass: an output like any other, charged in full. Names the step only."""

    def __init__(self, steps: str) -> None:
        super().__init__(f"refused: the data may be too close to breaking the declared caps of {steps}")


class AuditFailed(RuntimeError):
    """Canaries of a run leaked more than its plan allows, or its noise was smaller: nothing leaves. What it says is of canaries."""


class ThirdPartyError(RuntimeError):
    """Third-party code failed on private rows. It names the code alone: type, message and traceback of what failed can hold cells."""


def sealed(codes: Iterable[object], private: bool, run: Callable[[], _T]) -> _T:
    """What `run` gives, which lets `codes` read private rows. ThirdPartyError where it fails and some code is third-party.

    Refused, an output of a mechanism, and EngineError, which is about the machine, go through. So does every error of
    built-in code alone, whose sentences hold no cell, and of a run that claims nothing.
    """
    names = sorted({type(code).__name__ for code in codes if code is not None and not is_ours(type(code))})
    if not (names and private):
        return run()
    spent = False
    try:
        with silent():
            return _or_failed(run)
    except _Spent:
        spent = True
    except _Failed:
        pass
    if spent:
        raise SpentError(f"{', '.join(names)} asked for more releases than its share of the budget pays for")
    raise ThirdPartyError(  # outside of every handler: it holds no other error
        f"third-party code ({', '.join(names)}) failed on the private rows; its error could hold cells and is not shown. "
        "The charge stands: run it on made-up rows to see the error"
    )


def codes_of(plan: Any) -> tuple[object, ...]:
    """The code that a plan lets read rows: its steps, its learner, the learner's loss."""
    learner = getattr(plan, "learner", None)
    return (*plan.pipeline, learner, getattr(learner, "loss", None))


class _Failed(Exception):
    pass


class _Spent(Exception):
    pass


def _or_failed(run: Callable[[], _T]) -> _T:
    try:
        return run()
    except (Refused, EngineError, KeyboardInterrupt):
        raise
    except SpentError:
        raise _Spent from None
    except BaseException:  # SystemExit, too: its code can be a cell
        raise _Failed from None
