"""What an existing pipeline really costs: non-private steps, then a private learner with given noise.

Several routes lead from the shift of the common rows to a guarantee; each is valid by itself and the smallest
is reported (docs/proofs/account.md):

- direct: the learner's own noise against the replaced record *and* the shift of the others;
- smooth RDP: Theorem 2 of Provable Privacy with Non-Private Pre-Processing, corrected, with its order and constant optimised;
- group privacy: every row that can move counts as a record of its own.

Beside them stands what is usually reported: training alone, as if the steps had been fitted on public data.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from prepriv import payment as pay
from prepriv.domain import Adjacency, Domain, Space, check_adjacency
from prepriv.guarantees import approximate_dp, gaussian, gdp_mu, laplace
from prepriv.guarantees.families import Gaussian
from prepriv.guarantees.guarantee import Guarantee
from prepriv.guarantees.loss_distribution import compose
from prepriv.guarantees.notes import notes_on
from prepriv.guarantees.printed import CONDITION_DIGITS, down, exact, percent, plain, up
from prepriv.guarantees.renyi import RenyiCurve, bounded_range_renyi, gaussian_renyi, pure_renyi
from prepriv.guarantees.smallest import RenyiBound, smallest
from prepriv.guarantees.smooth_renyi import (
    SmoothMechanism,
    exponential_mechanism,
    gaussian_mechanism,
    laplace_mechanism,
)
from prepriv.guarantees.tradeoff import TradeoffFunction
from prepriv.learners.base import Learner, Setting
from prepriv.pipeline.chain import chain
from prepriv.pipeline.checks import check_domain, check_learner, check_steps
from prepriv.pipeline.price import Costless
from prepriv.preprocessing.base import UNTOUCHED, RowShift, Step

DIRECT, SMOOTH, GROUP = "direct", "smooth RDP", "group privacy"
LARGEST_GROUP = 10**6
LARGEST_NOISE = 1e9  # noise over the clip norm: with more, nothing is learnt of a million records


@dataclass(frozen=True)
class ReleasedStatistic:
    """A mechanism in place of a learner: kind "gaussian", "laplace" or "exponential", epsilon its parameter.

    lipschitz: L, the statistic moves by at most L times the total shift of the rows. sensitivity: how far one
    replaced record moves it. Noise scale: sensitivity / epsilon (Provable Privacy with Non-Private Pre-Processing, Table 1).
    """

    kind: str
    epsilon: float
    lipschitz: float = 1.0
    sensitivity: float = 1.0

    def __post_init__(self) -> None:
        if self.kind not in ("gaussian", "laplace", "exponential"):
            raise ValueError(f"kind must be gaussian, laplace or exponential; got {self.kind!r}")
        for name in ("epsilon", "lipschitz", "sensitivity"):
            value = getattr(self, name)
            if not (math.isfinite(value) and value > 0):
                raise ValueError(f"{name} must be finite and positive; got {value}")

    @property
    def name(self) -> str:
        """The mechanism's name in reports."""
        return f"{self.kind} mechanism"

    def direct(self, incoming: RowShift) -> TradeoffFunction:
        """The mechanism at epsilon (1 + L tau / sensitivity); a dropped row counts as a replaced record."""
        grown = 1 + self.lipschitz * incoming.total_shift / self.sensitivity + incoming.rows_dropped
        epsilon = self.epsilon * grown * (1 + 1e-12)
        if self.kind == "gaussian":
            return gaussian(epsilon)
        if self.kind == "laplace":
            return laplace(epsilon)
        return smallest([approximate_dp(epsilon, 0.0), RenyiBound(bounded_range_renyi(epsilon))])

    def smooth(self) -> SmoothMechanism:
        """Its two Renyi curves."""
        make = {
            "gaussian": gaussian_mechanism,
            "laplace": laplace_mechanism,
            "exponential": exponential_mechanism,
        }
        return make[self.kind](self.epsilon, lipschitz=self.lipschitz, sensitivity=self.sensitivity)

    def renyi(self) -> RenyiCurve:
        """Its ordinary Renyi curve."""
        return {"gaussian": gaussian_renyi, "laplace": pure_renyi, "exponential": bounded_range_renyi}[
            self.kind
        ](self.epsilon)


