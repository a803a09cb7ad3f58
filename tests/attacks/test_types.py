"""Wrong types into every public constructor: one sentence that names the argument, and no meaningless acceptance."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

import prepriv
from networks import layer
from prepriv import (
    Budget,
    Categorical,
    Domain,
    Guarantee,
    Numeric,
    PrivateClassifier,
    Public,
    Sensitivity,
    Text,
)
from prepriv import guarantees as g
from prepriv import preprocessing as pre
from prepriv.guarantees.guarantee import GaussianEvent
from prepriv.learners import gradient_descent, losses, noisy_sgd, one_pass, stochastic
from prepriv.ledger import Ledger
from prepriv.recipes.pillar import pillar
from prepriv.runs.charge import check_ledger
from prepriv.tables.encoding import encode, encode_labels
from prepriv.tables.readers import read_table

WRONG = {
    "None": None,
    "text": "1",
    "no text": "",
    "bytes": b"1",
    "True": True,
    "False": False,
    "np.True_": np.True_,
    "nan": math.nan,
    "np.nan": np.float64("nan"),
    "inf": math.inf,
    "-inf": -math.inf,
    "-1": -1,
    "-0.5": -0.5,
    "0": 0,
    "1e-320": 1e-320,
    "1e300": 1e300,
    "huge": 10**400,
    "too long to print": 10**5000,
    "Decimal": Decimal("0.25"),
    "Fraction below 0": Fraction(-1, 3),
    "complex": 1j,
    "list": [],
    "list of it": [0.25],
    "dict": {},
    "set": {1},
    "array": np.array([0.25, 0.5]),
    "lines": "a\nb",
    "object": object(),
    "class": float,
    "function": len,
    "Domain": Domain,
    "day": np.datetime64("2026-11-22"),
}
CLASSES = (0, 1)
PAID = Budget(0.1)
CAPS = Sensitivity({"missing": 0.1})
X = np.random.default_rng(0).uniform(size=(40, 2))
Y = [0, 1] * 20
BOX = Domain.box(0, 1, features=2, classes=CLASSES, n=40)
GD = gradient_descent.GradientDescent(losses.Logistic(), steps=3, weight_bound=5.0)
CURVE = g.gaussian(1.0)
LAYER = layer(2, 3).SerializeToString()

# What makes a thing, arguments that are right, and of the wrong values those that are right for an argument.
NUMBER, WHOLE, AT_LEAST_0 = set(), set(), {"0"}
LENGTH_OR_INF = {"inf"}
MAKERS = {
    "Budget": (Budget, {"share": (0.1, NUMBER)}),
    "Sensitivity": (Sensitivity, {"caps": ({}, {"dict"}), "test": (0.1, AT_LEAST_0)}),
    "Numeric": (
        Numeric,
        {
            "low": (-2.0, {"-1", "-0.5", "0", "1e-320", "Fraction below 0"}),
            "high": (1.0, {"-1", "-0.5", "0", "1e-320", "Fraction below 0"}),
            "missing": ("impute", NUMBER),
        },
    ),
    "Categorical": (Categorical, {"categories": (("a", "b"), {"list of it", "set", "array"})}),
    "Domain": (
        Domain,
        {
            "columns": ({"a": Numeric(0, 1)}, NUMBER),
            "classes": (CLASSES, {"array"}),
            "n": (10, {"None"}),
            "adjacency": ("replace-one", NUMBER),
            "label": ("y", {"None", "text", "no text", "lines"}),
        },
    ),
    # a domain without classes declares no label: for questions alone
    "Domain.box": (
        Domain.box,
        {
            "low": (-2.0, {"-1", "-0.5", "0", "1e-320", "Fraction below 0", "array"}),
            "high": (1.0, {"-1", "-0.5", "0", "1e-320", "Fraction below 0", "array"}),
            "features": (2, WHOLE),
            "classes": (CLASSES, {"array", "list"}),
            "n": (10, {"None"}),
            "adjacency": ("replace-one", NUMBER),
            "missing": ("impute", NUMBER),
        },
    ),
    "Domain.ball": (
        Domain.ball,
        {
            "features": (2, WHOLE),
            "classes": (CLASSES, {"array", "list"}),
            "radius": (1.0, NUMBER),
            "n": (10, {"None"}),
            "adjacency": ("replace-one", NUMBER),
        },
    ),
    "Text": (Text, {"features": (2, WHOLE)}),
    "Domain.images": (
        Domain.images,
        {
            "height": (2, WHOLE),
            "width": (2, WHOLE),
            "channels": (1, WHOLE),
            "classes": (CLASSES, {"array", "list"}),
            "high": (1.0, NUMBER),
            "n": (10, {"None"}),
            "adjacency": ("replace-one", NUMBER),
        },
    ),
    "Domain.with_n": (BOX.with_n, {"n": (10, {"None"})}),
    "ClipFeatures": (
        pre.ClipFeatures,
        {
            "low": (-2.0, {"-1", "-0.5", "0", "1e-320", "Fraction below 0"}),
            "high": (1.0, {"-1", "-0.5", "0", "1e-320", "Fraction below 0"}),
        },
    ),
    "ClipNorm": (pre.ClipNorm, {"radius": (1.0, NUMBER)}),
    "Deduplicate": (
        lambda **o: pre.Deduplicate(payment=Sensitivity(), **o),
        {"eta": (0.1, NUMBER), "by_label": (True, {"True", "False", "np.True_"})},
    ),
    "DeduplicateCells": (
        lambda **o: pre.DeduplicateCells(payment=Sensitivity(), **o),
        {
            "side": (0.1, {"0"}),
            "offset": (0.5, {"-1", "-0.5", "0", "1e-320", "Fraction below 0"}),
            "centre": (True, {"True", "False", "np.True_"}),
        },
    ),
    "Homogenize": (
        pre.Homogenize,
        {"level": (1.0, NUMBER), "radius": (1.0, NUMBER), "center": (0.5, {"0", "1e-320"})},
    ),
    "Encode": (
        pre.Encode,
        {
            "network": (LAYER, set()),
            "licence": ("MIT", {"text", "no text"}),
            "radius": (1.0, {"None"}),
            "inputs": ((2,), {"list"}),
            "features": (3, {"0"}),
        },
    ),
    "MinMaxScaler": (
        lambda **o: pre.MinMaxScaler(payment=PAID, **o),
        {
            "floor": (0.1, NUMBER),
            "lowest": (0.1, {"0", "1e-320"}),
            "highest": (0.9, NUMBER),
            "columns": (("x0",), {"None"}),
        },
    ),
    "Normalize": (pre.Normalize, {"radius": (1.0, NUMBER), "floor": (0.1, {"0", "1e-320"})}),
    "OneHot": (pre.OneHot, {"categories": ({"x0": 3}, NUMBER)}),
    "PCA": (lambda **o: pre.PCA(payment=PAID, **o), {"k": (2, WHOLE)}),
    "QuantileTransform": (
        lambda **o: pre.QuantileTransform(payment=Public(X), **o),
        {"levels": (4, WHOLE), "columns": (("x0",), {"None"})},
    ),
    "Quantize": (
        lambda **o: pre.Quantize(payment=Sensitivity(), **o),
        {"eta": (0.1, NUMBER), "representative": ("mean", NUMBER)},
    ),
    "QuantizeCells": (
        pre.QuantizeCells,
        {"side": (0.1, NUMBER), "offset": (0.5, {"-1", "-0.5", "0", "1e-320", "Fraction below 0"})},
    ),
    "RandomFeatures": (pre.RandomFeatures, {"features": (8, WHOLE), "weight": (1.0, NUMBER)}),
    "RankReduction": (
        lambda **o: pre.RankReduction(payment=Sensitivity(), **o),
        {"k": (1, WHOLE), "centred": (True, {"True", "False", "np.True_"})},
    ),
    "Rescale": (pre.Rescale, {"radius": (1.0, NUMBER)}),
    "Scattering": (pre.Scattering, {"J": (1, WHOLE), "L": (2, WHOLE), "floor": (0.1, NUMBER)}),
    "SoftPCA": (
        lambda **o: pre.SoftPCA(payment=Sensitivity(), **o),
        {"strength": (1.0, NUMBER), "centred": (True, {"True", "False", "np.True_"})},
    ),
    "StandardScaler": (
        lambda **o: pre.StandardScaler(payment=PAID, **o),
        {
            "floor": (0.1, NUMBER),
            "rule": ("max", NUMBER),
            "center": ("mean", NUMBER),
            "radius": (1.0, {"None"}),
            "columns": (("x0",), {"None"}),
        },
    ),
    "TrimmedMeanImputer": (
        lambda **o: pre.TrimmedMeanImputer(payment=CAPS, **o),
        {"trim": (0.1, {"1e-320"})},
    ),
    "GradientDescent": (
        gradient_descent.GradientDescent,
        {
            "loss": (losses.Logistic(), NUMBER),
            "steps": (3, WHOLE),
            "learning_rate": (1.0, NUMBER),
            "clip_norm": (1.0, LENGTH_OR_INF),
            "momentum": (0.5, {"0", "1e-320"}),
            "weight_bound": (1.0, LENGTH_OR_INF),
            "average": (0.5, {"1e-320"}),
            "bias": (1.0, {"0", "1e-320"}),
        },
    ),
    **{
        kind.__name__: (
            kind,
            {
                "loss": (losses.Logistic(), NUMBER),
                "batch_size": (3, WHOLE),
                "steps": (3, WHOLE),
                "learning_rate": (1.0, NUMBER),
                "clip_norm": (1.0, LENGTH_OR_INF),
                "weight_bound": (1.0, NUMBER if kind is noisy_sgd.NoisySGD else LENGTH_OR_INF),
                "bias": (1.0, {"0", "1e-320"}),
            },
        )
        for kind in (stochastic.PoissonSGD, stochastic.FixedBatchSGD, one_pass.OnePassSGD, noisy_sgd.NoisySGD)
    },
    "Hinge": (losses.Hinge, {"n_classes": (2, WHOLE), "margin": (1.0, NUMBER)}),
    "SquaredHinge": (losses.SquaredHinge, {"n_classes": (2, WHOLE), "margin": (1.0, NUMBER)}),
    "HuberisedHinge": (
        losses.HuberisedHinge,
        {"n_classes": (2, WHOLE), "margin": (1.0, NUMBER), "width": (0.5, NUMBER)},
    ),
    "LeastSquares": (losses.LeastSquares, {"target_bound": (1.0, {"0", "1e-320"})}),
    "GaussianEvent": (
        GaussianEvent,
        {"name": ("a", {"text", "no text", "lines"}), "noise_multiplier": (1.0, NUMBER), "count": (2, WHOLE)},
    ),
    "Guarantee": (Guarantee, {"tradeoff": (CURVE, NUMBER), "adjacency": ("replace-one", NUMBER)}),
    "gaussian": (g.gaussian, {"mu": (1.0, {"0", "1e-320", "1e300"})}),
    "laplace": (g.laplace, {"epsilon": (1.0, {"0", "1e-320", "1e300"})}),
    "approximate_dp": (
        g.approximate_dp,
        {"epsilon": (1.0, {"0", "1e-320", "1e300"}), "delta": (0.1, {"0", "1e-320"})},
    ),
    "gdp_mu": (g.gdp_mu, {"epsilon": (1.0, {"0", "1e-320", "1e300"}), "delta": (0.1, NUMBER)}),
    "gdp_epsilon": (g.gdp_epsilon, {"mu": (1.0, {"0", "1e-320", "1e300"}), "delta": (0.1, {"1e-320"})}),
    "curve.delta": (
        CURVE.delta,
        {
            "epsilon": (
                1.0,
                {"-1", "-0.5", "0", "1e-320", "1e300", "list", "list of it", "array", "Fraction below 0"},
            )
        },
    ),
    "curve.epsilon": (CURVE.epsilon, {"delta": (0.1, {"1e-320", "list", "list of it", "array"})}),
    "classifier": (
        lambda **o: PrivateClassifier(**({"domain": BOX, "steps": "linear", "learner": GD} | o)).plan(40),
        {
            "domain": (BOX, NUMBER),
            "epsilon": (1.0, {"inf"}),
            "delta": (1e-5, NUMBER),
            "steps": ("linear", {"list"}),
            "learner": (GD, NUMBER),
        },
    ),
    "classifier.plan": (PrivateClassifier(BOX.with_n(40), steps="linear").plan, {"n": (40, {"None"})}),
    "classifier.fit": (
        lambda **o: PrivateClassifier(BOX, steps="linear", learner=GD, epsilon=3.0, **o).fit(X, Y),
        {"threads": (1, {"None"})},
    ),
    "make_plan": (
        lambda **o: prepriv.make_plan(
            **({"domain": BOX, "steps": [], "learner": GD, "epsilon": 1.0, "delta": 1e-5, "n": 40} | o)
        ),
        {
            "domain": (BOX, NUMBER),
            "steps": ([], {"list"}),
            "learner": (GD, NUMBER),
            "epsilon": (1.0, {"inf"}),
            "delta": (1e-5, NUMBER),
            "n": (40, {"None"}),
        },
    ),
    "pillar": (
        lambda **o: pillar(**({"domain": BOX, "public": X, "epsilon": 1.0, "delta": 1e-5, "k": 1} | o)),
        {
            "domain": (BOX, NUMBER),
            "epsilon": (1.0, {"inf"}),
            "delta": (1e-5, NUMBER),
            "n": (40, {"None"}),
            "k": (1, {"None"}),
            "loss": ("hinge", NUMBER),
            "learner": ("GradientDescent", NUMBER),
            "standardize": (True, {"True", "False", "np.True_"}),
        },
    ),
    "check_ledger": (check_ledger, {"path": (None, {"None", "text", "lines"})}),
    "spent": (prepriv.spent, {"delta": (1e-5, {"1e-320"})}),
}
NAMED = {  # another word for the argument in its sentence
    ("Numeric", "low"): "bounds",
    ("Numeric", "high"): "bounds",
    ("Domain.box", "low"): "low|bounds",
    ("Domain.box", "high"): "high|bounds",
    ("check_ledger", "path"): "ledger",
}


def said(caught, name):
    text = str(caught.value)
    assert type(caught.value) in (ValueError, TypeError) or isinstance(caught.value, ValueError), repr(
        caught.value
    )
    assert len(text.splitlines()) == 1 and len(text) < 400, text
    assert any(word in text for word in name.split("|")), text


@pytest.mark.parametrize(("maker", "argument"), [(m, a) for m, (_, args) in MAKERS.items() for a in args])
def test_a_wrong_type_is_one_sentence_that_names_the_argument(maker, argument):
    make, arguments = MAKERS[maker]
    right = {name: value for name, (value, _) in arguments.items()}
    make(**right)
    taken = arguments[argument][1]
    for kind, value in WRONG.items():
        if kind in taken:
            make(**(right | {argument: value}))
            continue
        try:
            with pytest.raises(ValueError) as caught:
                make(**(right | {argument: value}))
            said(caught, NAMED.get((maker, argument), argument))
        except BaseException as error:
            raise AssertionError(f"{maker}({argument}={kind}): {error!r}"[:600]) from None


CALLS = {
    "compose, no list": lambda: g.compose(3),
    "compose, no pairs": lambda: g.compose([3]),
    "compose, no function": lambda: g.compose([(3, 1)]),
    "mixture": lambda: g.mixture(3, 4),
    "shuffle": lambda: g.shuffle(1.0, 10, randomizer=3),
    "renyi_curve": lambda: g.renyi_curve(3),
    "encode, no table": lambda: encode(None, BOX),
    "encode, no domain": lambda: encode(X, 3),
    "encode_labels, none": lambda: encode_labels(None, (0, 1)),
    "encode_labels, one": lambda: encode_labels(3, (0, 1)),
    "encode_labels, no classes": lambda: encode_labels([0], 3),
    "read_table": lambda: read_table(None),
    "Ledger.open": lambda: Ledger.open(3),
    "Model.load": lambda: prepriv.Model.load(None),
    "Plan": lambda: prepriv.Plan(1, 2, 3, 4, 5, 6, 7),
    "Domain.from_json, no mapping": lambda: prepriv.Domain.from_json(3),
    "Domain.from_json, nothing in it": lambda: prepriv.Domain.from_json({}),
}


@pytest.mark.parametrize("name", CALLS)
def test_a_wrong_type_is_one_sentence(name):
    with pytest.raises(ValueError) as told:
        CALLS[name]()
    assert str(told.value) and "\n" not in str(told.value)
