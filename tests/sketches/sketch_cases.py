"""Sketches of small tables: what a session is asked for, with answers that an adversary chose."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd

from prepriv import Categorical, Domain, Numeric
from prepriv.mechanisms.session import Session
from prepriv.placed.rows import PrivateTable
from prepriv.sketches.release import release_sketch
from prepriv.sketches.tablesketch import edges_of
from prepriv.tables.encoding import encode, encode_labels

ADJACENCIES = ("replace-one", "add-or-remove-one")


class Chosen(Session):
    """Writes down what each event is asked for, and answers as it is told: the worst case is over all answers."""

    private = True

    def __init__(self, answers=None):
        super().__init__()
        self.answers, self.exact = dict(answers or {}), {}

    def _perform(self, name, mechanism, exact):
        self.exact[name] = mechanism.recorded(exact)
        return self.answers.setdefault(name, mechanism.noiseless(exact))


def domain(numeric=4, categorical=4, *, n=400, adjacency="replace-one", k=1, **more):
    columns = {f"x{i}": Numeric(-1.0, 3.0, "impute") for i in range(numeric)}
    columns |= {f"c{i}": Categorical(["u", "v", "w"]) for i in range(categorical)}
    unit = {"unit": "who", "rows_per_unit": k} if k > 1 else {}
    return Domain(columns, classes=["a", "b"], label="y", n=n, adjacency=adjacency, **unit, **more)


def asked(plan, rows, labels, answers=None):
    """(session, sketch) of a table: rows a frame."""
    session = Chosen(answers)
    if plan.domain.unit is not None:
        read = PrivateTable(rows, labels, plan.domain, plan.n).read(0)
    else:
        read = encode(rows, plan.domain), encode_labels(labels, plan.domain.classes)
    return session, release_sketch(plan, *read, session)


def apart(plan, one, two, answers=None):
    """How far two tables are apart in each event, over what the event declares: at most 1. Both see the same answers."""
    first, _ = asked(plan, *one, answers)
    second, _ = asked(plan, *two, first.answers)
    found = {}
    for name, mechanism in plan.mechanisms.items():
        key = f"sketch ({name})"
        square = mechanism.moved_squared(first.exact[key], second.exact[key])
        found[name] = math.sqrt(square) / mechanism.reach
    return found


def frame(columns, k=1, units=None):
    found = pd.DataFrame(columns)
    if k > 1:
        found["who"] = np.arange(len(found)) // k if units is None else units
    return found


def worst_answers(plan):
    """Answers after which the scores of a row can be as long as a row may be, and the same but for signs."""
    answers = {}
    if "bins" in plan.mechanisms:
        answers["sketch (bins)"] = np.full(plan.mechanisms["bins"].coordinates, 1000.0)
    share = plan.d / plan.room / 2  # of either end: then its score, of variance 1, is +-sqrt(room / d)
    edges, parts = iter(edges_of(plan, answers.get("sketch (bins)"))), []
    for kind, room in zip(plan.columns.values(), plan.rows):
        table = np.zeros((room, plan.classes))
        bins = 3 if isinstance(kind, Categorical) else len(next(edges)) - 1
        middle, last = bins // 2, bins - 1
        for code, part in ((0, share), (middle, 1 - 2 * share), (last, share)):
            table[code] = plan.n * part  # as many as there are
        parts.append(table.ravel())
    return answers | {"sketch (tables)": np.concatenate(parts)}


def worst_rows(plan):
    """(one, two): a record and what it is replaced by. Each fine cell, each table and all products change as far as they can:
    the label changes, values move within their bins, and half of the scores change their sign."""
    one, two = {}, {}
    for i, (name, kind) in enumerate(plan.columns.items()):
        turned = i % 2
        if isinstance(kind, Numeric):
            one[name], two[name] = -1.0 + 1e-6, (-0.9, 2.99)[turned]
        else:
            one[name], two[name] = "u", ("u", "w")[turned]
    return one, two