AccountedLearner: TypeAlias = Learner | ReleasedStatistic


@dataclass(frozen=True)
class Account(Guarantee):
    """The guarantee of an existing pipeline. As a Guarantee, and:

    by_route: every valid route by name; the guarantee is the smallest of them. training_alone: what ignoring
    the steps would claim. steps: (step, epsilon of the pipeline up to it, its shift), in order; nan where
    the learner could not stand there. alternatives: (step, way, epsilon of the whole pipeline at the same noise if that step were paid for that way, or None
    where the way is closed, terms). at_delta: where routes were compared and the epsilons of steps and alternatives
    computed. conditions: of the steps, and what is assumed of dropped rows. notes: what has to stay secret, what
    has to have run, and what makes the guarantee weak.
    """

    by_route: Mapping[str, TradeoffFunction] = field(default_factory=dict)
    training_alone: TradeoffFunction | None = None
    shift: RowShift = UNTOUCHED
    steps: tuple[tuple[str, float, RowShift], ...] = ()
    alternatives: tuple[tuple[str, str, float | None, str], ...] = ()
    at_delta: float = math.nan

    def to_json(self, delta: float) -> dict[str, Any]:
        """The guarantee as plain data, and what it is made of: valid JSON, see `Guarantee.to_json`."""
        alone = self.training_alone
        shifts = ("rows_moved", "row_shift", "total_shift", "rows_dropped")
        return super().to_json(delta) | {
            "training_alone": None if alone is None else plain(float(alone.epsilon(delta))),
            "by_route": {name: plain(float(f.epsilon(delta))) for name, f in self.by_route.items()},
            "at_delta": plain(self.at_delta),
            "steps": [
                {"step": name, "epsilon": plain(epsilon)}
                | {key: plain(getattr(moved, key)) for key in shifts}
                for name, epsilon, moved in self.steps
            ],
            "alternatives": [
                {"step": step, "way": way, "epsilon": plain(epsilon), "note": note}
                for step, way, epsilon, note in self.alternatives
            ],
        }


def secrets_to_keep(steps: Sequence[Step]) -> tuple[str, ...]:
    """A note for each step fitted without noise: what has to stay secret, and what it costs if it does not."""
    return tuple(
        f"holds only while the {step.fitted_state} of {step.name} stay secret: fitted on the private records without noise"
        + (
            ", and needed on new rows. Once they leave, in an artifact or through its predictions, no finite ε holds at "
            "any δ < 1; fit the step on public data or by budget"
            if step.at_prediction
            else "; the model does not need them on new rows, and no finite ε holds at any δ < 1 if they leave"
        )
        for step in steps
        if not step.paid.leaves
    )


def zero_rows(steps: Sequence[Step], learner: AccountedLearner, n: int) -> tuple[str, ...]:
    """What an account assumes of rows that steps drop: a condition, or none (docs/proofs/account.md)."""
    names = ", ".join(s.name for s in steps if s.drops)
    if not names:
        return ()
    start = f"rows that {names} drops stay in their places as rows of zeros: "
    if isinstance(learner, ReleasedStatistic):
        return (
            f"{start}the statistic is computed from all {n} places and divides by {n}, never by the number of rows that "
            "are left, and its sensitivity and Lipschitz constant hold for rows of zeros, too",
        )
    draws = (
        f"every batch is drawn from all {n} places"
        if learner.samples
        else f"every sum is over all {n} places"
    )
    return (
        f"{start}{draws}, a row of zeros adds a gradient of zero, and sums are divided by {n} or the declared batch size; "
        "a library that is handed only the rows that are left has another n, another rate and another ε",
    )


def what_ran(learner: AccountedLearner, std: float | None, setting: Setting) -> tuple[str, ...]:
    """What an account assumes of the run of a learner: its sampler, its bounds and its noise, in one note."""
    if isinstance(learner, ReleasedStatistic):
        return ()
    assert std is not None
    longest = down(learner.clip(setting.radius), CONDITION_DIGITS)
    ball = f" and is taken at weights of norm at most {exact(learner.weight_bound)}"
    return (
        f"holds only while {learner.premise(setting.n)}; no record's gradient is longer than {longest}"
        f"{ball if math.isfinite(learner.weight_bound) else ''}, and every sum of them has Gaussian noise of standard "
        f"deviation {up(std, CONDITION_DIGITS)} or more",
    )


