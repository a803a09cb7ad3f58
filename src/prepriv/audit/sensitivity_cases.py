"""The steps and chains under attack, each with declared facts small enough to search and sharp enough."""

from __future__ import annotations

import dataclasses
import math

import numpy as np

from prepriv import payment as pay
from prepriv.audit import sensitivity_paper as paper
from prepriv.audit.sensitivity_case import Case
from prepriv.preprocessing.base import RowShift
from prepriv.preprocessing.bins import Bins, QuantileBins
from prepriv.preprocessing.center import Center
from prepriv.preprocessing.class_counts import ClassCounts
from prepriv.preprocessing.deduplicate import Deduplicate, DeduplicateCells
from prepriv.preprocessing.encode import ClipFeatures, OneHot
from prepriv.preprocessing.homogenize import Homogenize
from prepriv.preprocessing.impute import MeanImputer
from prepriv.preprocessing.impute_constant import ConstantImputer
from prepriv.preprocessing.impute_median import MedianImputer
from prepriv.preprocessing.impute_regression import RegressionImputer
from prepriv.preprocessing.impute_trimmed_mean import TrimmedMeanImputer
from prepriv.preprocessing.normalize import ClipNorm, Normalize, Rescale
from prepriv.preprocessing.pca import PCA, RankReduction
from prepriv.preprocessing.quantize import Quantize, QuantizeCells
from prepriv.preprocessing.scale import StandardScaler
from prepriv.preprocessing.scale_min_max import MinMaxScaler
from prepriv.preprocessing.scattering import Scattering
from prepriv.preprocessing.shrunk_center import ShrunkCenter
from prepriv.preprocessing.soft_pca import SoftPCA
from prepriv.space import Space

BEFORE = RowShift(rows_moved=6, row_shift=0.2, total_shift=0.5)  # what an earlier step may have done
AND_DROPPED = RowShift(rows_moved=6, row_shift=0.2, total_shift=0.5, rows_dropped=2)

NUDGED = RowShift(rows_moved=3, row_shift=0.5, total_shift=1.0)


def unit_box(d: int, *missing: int) -> Space:
    """[0, 1]^d, the given features imputable: what numeric columns are encoded to."""
    gaps = np.zeros(d, dtype=bool)
    gaps[list(missing)] = True
    return Space(np.zeros(d), np.ones(d), math.sqrt(d), gaps)


def signed_box(d: int, radius: float, *missing: int) -> Space:
    """[-radius, radius]^d cut to the ball of that radius."""
    gaps = np.zeros(d, dtype=bool)
    gaps[list(missing)] = True
    return Space(np.full(d, -radius), np.full(d, radius), radius, gaps)


def paid(**caps: object) -> pay.Sensitivity:
    """Payment by sensitivity with these caps."""
    return pay.Sensitivity(caps)


def cases() -> dict[str, Case]:
    """Every case by name: STEP, STEP/variant, or chain/NAME."""
    every = [*_imputation(), *_scaling(), *_clusters(), *_spectra(), *_fixed_maps(), *_chains()]
    return {case.name: case for case in every}


def _imputation() -> list[Case]:
    fifth = {"missing": 0.2}
    box, ball = unit_box(3, 1, 2), signed_box(8, 1.0, *range(8))
    mean = MeanImputer(payment=paid(missing=0.2))
    fading = MeanImputer(payment=paid(missing=0.1, fade=0.2))
    sparse = MeanImputer(payment=paid(missing=0.9))
    median = MedianImputer(payment=paid(missing=0.2, gap=0.3))
    trimmed = TrimmedMeanImputer(0.1, payment=paid(missing=0.2))
    narrow = TrimmedMeanImputer(0.1, payment=paid(missing=0.2, spread=0.4))
    faded = TrimmedMeanImputer(0.1, payment=paid(missing=0.1, fade=0.2, spread=0.5))
    ridge = RegressionImputer(0.1, 1.0, payment=paid(missing=0.2))
    curved = RegressionImputer(0.02, 1.0, payment=paid(missing=0.2, curvature=0.1))
    fading_ridge = RegressionImputer(0.1, 1.5, payment=paid(missing=0.1, fade=0.2))
    return [
        Case("MeanImputer", (mean,), box, 20, hints=fifth),
        Case("MeanImputer/one column", (mean,), unit_box(1, 0), 20, hints=fifth),
        Case("MeanImputer/paper", (sparse,), ball, 64, hints={"missing": 0.9}, paper=paper.mean_imputation),
        Case("MeanImputer/fading", (fading,), box, 20, hints={"missing": 0.3}),
        Case("MeanImputer/after a shift", (mean,), box, 20, BEFORE, fifth),
        Case("MedianImputer", (median,), box, 20, hints=fifth),
        Case("MedianImputer/after a shift", (median,), box, 20, BEFORE, fifth),
        Case("TrimmedMeanImputer", (trimmed,), box, 20, hints=fifth),
        Case("TrimmedMeanImputer/narrow", (narrow,), box, 20, hints=fifth),
        Case("TrimmedMeanImputer/fading", (faded,), box, 20, hints={"missing": 0.3}),
        Case("TrimmedMeanImputer/after a shift", (narrow,), box, 20, BEFORE, fifth),
        Case("RegressionImputer", (ridge,), unit_box(3, 2), 100, hints=fifth),
        Case("RegressionImputer/curvature", (curved,), unit_box(2, 1), 100, hints=fifth),
        Case("RegressionImputer/fading", (fading_ridge,), unit_box(3, 1, 2), 100, hints={"missing": 0.3}),
        Case("RegressionImputer/after a shift", (ridge,), box, 100, BEFORE, fifth),
    ]  # fmt: skip


