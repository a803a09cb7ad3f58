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
from prepriv.accounts.from_sklearn import Declared, Reader, is_sklearn
from prepriv.accounts.ran import Ran
from prepriv.domain import Domain
from prepriv.guarantees import gdp_epsilon
from prepriv.guarantees.drafts import check_drafts, drafts_cost
from prepriv.guarantees.printed import down, up
from prepriv.learners.learner import Learner, Setting
from prepriv.placed.chain import Chain, chain
from prepriv.placed.checks import (
    check_budget,
    check_domain,
    check_learner,
    check_records,
    check_steps,
    records_of,
)
from prepriv.placed.raw_units import RawUnits
from prepriv.plans.plan import budget, setting_of
from prepriv.plans.price import Costless, calibrated, offers
from prepriv.preprocessing.base import Step

_MOST = 81  # joint choices that are calibrated: four steps in three ways
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
    """One joint choice of payments that keeps a budget. Made by `ways_out`.

    Parameters
    ----------
    steps : tuple of steps
        With their payments.
    noise_multiplier : float
        The standard deviation of the learner's noise, divided by its clip_norm.
    factor : float
        `noise_multiplier`, divided by what it would be if all steps were free.
    conditions : tuple of str
        What the guarantee then rests on.
    epsilon, delta : float
        The target.
    replaced : tuple of (str, str), default ()
        (transformer, step) pairs.
    clip : float, default inf
        The clip norm that `noise_multiplier` refers to.
    drafted : str, default ""
        What a private draft of the domain cost, in words. The target does not include it. "" without a draft.
    apart : str, default ""
        Why these steps, fitted on the table itself, would not be the pipeline that was read. "" if they would be.

    Examples
    --------
    >>> import prepriv
    >>> from prepriv.learners import AnyModel, GradientDescent
    >>> from prepriv.accounts.way_out import ways_out
    >>> from prepriv.preprocessing import Center
    >>> domain = prepriv.Domain.ball(3, classes=[0, 1], n=1000)
    >>> steps = [Center(payment=prepriv.Budget())]
    >>> best, other = ways_out(steps, GradientDescent(AnyModel()), domain=domain, epsilon=1.0, delta=1e-5)
    >>> best.ways, best.factor
    ((('Center', 'public'),), 1.0)
    """

    steps: tuple[Step, ...]
    noise_multiplier: float
    factor: float
    conditions: tuple[str, ...]
    epsilon: float
    delta: float
    replaced: tuple[tuple[str, str], ...] = ()
    clip: float = math.inf
    drafted: str = ""
    apart: str = ""

    @property
    def ways(self) -> tuple[tuple[str, str], ...]:
        """(step, way) of each step that depends on data."""
        return tuple((s.name, s.way) for s in self.steps if s.ways)

    @property
    def closed(self) -> str:
        """Why there is no code for this choice; "" if there is."""
        kept = next((i for i, s in enumerate(self.steps) if not s.paid.leaves), len(self.steps))
        after = [s.name for s in self.steps[kept:] if s.ways and s.paid.leaves]
        if after:
            return (
                f"{after[0]} stands after {self.steps[kept].name}, which is fitted without noise: a fit of its own would not hide the "
                "rows that move there"
            )
        return (self.apart or _in_units(self.steps, self._made)) if self._made else ""

    @property
    def _made(self) -> Sequence[Step]:
        """The steps that prepriv fits or applies: those before the first that is fitted without noise."""
        kept = next((i for i, s in enumerate(self.steps) if not s.paid.leaves), len(self.steps))
        first = [s for s in self.steps[:kept] if not isinstance(s, RawUnits)]
        return first if any(s.ways for s in first) else []

    @property
    def code(self) -> str:
        """Python to paste: the steps, then the clip norm and the noise of the learner. A comment where there is no code."""
        if self.closed:
            return f"# no code for this choice: {self.closed}"
        made = self._made
        lines = [
            f"# {theirs} is replaced by {ours} of prepriv, with the settings written here"
            for theirs, ours in self.replaced
        ]
        for s in (s for s in self.steps if s not in made and not isinstance(s, RawUnits)):
            secret = "" if s.paid.leaves else f", fitted without noise; its {s.fitted_state} never leave"
            lines.append(f"# {s.name}: as it is{secret}")
        lines += self._transformer(made) if made else []
        told = f"ε = {self.epsilon:g} for all of it" + (f", and {self.drafted}" if self.drafted else "")
        lines += [
            f"max_grad_norm = {self.clip!r}",
            f"noise_multiplier = {up(self.noise_multiplier, 6)}  # over max_grad_norm, {told}",
        ]
        return "\n".join(lines)

    def _transformer(self, made: Sequence[Step]) -> list[str]:
        """The steps that prepriv fits, or applies."""
        # The µ of the steps alone, as the ε that PrivateTransformer takes at the same δ.
        shares = sum(s.paid.share for s in made)
        mu = budget(self.epsilon, self.delta) * math.sqrt(shares)
        spent = (
            f", epsilon={down(float(gdp_epsilon(mu, self.delta)), 6)}, delta={self.delta:g}" if shares else ""
        )
        return [
            "import prepriv",
            "from prepriv import preprocessing as pre",
            "",
            "steps = [",
            *(f"    {_written(s)}," for s in made),
            "]",
            f"prepared = prepriv.PrivateTransformer(domain, steps{spent})",
            "X = prepared.fit_transform(X)",
        ]


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
    """Find the joint choices of payments with which the whole pipeline is (epsilon, delta)-DP, least noise first.

    Parameters
    ----------
    steps : sequence of steps, or pipeline of scikit-learn
        As for `prepriv.account`. A transformer of scikit-learn without a price is replaced (`REPLACED`). Public and
        Budget payments have their defaults. No step is paid for by a fact that was not declared.
    learner : Learner
        A learner of `prepriv.learners`, or from `ran_elsewhere`. Its noise is calibrated.
    domain : Domain
        What is declared about the raw rows.
    epsilon : float
        The budget of everything together, positive.
    delta : float
        In (0, 1), well below 1 / n.
    n : int, optional
        Number of records. None: the domain's. If both declare it, the two must agree.
    missing, deviation : float, optional
        For a pipeline of scikit-learn, as in `prepriv.from_sklearn`. None: not declared.

    Returns
    -------
    list of WayOut
        Each with its payments (`ways`), noise, conditions, and Python to paste (`code`).

    Raises
    ------
    ValueError
        Where a part has neither a price nor a replacement, or no choice keeps the budget.

    Examples
    --------
    >>> import prepriv
    >>> from prepriv.learners import AnyModel, GradientDescent
    >>> from prepriv.accounts.way_out import ways_out
    >>> from prepriv.preprocessing import StandardScaler
    >>> domain = prepriv.Domain.box(0, 1, features=2, classes=[0, 1], n=1000)
    >>> steps = [StandardScaler(rule="none", payment=prepriv.Sensitivity())]
    >>> found = ways_out(steps, GradientDescent(AnyModel()), domain=domain, epsilon=1.0, delta=1e-5)
    >>> [way.ways for way in found]
    [(('StandardScaler', 'public'),), (('StandardScaler', 'budget'),)]
    """
    epsilon, delta = check_budget(epsilon, delta)
    check_domain(domain)
    check_records(domain)
    if isinstance(learner, Ran):
        raise ValueError(
            "a way out sets the noise of the learner, and what ran here has its own by epsilon (a statistic, or diffprivlib): give it a "
            "smaller epsilon, or a learner with a noise_multiplier"
        )
    check_learner(learner)
    domain = domain.with_n(records_of(domain, n))
    check_drafts(domain, delta)
    drafted = drafts_cost(domain) if domain.drafts else ""
    replaced: tuple[tuple[str, str], ...] = ()
    apart = ""
    if is_sklearn(steps):
        reader = Reader(domain, Declared(missing, deviation), replacements=REPLACED)
        steps = reader.all_steps(steps)
        replaced, apart = tuple(reader.replaced), reader.apart
    elif not (missing is None and deviation is None):
        raise ValueError(
            "missing and deviation are for a pipeline of scikit-learn: steps have caps of their own"
        )
    check_steps(steps)
    choices = [_ways(step) for step in steps]
    if math.prod(map(len, choices)) > _MOST:
        raise ValueError(
            f"more than {_MOST} joint choices of payments: pay for some of the steps, or account for fewer at once"
        )
    found, known = [], dict[Any, float]()
    yardstick = [Costless(inner=step) if step.ways else step for step in steps]
    free = _calibrated(yardstick, learner, domain, epsilon, delta, known)[1]
    for variant in itertools.product(*choices):
        try:
            placed, multiplier = _calibrated(variant, learner, domain, epsilon, delta, known)
        except ValueError:  # closed here, or no noise is enough
            continue
        conditions = tuple(str(c) for c in placed.incoming.conditions)
        clip = _clip(learner, setting_of(placed, learner, domain))
        found.append(
            WayOut(
                variant,
                multiplier,
                multiplier / free,
                conditions,
                epsilon,
                delta,
                replaced,
                clip,
                drafted,
                apart,
            )
        )
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
    open_ = [
        paid
        for way, paid in offers(step, **_FRESH.get(step.name, {}))
        if way in pay.WAYS and not isinstance(paid, str) and not (way == pay.Sensitivity.way and undeclared)
    ]
    if not open_:
        raise ValueError(
            f"{step.name} has none of the ways {', '.join(pay.WAYS)}: a pipeline that a sketch pays for is made by prepriv.private"
        )
    return open_


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
    clip = _clip(learner, setting)
    if float(learner.reach(setting)) * learner.unit(setting) > MOST_REACH * clip:
        raise ValueError("closed by its price")
    key = (placed.stages, setting.radius, dataclasses.replace(setting.incoming, conditions=()))
    if key not in known:
        _, _, multiplier, unit = calibrated(domain, steps, learner, epsilon, delta, release=False)
        known[key] = unit * multiplier / clip
    return placed, known[key]