def account(
    steps: Sequence[Step],
    learner: AccountedLearner,
    *,
    domain: Domain,
    n: int | None = None,
    adjacency: str | None = None,
    noise_multiplier: float | None = None,
    delta: float = 1e-5,
) -> Account:
    """The real guarantee of a pipeline somebody already has.

    steps: pre-processing, as fitted: RowShift(caps) for what was fitted on the private records without noise.
    learner: a learner of `prepriv.learners`, with noise_multiplier its noise over its clip_norm as declared, on the
    gradient sum (what Opacus calls noise_multiplier; over the loss's own bound where clip_norm is inf); or a
    ReleasedStatistic, which carries its own noise. What is assumed of the run is a note (`what_ran`), what is assumed of
    rows that a step drops a condition (`zero_rows`).
    domain, n: what is declared, n in one of the two places or the same in both. adjacency: replace-one wherever a step was fitted without noise.
    delta: where routes are compared and steps are listed. Raises ValueError for anything unusable.
    """
    check_domain(domain)
    check_steps(steps)
    if not isinstance(learner, ReleasedStatistic):
        check_learner(learner)
    if not 0 < delta < 1:
        raise ValueError(f"delta must lie in (0, 1); got {delta}")
    if n is not None and domain.n is not None and n != domain.n:
        raise ValueError(f"the domain declares n={domain.n} records; got n={n}")
    n = domain.n if n is None else n
    if n is None:
        raise ValueError("n, the number of records, must be declared")
    chosen: Adjacency = check_adjacency(adjacency) if adjacency is not None else domain.adjacency
    domain = dataclasses.replace(domain, n=n, adjacency=chosen)
    if isinstance(learner, ReleasedStatistic) != (noise_multiplier is None):
        raise ValueError("noise_multiplier must be given for a learner, and only for a learner")
    if noise_multiplier is not None and not 0 < noise_multiplier <= LARGEST_NOISE:
        raise ValueError(
            f"noise_multiplier must be finite and positive, at most {LARGEST_NOISE:g}; got {noise_multiplier}"
        )
    if any(s.paid.share or s.paid.test for s in steps):
        raise ValueError("steps of an existing pipeline are free, public or fitted without noise (RowShift)")
    placed = chain(steps, domain, n, math.inf, release=False)
    planned, space, incoming = placed.steps, placed.space, placed.incoming
    outputs = 1 if isinstance(learner, ReleasedStatistic) else learner.loss.outputs(len(domain.classes))

    def setting(at: RowShift, where: Space) -> Setting:
        return Setting(where.radius, where.d, outputs, n, chosen, at)

    std = _noise(learner, noise_multiplier, space.radius)
    alone = _direct(learner, std, setting(UNTOUCHED, space), delta)
    by_route = _routes(learner, std, setting(incoming, space), alone, delta)
    curve = smallest(list(by_route.values()))
    listed = []
    for p in planned:
        try:
            part = float(_direct(learner, std, setting(p.outgoing, p.after), delta).epsilon(delta))
        except ValueError:  # the learner could not stand here, and does not: it stands behind the last step
            part = math.nan
        listed.append((p.step.name, part, p.outgoing))
    real = float(curve.epsilon(delta))
    ways = _alternatives(steps, learner, std, domain, n, delta, real, float(alone.epsilon(delta)))
    return Account(
        curve,
        chosen,
        (*(str(c) for c in incoming.conditions), *zero_rows(steps, learner, n)),
        notes=(
            *secrets_to_keep(steps),
            *what_ran(learner, std, setting(incoming, space)),
            *notes_on(real, delta, n, gdp_mu(min(max(real, 1e-6), 1e6), delta)),
        ),
        by_route=by_route,
        training_alone=alone,
        shift=incoming,
        steps=tuple(listed),
        alternatives=tuple(ways),
        at_delta=delta,
    )


