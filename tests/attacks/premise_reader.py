"""A reader of printed premises who has nothing but the sentence, the declared facts and a raw table.

What the sentence says of a cell, the reader does; what it leaves open, the reader takes as suits best: every reading that
is left is tried, and the premise is taken for true if one of them makes it so.
"""

from __future__ import annotations

import itertools
import math
import re

import numpy as np

from prepriv.columns import Categorical, Numeric

FOUND = r"in which `prepriv validate` finds no number"
NUMBER = r"([-+.\de]+)"


def number(cell):
    """What stands in a cell, as a number; NaN where none does."""
    try:
        return float(cell)
    except (TypeError, ValueError):
        return math.nan


def guesses(cell, column):
    """What a cell without a number could be taken for: a gap, the midpoint, or the digits in it."""
    digits = re.search(r"\d+", cell) if isinstance(cell, str) else None
    return {
        "gap": math.nan,
        "middle": (column.low + column.high) / 2,
        "digits": float(digits[0]) if digits else math.nan,
    }


def numeric_columns(read, says, column, cells):
    """Every column that raw cells can be read as."""
    rule = re.search(
        rf"a cell(?: of a column declared '{column.missing}')? {FOUND} (is 0.5|is missing|counts as missing|has none)",
        read,
    )
    gaps = ["middle" if rule[1] == "is 0.5" else "gap"] if rule else ["gap", "middle", "digits"]
    cuts = (
        [True]
        if "cut at their declared bounds" in read or "beyond the bounds counts as the nearer bound" in read
        else [True, False]
    )
    units = re.search(rf"declared bounds of '.+?' are {NUMBER}\.\.{NUMBER}", says)
    become = (
        [(0.0, 1.0)]
        if "become 0 and 1" in read or units
        else [(0.0, 1.0), (column.low, column.high), (column.low / 1e3, column.high / 1e3)]
    )
    if units and "SquareRoot" not in read:
        become = [(float(units[1]), float(units[2]))]
    for gap, cut, (low, high) in itertools.product(gaps, cuts, become):
        x = np.array([guesses(c, column)[gap] if math.isnan(number(c)) else number(c) for c in cells])
        x = np.clip(x, column.low, column.high) if cut else x
        with np.errstate(all="ignore"):
            yield low + (x - column.low) / (column.high - column.low) * (high - low)


def one_hot(read, column, cells):
    """Declared categories, and the others: one column for all of them if the sentence says so, else one for each."""
    names = ["" if c is None or c != c else str(c) for c in cells]
    known = "one column for all that are not declared" in read
    kinds = [n if n in column.categories or not (known and n) else "other" for n in names]
    yield from (np.array([k == kind for k in kinds], float) for kind in sorted({*kinds}))


def tables(sentence, domain, rows):
    """Every matrix that the raw rows can be read as, with the number of each declared column's first feature."""
    says, _, read = sentence.partition(", where ")
    if domain.is_ball:
        x = np.array([[number(c) for c in row] for row in rows])
        bad = ~np.isfinite(x).all(axis=1)
        x[bad] = (
            0.0
            if "not a finite number is all zeros" in read
            else np.arange(1, bad.sum() + 1)[:, None] * 100.0
        )
        largest = np.maximum(np.abs(x).max(axis=1, keepdims=True), 1.0)
        norms = largest * np.linalg.norm(x / largest, axis=1, keepdims=True)
        yield x * np.minimum(1, domain.ball_radius / np.maximum(norms, 1e-300)) if "shortened" in read else x
        return
    choices = []
    for (_, column), cells in zip(domain.columns.items(), zip(*rows)):
        if isinstance(column, Numeric):
            choices.append([[c] for c in numeric_columns(read, says, column, cells)])
        elif isinstance(column, Categorical):
            choices.append([list(one_hot(read, column, cells))])
    for choice in itertools.product(*choices):
        x = np.column_stack([c for columns in choice for c in columns])
        if "after SquareRoot" in read:
            x = np.sign(x) * np.sqrt(np.abs(x))
        if np.isfinite(x[~np.isnan(x)]).all():
            yield x


def labels_read(sentence, domain, labels):
    """One number for each label."""
    if "all labels that are not declared are one label" in sentence:
        labels = [y if y in domain.classes else "undeclared" for y in labels]
    if domain.target is not None and "cut at the declared bounds and rounded to" in sentence:
        steps = float(re.search(r"rounded to 1 / (\d+)", sentence)[1])
        x = np.clip([number(y) for y in labels], domain.target.low, domain.target.high)
        x = np.rint((x - domain.target.low) / (domain.target.high - domain.target.low) * steps)
        labels = ["none" if math.isnan(v) else v for v in x]
    kinds = {y: i for i, y in enumerate(dict.fromkeys(labels))}
    return np.array([kinds[y] for y in labels])