def _scaling() -> list[Case]:
    tenth, line, box = {"spread": 0.1}, unit_box(1), unit_box(3)
    signed = {"spread": 0.1}

    def scaler(
        floor: float = 0.1, rule: str = "max", center: str = "mean", radius: float | None = None
    ) -> StandardScaler:
        return StandardScaler(floor, rule, center, radius, payment=pay.Sensitivity())  # type: ignore[arg-type]

    def common(rule: str = "max", center: str = "mean") -> StandardScaler:
        return StandardScaler(0.1, rule, center, common=True, payment=pay.Sensitivity())  # type: ignore[arg-type]

    return [
        Case("StandardScaler", (scaler(),), line, 2001, hints=tenth),
        Case("StandardScaler/paper", (scaler(rule="none", radius=20.0),), signed_box(1, 1.0), 1001, hints=signed, paper=paper.standard_scaling),
        Case("StandardScaler/few rows", (scaler(0.3),), box, 12, hints={"spread": 0.3}),
        Case("StandardScaler/root", (scaler(rule="root"),), line, 2001, hints={"spread": 0.07}),
        Case("StandardScaler/midpoint", (scaler(center="midpoint"),), line, 2001, hints=tenth),
        Case("StandardScaler/midpoint root", (scaler(rule="root", center="midpoint"),), line, 2001, hints={"spread": 0.07}),
        Case("StandardScaler/no floor", (scaler(rule="none", radius=10.0),), line, 200, hints=tenth),
        Case("StandardScaler/ball", (scaler(),), signed_box(4, 1.0), 500, hints=tenth),
        Case("StandardScaler/clipped", (scaler(radius=1.0),), unit_box(8), 1000, hints=tenth),
        Case("StandardScaler/after a shift", (scaler(),), unit_box(2), 500, BEFORE, tenth),
        Case("StandardScaler/after drops", (scaler(rule="root"),), unit_box(2), 500, AND_DROPPED, tenth),
        Case("StandardScaler/midpoint after drops", (scaler(center="midpoint"),), unit_box(2), 500, AND_DROPPED, tenth),
        Case("StandardScaler/common", (common(),), unit_box(3), 500, hints=tenth),
        Case("StandardScaler/common after drops", (common("root"),), unit_box(2), 500, AND_DROPPED, tenth),
        Case("StandardScaler/common midpoint after drops", (common(center="midpoint"),), unit_box(2), 500, AND_DROPPED, tenth),
    ]  # fmt: skip


def _clusters() -> list[Case]:
    plane, line = Space.ball(2, 64.0), Space.ball(1, 64.0)
    eta, crowded = {"scale": 1.0}, paid(max_neighbors=120)
    few, apart = paid(max_neighbors=6), eta | {"apart": 1.0}
    return [
        Case("Deduplicate", (Deduplicate(1.0, payment=few),), plane, 24, hints=apart),
        Case("Deduplicate/paper", (Deduplicate(1.0, payment=crowded),), plane, 101, hints=eta, paper=paper.good_clusters(1.0)),
        Case("Deduplicate/by label", (Deduplicate(1.0, True, payment=few),), plane, 24, hints=apart),
        Case("Deduplicate/after a shift", (Deduplicate(1.0, payment=few),), plane, 24, NUDGED, apart),
        Case("Quantize", (Quantize(1.0, payment=few),), plane, 24, hints=apart),
        Case("Quantize/paper", (Quantize(1.0, payment=crowded),), plane, 101, hints=eta, paper=paper.good_clusters(1.0)),
        Case("Quantize/mean", (Quantize(1.0, "mean", payment=few),), line, 24, hints=apart),
        Case("Quantize/after a shift", (Quantize(1.0, "mean", payment=few),), line, 24, NUDGED, apart),
        Case("DeduplicateCells", (DeduplicateCells(1.0, payment=paid()),), plane, 16, hints=eta),
        Case("DeduplicateCells/one row stays", (DeduplicateCells(1.0, centre=False, payment=paid()),), plane, 16, hints=eta),
        Case("QuantizeCells/after a shift", (QuantizeCells(1.0),), plane, 16, NUDGED, eta),
    ]  # fmt: skip


