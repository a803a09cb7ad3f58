"""Where the real data sets of the tests are, and how a test skips without them."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

DATA = Path(os.environ.get("PREPRIV_DATA", Path(__file__).parents[2] / "shared" / "data"))


def real_data(name: str) -> Path:
    """The path of one data set, or a skip with the reason."""
    path = DATA / name
    if not path.is_file():
        pytest.skip(f"{name} is not there (set PREPRIV_DATA to the folder that holds it)")
    return path
