"""`prepriv audit sensitivity`: what it prints, writes and returns."""

from __future__ import annotations

import dataclasses

import pytest
from typer.testing import CliRunner

from prepriv.audit.sensitivity_cases import cases
from prepriv.audit.sensitivity_search import search
from prepriv.audit.sensitivity_table import markdown, row_of
from prepriv.commands.audit import app
from prepriv.commands.exits import Stop

runner = CliRunner()


def test_a_step_is_attacked_and_written_down(tmp_path):
    page = tmp_path / "table.md"
    done = runner.invoke(app, ["sensitivity", "clipnorm", "--seconds", "0.2", "--table", str(page)])
    assert done.exit_code == 0
    assert "pairs of made-up neighbours tried" in done.output
    assert done.output.splitlines()[-1].startswith("held: on ")
    assert "| ClipNorm/after a shift | 12 x 3 |" in page.read_text(encoding="utf-8")


def test_an_unknown_step_is_named():
    done = runner.invoke(app, ["sensitivity", "Nothing"])
    assert isinstance(done.exception, Stop) and done.exception.code == 2
    assert "no step or chain is called 'Nothing'; there are" in str(done.exception)


def test_a_beaten_bound_has_its_own_exit_code(monkeypatch):
    name = "ClipNorm/after a shift"
    case = cases()[name]

    class Wrong(type(case.steps[0])):
        def propagate(self, space, incoming):
            return dataclasses.replace(incoming, total_shift=incoming.total_shift / 3)

    wrong = dataclasses.replace(case, steps=(Wrong(0.5),))
    monkeypatch.setattr("prepriv.commands.audit.cases", lambda: {name: wrong})
    done = runner.invoke(app, ["sensitivity", "all", "--seconds", "0.5"])
    assert done.exit_code == 1
    assert done.output.splitlines()[-1].startswith(
        f"broken: at {name}: total move of the common rows declared 0.1"
    )


def test_remarks_of_the_table():
    every = cases()
    good = search(every["ClipNorm/after a shift"], pairs=200)
    assert row_of(good)[-1] == ""
    loose = dataclasses.replace(good, bound=dataclasses.replace(good.bound, total_shift=1e3))
    assert row_of(loose)[-1] == "loose"
    beaten = dataclasses.replace(good, bound=dataclasses.replace(good.bound, total_shift=1e-3))
    assert row_of(beaten)[-1] == "BEATEN"
    free = search(every["DeduplicateCells"], pairs=5)
    assert row_of(free)[-2] == "free"
    page = markdown([good, loose], seconds=1, seed=0)
    assert page.count("\n| ClipNorm") == 2


@pytest.mark.parametrize("kind", ["MeanImputer", "StandardScaler", "Deduplicate", "SoftPCA", "chain"])
def test_every_kind_has_a_case(kind):
    assert any(name.startswith(kind) for name in cases())


def test_every_step_that_can_move_rows_is_attacked():
    """A step that pays by sensitivity, or that may stand after one, has a case."""
    from prepriv.schemas.schema import step_kinds

    attacked = {type(s) for case in cases().values() for s in case.steps}
    assert {k for k in step_kinds().values()} - attacked == _NEVER_AFTER_A_SHIFT()


def _NEVER_AFTER_A_SHIFT():
    from prepriv.preprocessing import AugmentByDistance, InstanceOptimalCenter, QuantileTransform, RootColumns
    from prepriv.preprocessing.encoder import Encode  # of rows that nothing has moved
    from prepriv.preprocessing.fitted import Fitted  # it must be the first step
    from prepriv.preprocessing.random_features import RandomFeatures
    from prepriv.preprocessing.square_root import SquareRoot

    free = {RandomFeatures, SquareRoot, RootColumns, Encode}
    return free | {QuantileTransform, AugmentByDistance, InstanceOptimalCenter, Fitted}
