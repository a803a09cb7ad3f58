"""A way out: for a target ε, what each step of an existing pipeline should be paid by, and the noise the learner then needs.

All joint choices of payments are calibrated, not one step at a time, since the noise of training pays for what all of them move.
"""

from __future__ import annotations

import dataclasses
import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from prepriv import payment as pay
from prepriv import preprocessing as pre
from prepriv.domain import Domain
from prepriv.guarantees import gdp_epsilon
from prepriv.guarantees.printed import down, up
from prepriv.learners.base import Learner
from prepriv.pipeline.chain import Chain, chain
from prepriv.pipeline.checks import check_budget, check_domain, check_learner, check_records, check_steps
from prepriv.pipeline.from_sklearn import Declared, Reader, is_sklearn
from prepriv.pipeline.plan import budget, decide, setting_of
from prepriv.preprocessing.base import Step

MOST = 81  # joint choices that are calibrated: four steps in three ways
MOST_REACH = 100  # clips that the moved rows of a sum may add up to: with more, nothing is learnt


def _directions(part: Any) -> Step:
    k = getattr(part, "n_components", None)
    return pre.PCA(k if isinstance(k, int) and k > 0 else 10, payment=pay.Budget())


REPLACED: Mapping[
    str, Callable[[Any], Step]
] = {  # transformers without a price, by the step that stands in for them
    "PCA": _directions,
    "IncrementalPCA": _directions,
    "TruncatedSVD": _directions,
    "MinMaxScaler": lambda _: pre.MinMaxScaler(payment=pay.Budget()),
    "MaxAbsScaler": lambda _: pre.MinMaxScaler(payment=pay.Budget()),
    "RobustScaler": lambda _: pre.StandardScaler(payment=pay.Budget()),
    "SimpleImputer": lambda _: pre.MedianImputer(payment=pay.Budget()),
    "KNNImputer": lambda _: pre.MeanImputer(payment=pay.Budget()),
    "IterativeImputer": lambda _: pre.MeanImputer(payment=pay.Budget()),
}


_FRESH: Mapping[str, dict[str, Any]] = {  # options that only a fit without noise needs
    "StandardScaler": {"rule": "max", "radius": None}
}


@dataclass(frozen=True)
class WayOut:
    """One joint choice of payments that keeps a budget.

    steps: with their payments. noise_multiplier: of the learner, over its clip_norm. factor: that over the noise if all steps
    were free. conditions: what the guarantee then rests on. epsilon, delta: the target. replaced: (transformer, step) pairs.
    """

    steps: tuple[Step, ...]
    noise_multiplier: float
    factor: float
    conditions: tuple[str, ...]
    epsilon: float
    delta: float
    replaced: tuple[tuple[str, str], ...] = ()

    @property
    def ways(self) -> tuple[tuple[str, str], ...]:
        """(step, way) of each step that depends on data."""
        return tuple((s.name, s.way) for s in self.steps if s.ways)

    @property
    def code(self) -> str:
        """Python to paste: the steps, and the noise of the learner behind them."""
        kept = [s for s in self.steps if not s.paid.leaves]
        made = [s for s in self.steps if s.paid.leaves and s.ways]
        lines = [
            f"# {theirs} is replaced by {ours} of prepriv, with the settings written here"
            for theirs, ours in self.replaced
        ]
        lines += [
            f"# {s.name}: as it is, fitted without noise; its {s.fitted_state} never leave" for s in kept
        ]
        if made:
            shares = sum(s.paid.share for s in self.steps)
            # The µ of the steps alone, as the ε that PrivateTransformer takes at the same δ.
            mu = budget(self.epsilon, self.delta) * math.sqrt(shares)
            spent = (
                f", epsilon={down(float(gdp_epsilon(mu, self.delta)), 6)}, delta={self.delta:g}"
                if shares
                else ""
            )
            lines += ["import prepriv", "from prepriv import preprocessing as pre", "", "steps = ["]
            lines += [f"    {_written(s)}," for s in made]
            lines += [
                "]",
                f"prepared = prepriv.PrivateTransformer(domain, steps{spent})",
                "X = prepared.fit_transform(X)",
            ]
        lines += [
            f"noise_multiplier = {up(self.noise_multiplier, 6)}  # over max_grad_norm, ε = {self.epsilon:g} for all of it"
        ]
        return "\n".join(lines)