def _spectra() -> list[Case]:
    ball = Space.ball(3, 1.0)
    gap, tail = paid(gap=0.15), paid(tail=0.1)
    return [
        Case("SoftPCA", (SoftPCA(0.05, payment=paid()),), ball, 40),
        Case("SoftPCA/centred", (SoftPCA(0.05, True, payment=paid()),), ball, 40),
        Case("SoftPCA/after a shift", (SoftPCA(0.05, payment=paid()),), ball, 40, BEFORE),
        Case("SoftPCA/after drops", (SoftPCA(0.05, payment=paid()),), ball, 40, AND_DROPPED),
        Case("RankReduction/gap", (RankReduction(1, payment=gap),), ball, 40),
        Case("RankReduction/tail", (RankReduction(2, payment=tail),), ball, 40),
        Case("RankReduction/centred", (RankReduction(1, True, payment=gap),), ball, 40),
        Case("RankReduction/after a shift", (RankReduction(1, payment=gap),), ball, 40, BEFORE),
        Case("PCA/after a shift", (PCA(2, payment=pay.Budget()),), ball, 40, BEFORE),
    ]


def _fixed_maps() -> list[Case]:
    box, ball = unit_box(3), Space.ball(3, 1.0)
    codes = OneHot({"x0": 3})
    return [
        Case("ClipNorm/after a shift", (ClipNorm(0.5),), ball, 12, BEFORE),
        Case("ConstantImputer/after a shift", (ConstantImputer(0.3),), unit_box(2), 12, BEFORE),
        Case("Normalize/after a shift", (Normalize(1.0, 0.25),), ball, 12, BEFORE),
        Case("Homogenize/after a shift", (Homogenize(0.4),), ball, 12, BEFORE),
        Case("Rescale/after a shift", (Rescale(5.0),), ball, 12, BEFORE),
        Case("Center/after a shift", (Center(payment=pay.Budget()),), box, 12, BEFORE),
        Case("ShrunkCenter/after a shift", (ShrunkCenter(payment=pay.Budget()),), box, 12, BEFORE),
        Case("ClassCounts/after a shift", (ClassCounts(payment=pay.Budget()),), box, 12, BEFORE),
        Case("ClipFeatures/after a shift", (ClipFeatures(0.2, 0.6),), box, 12, BEFORE),
        Case("OneHot/after a shift", (codes,), box, 12, BEFORE),
        Case("Bins/after a shift", (Bins({"x0": 4, "x1": [0.3]}, 0.8),), box, 12, BEFORE),
        Case("Bins/beside", (Bins({"x0": 4, "x1": [0.3]}, 0.8, beside=True),), box, 12, BEFORE),
        Case("QuantileBins/after a shift", (QuantileBins(4, payment=pay.Budget()),), box, 12, BEFORE),
        Case("MinMaxScaler/after a shift", (MinMaxScaler(0.2, payment=pay.Budget()),), box, 12, BEFORE),
        Case(
            "Scattering/after a shift",
            (Scattering(1, 2, 5.0),),
            dataclasses.replace(unit_box(16), image=(4, 4, 1)),
            12,
            BEFORE,
        ),
        Case("StandardScaler/released", (StandardScaler(0.2, payment=pay.Budget()),), box, 12, BEFORE),
        Case(
            "StandardScaler/common released",
            (StandardScaler(0.2, common=True, payment=pay.Budget()),),
            box,
            12,
            BEFORE,
        ),
        Case(
            "StandardScaler/drawn", (StandardScaler(0.2, shrink=True, payment=pay.Budget()),), box, 12, BEFORE
        ),
    ]


def _chains() -> list[Case]:
    mean = MeanImputer(payment=paid(missing=0.2))
    trimmed = TrimmedMeanImputer(0.1, payment=paid(missing=0.2))
    ridge = RegressionImputer(0.1, 1.0, payment=paid(missing=0.2))
    scale = StandardScaler(0.2, payment=pay.Sensitivity())
    root = StandardScaler(0.2, "root", "midpoint", payment=pay.Sensitivity())
    soft, cells = SoftPCA(0.1, payment=paid()), QuantizeCells(0.25)
    duplicates, quantize = (
        Deduplicate(0.2, payment=paid(max_neighbors=40)),
        Quantize(0.1, payment=paid(max_neighbors=24)),
    )
    fifth = {"missing": 0.2, "spread": 0.2}
    return [
        Case("chain/impute, scale", (mean, scale), unit_box(2, 1), 20, hints=fifth),
        Case("chain/impute, clip, scale", (trimmed, ClipNorm(0.8), root), unit_box(2, 1), 20, hints=fifth),
        Case("chain/predict, center, normalize", (ridge, Center(payment=pay.Budget()), Normalize(1.0, 0.2)), unit_box(3, 2), 20, hints=fifth),
        Case("chain/impute, scale, scale", (mean, root, scale), unit_box(2, 1), 20, hints=fifth),
        Case("chain/impute, soft PCA", (mean, soft), unit_box(3, 1), 20, hints=fifth),
        Case("chain/deduplicate, scale", (duplicates, scale), Space.ball(2, 2.0), 40, hints={"scale": 0.2, "spread": 0.2}),
        Case("chain/impute, quantize, soft PCA", (mean, cells, soft), unit_box(3, 1), 20, hints=fifth),
        Case("chain/quantize, soft PCA, scale", (quantize, soft, root), Space.ball(2, 1.0), 24, hints={"scale": 0.1}),
    ]  # fmt: skip
