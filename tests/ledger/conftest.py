"""Shared by the tests of the ledger: a small ledger, short calls, and code run in a forked process."""

import json
import os
import traceback
from collections.abc import Callable
from typing import Any

import pytest

from prepriv.ledger import Charge, Ledger

HASH = "5e" * 32


def pay(ledger: Ledger, uid: str, epsilon: Any = 0.1, delta: Any = 0, **more: Any) -> Charge:
    return ledger.charge(uid, HASH, adjacency="replace-one", epsilon=epsilon, delta=delta, **more)


def run_in_child(function: Callable[[], Any]) -> Any:
    """What `function` returns in a forked process (through JSON), or the name of what it raised."""
    read, write = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            try:
                answer = function()
            except BaseException as error:
                traceback.print_exc()
                answer = type(error).__name__
            os.write(write, json.dumps(answer).encode())
        finally:
            os._exit(0)
    os.close(write)
    with os.fdopen(read, "rb") as pipe:
        answer = pipe.read()
    os.waitpid(pid, 0)
    return json.loads(answer)


@pytest.fixture(name="pay")
def _pay() -> Callable[..., Charge]:
    return pay


@pytest.fixture(name="in_child")
def _in_child() -> Callable[[Callable[[], Any]], Any]:
    if not hasattr(os, "fork"):
        pytest.skip("needs fork")
    return run_in_child


@pytest.fixture
def ledger(tmp_path) -> Ledger:
    """Cap: epsilon 1, delta 1e-5; three charges of 0.1 and 1e-7, the first of them released."""
    made = Ledger.create(tmp_path / "ledger.db", "census-2020", epsilon=1.0, delta=1e-5)
    for name in "abc":
        pay(made, name, 0.1, 1e-7)
    made.released("a", "7a" * 32)
    return made