def ways_out(
    steps: Sequence[Step] | Any,
    learner: Learner,
    *,
    domain: Domain,
    epsilon: float,
    delta: float,
    n: int | None = None,
    missing: float | None = None,
    deviation: float | None = None,
) -> list[WayOut]:
    """Joint choices of payments with which the whole pipeline is (epsilon, delta)-DP, least noise first.

    steps: as for `prepriv.account`; a transformer of scikit-learn without a price is replaced (`REPLACED`). learner: of
    `prepriv.learners` or `ran_elsewhere`; the noise is calibrated. Public and Budget payments have their defaults; no step is
    paid for by a fact that was not declared. missing, deviation: of a pipeline of scikit-learn, as for `prepriv.from_sklearn`.

    Raises ValueError where a part has neither a price nor a replacement, or no choice keeps the budget.
    """
    epsilon, delta = check_budget(epsilon, delta)
    check_domain(domain)
    check_records(domain)
    check_learner(learner)
    n = domain.n if n is None else n
    if n is None:
        raise ValueError("n, the number of records, must be declared")
    domain = domain.with_n(n)
    replaced: tuple[tuple[str, str], ...] = ()
    if is_sklearn(steps):
        reader = Reader(domain, Declared(missing, deviation), replacements=REPLACED)
        steps = reader.all_steps(steps)
        replaced = tuple(reader.replaced)
    elif not (missing is None and deviation is None):
        raise ValueError(
            "missing and deviation are for a pipeline of scikit-learn: steps have caps of their own"
        )
    check_steps(steps)
    choices = [_ways(step) for step in steps]
    if math.prod(map(len, choices)) > MOST:
        raise ValueError(
            f"more than {MOST} joint choices of payments: pay for some of the steps, or account for fewer at once"
        )
    cheapest = [choice[0] for choice in choices]
    free = _calibrated(cheapest, learner, domain, epsilon, delta, {})[1]
    found, known = [], dict[Any, float]()
    for variant in itertools.product(*choices):
        try:
            placed, multiplier = _calibrated(variant, learner, domain, epsilon, delta, known)
        except ValueError:  # closed here, or no noise is enough
            continue
        conditions = tuple(str(c) for c in placed.incoming.conditions)
        found.append(WayOut(variant, multiplier, multiplier / free, conditions, epsilon, delta, replaced))
    if not found:
        raise ValueError(
            f"no payment of these steps leaves ε = {epsilon:g}: more records, or fewer steps, are needed"
        )
    return sorted(found, key=lambda way: (way.noise_multiplier, len(way.conditions)))


def _ways(step: Step) -> list[Step]:
    """The step in each way that is open to it, public first; by sensitivity only with caps that are declared, or none to declare."""
    if not step.ways:
        return [step]
    undeclared = step.way != pay.Sensitivity.way and step.Caps is not None and dataclasses.fields(step.Caps)
    kinds: dict[str, pay.Payment] = {
        pay.Public.way: pay.Public(),
        pay.Budget.way: pay.Budget(),
        pay.Sensitivity.way: pay.Sensitivity(),
    }
    return [
        step
        if way == step.way
        else dataclasses.replace(step, payment=kinds[way], **_FRESH.get(step.name, {}))
        for way in pay.WAYS
        if way in step.ways and not (way == pay.Sensitivity.way and undeclared)
    ]


def _calibrated(
    steps: Sequence[Step],
    learner: Learner,
    domain: Domain,
    epsilon: float,
    delta: float,
    known: dict[Any, float],
) -> tuple[Chain, float]:
    """(the steps in their places, the noise over the declared clip_norm). known: noise that was found before.

    ValueError where a sum moves so far that no noise worth the name hides it: then nothing is calibrated.
    """
    assert domain.n is not None
    placed = chain(steps, domain, domain.n, budget(epsilon, delta), release=False)
    setting = setting_of(placed, learner, domain)
    clip = learner.clip_norm if math.isfinite(learner.clip_norm) else learner.clip(setting.radius)
    if float(learner.reach(setting)) * learner.unit(setting) > MOST_REACH * clip:
        raise ValueError("closed by its price")
    key = (placed.stages, setting.radius, dataclasses.replace(setting.incoming, conditions=()))
    if key not in known:
        _, setting, multiplier = decide(domain, steps, learner, epsilon=epsilon, delta=delta, release=False)
        known[key] = learner.unit(setting) * multiplier / clip
    return placed, known[key]


def _written(step: Step) -> str:
    """The step as it is written in Python, defaults left out."""
    given = [
        f"{f.name}={getattr(step, f.name)!r}"
        for f in dataclasses.fields(step)
        if (
            f.name != "payment"
            and f.default is not dataclasses.MISSING
            and getattr(step, f.name) != f.default
        )
        or (f.default is dataclasses.MISSING and f.default_factory is dataclasses.MISSING)
    ]
    paid = {pay.Public.way: "prepriv.Public(public)", pay.Budget.way: f"prepriv.Budget({step.paid.share:g})"}[
        step.way
    ]
    return f"pre.{step.name}({', '.join([*given, f'payment={paid}'])})"
