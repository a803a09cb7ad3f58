"""What several tests of commands work on."""

import numpy as np
import pandas as pd
import pytest


@pytest.fixture
def forty_records(tmp_path, monkeypatch):
    """A folder to work in, with forty records of twenty people in t.csv."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"x": rng.random(40), "y": ["no", "yes"] * 20, "who": np.repeat(np.arange(20), 2)})
    table.to_csv("t.csv", index=False)
    return tmp_path
