"""An adversary who sees nothing but a printed premise, and reads it as suits best, finds no pair that breaks the bound.

Raw tables with every odd cell there is: the reader (premise_reader.py) judges the sentence, prepriv encodes, checks, fits.
Whatever the sentence is true of, the check must hold of; and where it is true of two neighbours, the rows after the step
are as near as declared. With a part of the sentence left out the same search finds tables, so that no part is idle.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import pytest
from premise_reader import true

from prepriv import Categorical, Domain, Numeric
from prepriv import preprocessing as pre
from prepriv.guarantees.premise import Premise
from prepriv.payment import Sensitivity
from prepriv.placed.chain import chain
from prepriv.placed.rows import Mapped
from prepriv.preprocessing._columns import ColumnPremise
from prepriv.preprocessing._projector import _Spectrum
from prepriv.tables.encoding import encode, encode_targets
from whole_package import import_all

N = 48
ODD = (math.inf, -math.inf, 1e308, -600.0, math.nan, None, "over 90", "n/a", "12,5", b"\xff")
TABLE = Domain({"a": Numeric(-50, 50, "impute"), "b": Numeric(-50, 50)}, (0, 1), n=N)
FILLED = Domain({"b": Numeric(-50, 50), "c": Categorical(["u", "v"])}, (0, 1), n=N)
TARGET = Domain({"b": Numeric(-50, 50), "c": Categorical(["u"])}, target=Numeric(0, 10), n=N)
BALL = Domain.ball(2, (0, 1), radius=1.0, n=N)


def paid(**caps):
    return Sensitivity(caps)


SCALER = pre.StandardScaler(0.1, "none", radius=1e4, columns=("b",), payment=Sensitivity())
MIDDLE = pre.StandardScaler(0.1, "none", "midpoint", 1e4, ("b",), payment=Sensitivity())
CASES = {
    "FewMissing": (TABLE, pre.MeanImputer(payment=paid(missing=0.25))),
    "NearMedian": (TABLE, pre.MedianImputer(payment=paid(missing=0.6, gap=0.02))),
    "NearMedian, after": (TABLE, pre.SquareRoot(), pre.MedianImputer(payment=paid(missing=0.6, gap=0.02))),
    "EndSpan": (TABLE, pre.TrimmedMeanImputer(0.1, payment=paid(missing=0.6, spread=0.2))),
    "Curved": (TABLE, pre.RegressionImputer(1e-3, payment=paid(missing=0.4, curvature=0.1))),
    "Spread": (FILLED, SCALER),
    "Spread, midpoint": (FILLED, MIDDLE),
    "Uncrowded": (BALL, pre.Quantize(0.01, payment=paid(max_neighbors=6))),
    "Uncrowded, table": (FILLED, pre.Deduplicate(0.01, payment=paid(max_neighbors=9))),
    "Uncrowded, label": (BALL, pre.Deduplicate(0.01, True, payment=paid(max_neighbors=6))),
    "Uncrowded, target": (TARGET, pre.Deduplicate(0.01, True, payment=paid(max_neighbors=6))),
    "Gap": (BALL, pre.RankReduction(1, payment=paid(gap=0.4))),
    "Gap, centred": (FILLED, pre.RankReduction(1, centred=True, payment=paid(gap=0.4))),
    "SpectrumTail": (BALL, pre.RankReduction(1, payment=paid(tail=1e-4))),
    "SpectrumTail, table": (FILLED, pre.RankReduction(1, payment=paid(tail=0.02))),
}


@dataclass
class Placed:
    """The last step of a chain of a case, and all that its claim rests on."""

    domain: Domain
    steps: tuple

    def __post_init__(self):
        placed = chain(self.steps, self.domain, N, math.inf, release=False)
        self.step, self.free = placed.steps[-1], [p.step.free(p.before) for p in placed.steps[:-1]]
        self.premises = self.step.outgoing.conditions

    def rows(self, raw):
        table, labels = raw
        return Mapped(encode(table, self.domain), self.free, encode_targets(labels, self.domain))

    def holds(self, raw):
        return all(c.holds(self.rows(raw), N) for c in self.premises)

    def true(self, sentences, raw):
        return all(true(s, self.domain, *raw) for s in sentences)

    def after(self, raw):
        rows = self.rows(raw)
        fitted = self.step.step.fit_confidential(rows, self.step.before, N)
        x = fitted.transform(np.concatenate(list(rows)))
        kept = fitted.keep(x, 0)
        return x, np.ones(N, bool) if kept is None else kept

    def beaten(self, one, two):
        """How far the common rows are beyond what is declared, of two tables that differ in the first record."""
        (x, kept), (y, left) = self.after(one), self.after(two)
        both, out = (kept & left)[1:], self.step.outgoing
        apart = np.linalg.norm(np.nan_to_num(x - y)[1:][both], axis=1)
        slack = 1 + 1e-9
        return (
            apart.sum() > out.total_shift * slack + 1e-9
            or (kept != left)[1:].sum() > out.rows_dropped
            or apart.max(initial=0) > out.row_shift * slack + 1e-9
        )


def some_cell(rng, column, tame):
    if isinstance(column, Categorical):
        return [*column.categories, "w1", "w2", "w3", None, math.nan][
            rng.integers(len(column.categories) + (0 if tame else 5))
        ]
    if rng.random() < (0.97 if tame else 0.5):
        return float(np.round(rng.choice([rng.uniform(-50, 50), rng.uniform(-2, 2)]), 2))
    return ODD[rng.integers(len(ODD))]


def some_table(rng, domain):
    """A few kinds of records, each many times or spread out; odd cells and labels in most tables."""
    kinds, tame = int(rng.integers(1, 7)), bool(rng.random() < 0.3)
    columns = [Numeric(-1, 1)] * 2 if domain.is_ball else list(domain.columns.values())
    made = [[some_cell(rng, c, tame) for c in columns] for _ in range(kinds)]
    if domain.is_ball:
        made = [[c / 100 if isinstance(c, float) and abs(c) <= 50 else c for c in row] for row in made]
    weight = rng.dirichlet(np.full(kinds, 0.5))
    rows = [list(made[k]) for k in rng.choice(kinds, N, p=weight)]
    if rng.random() < 0.4:  # most of them apart
        often = rng.choice([0.05, 0.5, 1.0])
        rows = [[some_cell(rng, c, True) for c in columns] if rng.random() < often else row for row in rows]
        rows = [
            [c / 50 if domain.is_ball and isinstance(c, float) and 1 < abs(c) <= 50 else c for c in r]
            for r in rows
        ]
    wide = rng.choice([0.0, 0.3, 40.0])
    for i, row in enumerate(rows):
        for j, cell in enumerate(row):
            if isinstance(cell, float) and abs(cell) <= 50 and not isinstance(columns[j], Categorical):
                row[j] = float(cell + wide * (i / N - 0.5) * (0.02 if domain.is_ball else 1))
    labels = [f"undeclared {i}" if rng.random() < rng.choice([0.0, 0.9]) else int(i % 2) for i in range(N)]
    if domain.target is not None:
        labels = [10 + i if rng.random() < 0.5 else i / N * rng.choice([10.0, 1e-9]) for i in range(N)]
    return rows, labels


def neighbour(rng, raw, domain):
    rows, labels = [*raw[0]], [*raw[1]]
    rows[0] = some_table(rng, domain)[0][0]
    labels[0] = labels[int(rng.integers(N))]
    return rows, labels


def search(name, sentences, tries, seed=0):
    """(tables of which the sentences are true, those of them of which the check fails, pairs, pairs beyond the bound)."""
    placed, rng = Placed(CASES[name][0], CASES[name][1:]), np.random.default_rng(seed)
    with np.errstate(all="ignore"):
        return _search(placed, rng, sentences(placed), tries)


def _search(placed, rng, sentences, tries):
    said, failed, pairs, beaten = 0, 0, 0, 0
    for _ in range(tries):
        raw = some_table(rng, placed.domain)
        if not placed.true(sentences, raw):
            continue
        said += 1
        failed += not placed.holds(raw)
        other = neighbour(rng, raw, placed.domain)
        if placed.true(sentences, other):
            pairs += 1
            beaten += placed.beaten(raw, other)
    return said, failed, pairs, beaten


def printed(placed):
    return [str(c) for c in placed.premises]


@pytest.mark.parametrize("name", CASES)
def test_who_reads_the_sentence_alone_finds_no_table_that_breaks_the_check_or_the_bound(name):
    said, failed, pairs, beaten = search(name, printed, 80)
    assert said >= 2 and pairs >= 1
    assert not failed and not beaten


# What each sentence would say without one of its parts, and somebody could then take it for.
PARTS = {
    "FewMissing": ", where a cell in which `prepriv validate` finds no number counts as missing",
    "NearMedian": ", and a cell in which `prepriv validate` finds no number has none",
    "NearMedian, after": "a cell of a column declared 'impute' in which `prepriv validate` finds no number is missing",
    "EndSpan": ", in units in which the declared bounds of 'a' are 0..1",
    "Curved": "numbers are cut at their declared bounds, which become 0 and 1",
    "Spread": "numbers are cut at their declared bounds, which become 0 and 1",
    "Spread, midpoint": "a cell in which `prepriv validate` finds no number is 0.5",
    "Uncrowded": "a row with a cell that is not a finite number is all zeros",
    "Uncrowded, table": "numbers are cut at their declared bounds, which become 0 and 1",
    "Uncrowded, label": "all labels that are not declared are one label",
    "Uncrowded, target": "cut at the declared bounds and rounded to 1 / 16777216 of their distance",
    "Gap": "in units in which the declared bound on the norm of a row is 1",
    "Gap, centred": ", about their mean,",
    "SpectrumTail": "in units in which the declared bound on the norm of a row is 1",
    "SpectrumTail, table": "in units in which the declared bound on the norm of a row is 1.4142135623730951",
}


@pytest.mark.parametrize("name", PARTS)
def test_no_part_of_a_sentence_is_idle(name):
    """Without it the sentence is true of tables of which the check fails."""

    def weaker(placed):
        assert any(PARTS[name] in s for s in printed(placed)), printed(placed)
        return [s.replace(PARTS[name], "") for s in printed(placed)]

    assert any(search(name, weaker, 40, seed)[1] for seed in range(10))


def concrete(kind):
    below = kind.__subclasses__()
    return {kind, *(c for k in below for c in concrete(k))} if below else {kind}


def test_every_premise_of_the_package_is_read():
    import_all()
    every = {k for k in concrete(Premise) if k.__module__.startswith("prepriv.")} - {
        Premise,
        ColumnPremise,
        _Spectrum,
    }
    read = {type(c) for case in CASES.values() for c in Placed(case[0], case[1:]).premises}
    assert read == every
    assert {name.partition(",")[0] for name in CASES} == {k.__name__ for k in every}