def _in_units(steps: Sequence[Step], made: Sequence[Step]) -> str:
    """Why steps on cells between 0 and 1 are others than those on cells in the units of the columns; "" where they are not.

    A mean or a median moves with the units, and what scales a column takes them away.
    """
    units = {
        name
        for step in steps
        if isinstance(step, RawUnits)
        for name, ends in step.bounds.items()
        if ends != (0, 1)
    }
    for step in made:
        if step.name in ("StandardScaler", "MinMaxScaler"):
            units -= set(getattr(step, "columns", None) or units)
        elif units and step.name not in ("MeanImputer", "MedianImputer"):
            return f"{step.name} is computed in the units of the columns, and the code has cells between 0 and 1: scale every column before it"
    if units:
        return f"{sorted(units)[0]!r} leaves the steps in its own units, and the code has cells between 0 and 1: scale every column"
    return ""


def _clip(learner: Learner, setting: Setting) -> float:
    """What the noise is over: the declared clip norm, or the bound of the loss."""
    return learner.clip_norm if math.isfinite(learner.clip_norm) else learner.clip(setting.radius)


def _default(field: dataclasses.Field[Any]) -> Any:
    """Of a field of a step; MISSING where it has none."""
    made = field.default_factory
    return field.default if made is dataclasses.MISSING else made()


def _written(step: Step) -> str:
    """The step as it is written in Python, defaults left out."""
    given = [
        f"{f.name}={getattr(step, f.name)!r}"
        for f in dataclasses.fields(step)
        if (f.name != "payment" and f.init and getattr(step, f.name) != _default(f))
    ]
    paid = {pay.Public.way: "prepriv.Public(public)", pay.Budget.way: f"prepriv.Budget({step.paid.share!r})"}
    if step.ways:
        given.append(f"payment={paid[step.way]}")
    return f"pre.{step.name}({', '.join(given)})"
