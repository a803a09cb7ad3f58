"""Shared pieces of the suite."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

# Real data for the tests that train on it; they skip, with a reason, where the folder is absent.
DATA = Path(os.environ.get("PREPRIV_DATA", Path(__file__).parents[2] / "shared" / "data"))


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(20261121)


def real_data(name: str) -> Path:
    path = DATA / name
    if not path.is_file():
        pytest.skip(f"{name} is not there (set PREPRIV_DATA to the folder that holds it)")
    return path
