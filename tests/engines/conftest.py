"""Files of 1500 rows, and a ledger, for the tests of engines."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from prepriv.ledger import Ledger


@pytest.fixture
def folder(tmp_path):
    """1500 rows in three files, and a ledger."""
    (tmp_path / "parts").mkdir()
    for i in range(3):
        x = np.random.default_rng(i).random((500, 2))
        part = pd.DataFrame({"a": x[:, 0], "b": x[:, 1], "y": (x[:, 0] > 0.5).astype(int)})
        part.to_parquet(tmp_path / "parts" / f"{i}.parquet", row_group_size=333)
    Ledger.create(tmp_path / "L.db", "people", epsilon=9, delta=1e-3)
    return tmp_path
