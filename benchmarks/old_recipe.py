"""The automatic recipe of version 0.1, to measure the present one against it."""

from __future__ import annotations

import math
from typing import Any

import prepriv
from prepriv import preprocessing as pre
from prepriv.guarantees import gdp_mu
from prepriv.learners.gradient_descent import GradientDescent
from prepriv.learners.losses import Logistic, Softmax
from prepriv.preprocessing.base import UNTOUCHED, walk


def old_recipe(
    domain: prepriv.Domain, *, n: int, epsilon: float, delta: float
) -> tuple[list[Any], GradientDescent]:
    """(steps, learner) of version 0.1, for tables and matrices of declared columns."""
    numeric = tuple(name for name, c in domain.columns.items() if isinstance(c, prepriv.Numeric))
    steps: list[Any] = []
    if domain.space.may_miss.any():
        steps.append(pre.MeanImputer(payment=prepriv.Budget(0.02)))
    if len(numeric) == len(domain.columns) and all(c.low == 0 for c in domain.columns.values()):
        steps.append(pre.SquareRoot())
    table = len(numeric) < len(domain.columns) or len(numeric) < 64
    mu, record = gdp_mu(epsilon, delta), 2 if domain.adjacency == "replace-one" else 1
    center = pre.Center(payment=prepriv.Budget(0.02))
    if table:
        if numeric:
            *_, space = (domain.space, *(after for _, _, after in walk(steps, domain.space)))
            scaler = pre.StandardScaler(columns=numeric, payment=prepriv.Budget(0.05))
            noise = scaler.l2_sensitivity(space, domain.adjacency, UNTOUCHED) / (n * mu * math.sqrt(0.05))
            floor = min(0.5, max(0.02, 0.5 * math.sqrt(noise)))
            steps.append(pre.StandardScaler(floor=floor, columns=numeric, payment=prepriv.Budget(0.05)))
        if len(numeric) < len(domain.columns):
            steps.append(center)
        steps.append(pre.Homogenize(1.25))
    else:
        steps += [pre.Normalize(1.0), center, pre.Normalize(1.0)]
    features = min(512 if table else 1024, 18_000_000 // n)
    if features >= 64:
        steps += [pre.RandomFeatures(features, weight=1.0 if table else 1.6), pre.Normalize(1.0)]
    steps.append(pre.Rescale(5.0))
    *_, last = (after for _, _, after in walk(steps, domain.space))
    signal = n * mu / record
    reach = min(2000.0, max(10.0, signal / math.sqrt(last.d + 1)))
    loss = Logistic() if len(domain.classes) == 2 else Softmax()
    average = 0.5 if signal < 600 else 0.15
    return steps, GradientDescent(loss, steps=100, learning_rate=reach / 100, average=average)
