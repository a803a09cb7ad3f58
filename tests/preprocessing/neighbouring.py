"""Pairs of neighbouring data sets, and what a confidential step does to the rows they share."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from prepriv.preprocessing.base import RowShift
from prepriv.space import Space


def box(d: int, low: float = 0.0, high: float = 1.0) -> Space:
    """Cells between the same two bounds in each of d columns."""
    corner = max(abs(low), abs(high))
    return Space(np.full(d, low), np.full(d, high), corner * math.sqrt(d), np.zeros(d, dtype=bool))


@dataclass(frozen=True)
class Labelled:
    """Blocks of rows with labels, as a step with reads_labels is handed them."""

    x: np.ndarray
    labels: np.ndarray

    def __iter__(self):
        yield from blocks(self.x)


@dataclass(frozen=True)
class Summing:
    """The mechanisms of a step, of which one sum is as a function says, with the noise it says."""

    sum: object
    noise_multiplier: float = 0.0
    l2_sensitivity: float = 0.0


def blocks(x, size=7):
    """Rows in uneven blocks."""
    return [x[i : i + size] for i in range(0, len(x), size)]


def apply(fitted, x, size=5):
    """(rows after the map, which stay), block by block."""
    out, kept = [], []
    for start in range(0, len(x), size):
        block = x[start : start + size]
        keep = fitted.keep(block, start)
        kept.append(np.ones(len(block), dtype=bool) if keep is None else keep)
        out.append(fitted.transform(block))
    return np.vstack(out), np.concatenate(kept)


@dataclass(frozen=True)
class Found:
    """What was measured between two outputs, over the rows with the same number, the first row left out."""

    rows_moved: int
    row_shift: float
    total_shift: float
    rows_dropped: int

    def within(self, claim: RowShift) -> bool:
        """Whether a claim covers it."""
        return (
            self.rows_moved <= claim.rows_moved
            and self.row_shift <= claim.row_shift
            and self.total_shift <= claim.total_shift
            and self.rows_dropped <= claim.rows_dropped
        )


def measure(step, space, s1, s2) -> Found:
    """Fit on both data sets (row 0 is the record that differs) and compare the common rows."""
    n = len(s1)
    y1, kept1 = apply(step.fit_confidential(blocks(s1), space, n), s1)
    y2, kept2 = apply(step.fit_confidential(blocks(s2), space, n), s2)
    both = (kept1 & kept2)[1:]
    far = np.linalg.norm(y1 - y2, axis=1)[1:] * both
    return Found(int((far > 0).sum()), far.max(initial=0.0), far.sum(), int((kept1 != kept2)[1:].sum()))


def measure_chain(steps, space, s1, s2) -> Found:
    """The same through several steps, each fitted on its own data set as a run would (dropped rows: zeros)."""
    n, outs = len(s1), []
    for x in (s1, s2):
        kept, here = np.ones(n, dtype=bool), space
        for step in steps:
            seen = np.where(kept[:, None], x, 0.0)
            fitted = step.fit_confidential(blocks(seen), here, n) if step.way != "free" else step.free(here)
            x, stay = apply(fitted, x)
            kept, here = kept & stay, step.output(here)
        outs.append((x, kept))
    (y1, kept1), (y2, kept2) = outs
    far = np.linalg.norm(y1 - y2, axis=1)[1:] * (kept1 & kept2)[1:]
    return Found(int((far > 0).sum()), far.max(initial=0.0), far.sum(), int((kept1 != kept2)[1:].sum()))


def claim_chain(steps, space, n) -> RowShift:
    """What the chain declares."""
    going = RowShift()
    for step in steps:
        going = step.propagate(space, going) if step.way == "free" else step.sensitivity(space, n, going)
        space = step.output(space)
    return going


def into_ball(x, radius=1.0):
    """Rows pulled back to the ball."""
    norms = np.linalg.norm(x, axis=-1, keepdims=True)
    return x * np.minimum(1.0, radius / np.maximum(norms, 1e-300))


def incoming_shift(s1, s2) -> RowShift:
    """The shift of the common rows (all but row 0) between two inputs."""
    far = np.linalg.norm(s1 - s2, axis=1)[1:]
    return RowShift(float((far > 0).sum()), float(far.max(initial=0.0)), float(far.sum()))


def after_shift_and_drops(step, space, x, y, rng):
    """(how far common rows move, what the step declares, how many were dropped) where two of the rows were dropped before."""
    n = len(x)
    gone = np.zeros(n, dtype=bool)
    gone[rng.integers(1, n, size=2)] = True
    far = np.linalg.norm(x - y, axis=1)[1:][~gone[1:]]
    came = RowShift(float((far > 0).sum()), float(far.max()), float(far.sum()), float(gone.sum()))
    y[gone] = 0.0
    out = [step.fit_confidential([v], space, n).transform(v) for v in (x, y)]
    moved = np.linalg.norm(out[0] - out[1], axis=1)[1:][~gone[1:]]
    return moved, step.sensitivity(space, n, came), gone.sum()