def true(sentence, domain, rows, labels):
    """Whether the sentence is true of the raw table in the most convenient reading that it leaves open."""
    says = sentence.partition(", where ")[0]
    names = [] if domain.is_ball else list(domain.columns)
    for pattern, judge in JUDGES.items():
        if found := re.search(pattern, says):
            named = re.search(r"'(\w+)'", says)
            at = names.index(named[1]) if named else None
            return any(
                judge(found, x, at, sentence, domain, rows, labels) for x in tables(sentence, domain, rows)
            )
    raise AssertionError(f"no reader for: {says}")


def few_missing(found, x, at, *_):
    return np.isnan(x[:, at]).sum() <= int(found[1])


def ranked(x, at, says):
    low, high = (
        map(float, re.search(rf"are {NUMBER}\.\.{NUMBER}", says).groups())
        if "bounds of '" in says
        else (0.0, 1.0)
    )
    v = np.sort(x[~np.isnan(x[:, at]), at])
    return v, lambda r: low if r < 1 else high if r > len(v) else v[r - 1]


def near_median(found, x, at, sentence, *_):
    v, rank = ranked(x, at, sentence)
    h = (len(v) + 1) // 2
    return max(rank(h) - rank(h - 1), rank(h + 1) - rank(h)) <= float(found[1])


def end_span(found, x, at, sentence, *_):
    v, rank = ranked(x, at, sentence)
    m = int(found[1])
    return rank(len(v) + 1 - m) - rank(m) <= float(found[2])


def curved(found, x, at, sentence, *_):
    have, other = ~np.isnan(x[:, at]), np.delete(x, at, axis=1)
    if np.isnan(other).any():
        return False
    middles = 0.5 if "become 0 and 1" in sentence else 0.0
    z = (other - middles) / float(re.search(rf"over {NUMBER},", sentence)[1])
    z = np.column_stack([z, np.full(len(z), 1 / math.sqrt(2))])[have]
    return np.linalg.eigvalsh(z.T @ z / len(x))[0] >= float(found[1])


def spread(found, x, at, sentence, *_):
    v = x[~np.isnan(x[:, at]), at]
    if len(v) == 0:
        return False
    if "about the midpoint of its bounds" in sentence:
        return math.sqrt(((v - 0.5) ** 2).mean()) >= float(found[1])
    return v.std() >= float(found[1])


def scales(sentence):
    return [1.0] if "in units in which the declared bound on the norm" in sentence else [1e-3, 1.0, 1e3]


def uncrowded(found, x, at, sentence, domain, rows, labels):
    y = labels_read(sentence, domain, labels) if "of its label" in sentence else np.zeros(len(x))
    x = x[~np.isnan(x).any(axis=1)] if np.isnan(x).any() else x
    if len(x) < len(y):
        return False
    m, reach = int(found[1]), float(found[2])
    apart = np.linalg.norm(x[:, None] - x[None], axis=2)
    return any((((apart * s <= reach) & (y[:, None] == y)).sum(axis=1) <= m).all() for s in scales(sentence))


def spectrum(x, sentence):
    x = x[~np.isnan(x).any(axis=1)]
    x = x - x.mean(axis=0) if "about their mean" in sentence else x
    return np.sort(np.linalg.eigvalsh(x.T @ x / len(x)))[::-1]


def gap(found, x, at, sentence, *_):
    v, k = spectrum(x, sentence), int(found[1])
    return any(s * s * (v[k - 1] - v[k]) >= float(found[2]) for s in scales(sentence))


def tail(found, x, at, sentence, *_):
    v, k = spectrum(x, sentence), int(found[1])
    return any(s * s * v[k:].sum() <= float(found[2]) for s in scales(sentence))


JUDGES = {
    r"at most (\d+) of the \d+ records miss": few_missing,
    rf"those of rank ceil\(N/2\) - 1 and ceil\(N/2\) \+ 1 .* are at most {NUMBER} from the one between": near_median,
    rf"of rank (\d+) from the top is at most {NUMBER} above": end_span,
    rf"sum zz' / \(all records\) is at least {NUMBER} in every direction": curved,
    rf"standard deviation of .* over all records, is at least {NUMBER}(?:,|$)": spread,
    rf"no record has more than (\d+) records(?: of its label)? within {NUMBER} of it": uncrowded,
    rf"the gap between the (\d+)-th .* is at least {NUMBER}(?:,|$)": gap,
    rf"beyond the (\d+)-th add up to at most {NUMBER}(?:,|$)": tail,
}