def _alternatives(
    steps: Sequence[Step],
    learner: AccountedLearner,
    std: float | None,
    domain: Domain,
    n: int,
    delta: float,
    real: float,
    before: float,
) -> list[tuple[str, str, float | None, str]]:
    """What each step would cost if it were paid for otherwise, the noise and the other steps as they are."""
    table: list[tuple[str, str, float | None, str]] = []
    share = pay.Budget().share
    mu = math.sqrt(share) * gdp_mu(min(max(before, 1e-6), 1e6), delta)
    for i, step in enumerate(steps):
        if not step.ways:
            continue
        rest = [*steps[:i], Costless(inner=step), *steps[i + 1 :]]
        placed = chain(rest, domain, n, math.inf, release=False)
        space, incoming = placed.space, placed.incoming
        outputs = 1 if isinstance(learner, ReleasedStatistic) else learner.loss.outputs(len(domain.classes))
        setting = Setting(space.radius, space.d, outputs, n, domain.adjacency, incoming)
        without = _direct(learner, std, setting, delta)
        for way in pay.WAYS:
            note, epsilon = step.closed_ways().get(way, ""), None
            if way == step.way:
                epsilon, note = real, "as it is"
            elif way in step.ways and way == pay.Public.way:
                epsilon, note = float(without.epsilon(delta)), "a public table with the same columns"
            elif way in step.ways and way == pay.Budget.way:
                epsilon = float(compose([(without, 1), (gaussian(mu), 1)]).epsilon(delta))
                note = (
                    f"a private fit of {up(mu, 3)}-GDP ({percent(share)} of training alone); may be released"
                )
            table.append((step.name, way, epsilon, note or "not the way it was fitted"))
    return table


def _noise(learner: AccountedLearner, multiplier: float | None, radius: float) -> float | None:
    """The standard deviation on a gradient sum: over the declared clip_norm, not over a smaller bound of the loss."""
    if isinstance(learner, ReleasedStatistic) or multiplier is None:
        return None
    bound = learner.clip_norm if math.isfinite(learner.clip_norm) else learner.clip(radius)
    if not math.isfinite(bound):
        raise ValueError("the gradient has no finite bound: give the learner a clip_norm or a weight_bound")
    return multiplier * bound


def _direct(learner: AccountedLearner, std: float | None, setting: Setting, delta: float) -> TradeoffFunction:
    if isinstance(learner, ReleasedStatistic):
        return learner.direct(setting.incoming)
    assert std is not None
    accounts = learner.accounts(std / learner.unit(setting), setting, delta)
    return smallest([compose(parts).symmetrized() for parts in accounts])


def _routes(
    learner: AccountedLearner, std: float | None, setting: Setting, alone: TradeoffFunction, delta: float
) -> dict[str, TradeoffFunction]:
    routes = {DIRECT: _direct(learner, std, setting, delta)}
    incoming = setting.incoming
    if incoming.is_zero:
        return routes
    smooth = _smooth(learner, std, setting)
    if smooth is not None and incoming.rows_dropped == 0 and setting.adjacency == "replace-one":
        curve = smooth.preprocessed(incoming.total_shift)
        if math.isfinite(curve.epsilon(delta)):
            routes[SMOOTH] = RenyiBound(curve)
    group = _group(learner, setting, alone)
    if group is not None:
        routes[GROUP] = group
    return routes


def _smooth(learner: AccountedLearner, std: float | None, setting: Setting) -> SmoothMechanism | None:
    """The learner's two Renyi curves, where the paper (corrected) has them."""
    if isinstance(learner, ReleasedStatistic):
        return learner.smooth()
    assert std is not None
    return learner.smooth(std / learner.clip(setting.radius), setting)


def _group(learner: AccountedLearner, setting: Setting, alone: TradeoffFunction) -> TradeoffFunction | None:
    """Every moved or dropped row as one more replaced record (a dropped one is a replacement by nothing)."""
    size = math.ceil(1 + setting.incoming.rows_moved + setting.incoming.rows_dropped)
    if setting.adjacency != "replace-one" or size > LARGEST_GROUP:
        return None
    if isinstance(learner, ReleasedStatistic):
        if learner.kind == "gaussian":
            return gaussian(size * learner.epsilon * (1 + 1e-12))
        return (
            approximate_dp(size * learner.epsilon * (1 + 1e-12), 0.0)
            if size * learner.epsilon < 500
            else None
        )
    if learner.exact:
        assert isinstance(alone, Gaussian)
        return gaussian(size * alone.mu * (1 + 1e-12))
    return None
