"""The claim of answers, a description or a sketch, computed again from the parts that the file states and from the row that paid for it. docs/learn/auditing.md."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from prepriv._rounding import CLOSE_UP, UP
from prepriv.columns import Numeric
from prepriv.commands.verify import values_apart
from prepriv.domain import Domain
from prepriv.drafted import Drafted
from prepriv.guarantees.drafts import LEAK, claims, curve_of, with_drafts
from prepriv.guarantees.guarantee import Guarantee
from prepriv.guarantees.notes import notes_on
from prepriv.guarantees.printed import plain
from prepriv.ledger import Entry, Header
from prepriv.ledger.currency import Quanta, cost_in_quanta, short_amount
from prepriv.ledger.hash_chain import unit_of
from prepriv.sketches.tablesketch import TableSketch

_SLACK = Quanta(1, 1)  # another machine can round the last digit otherwise
_MOST = 5  # places that are named
_NEITHER = "its claim, its parts and its drafts are not those of a file that prepriv wrote"
_WHOSE = "they give"


@dataclass(frozen=True)
class _Made:
    """What a file claims by its own parts. part: of its run alone. whole: with the drafts of its domain."""

    part: Guarantee
    whole: Guarantee
    domain: Domain
    delta: float

    def numbers(self) -> dict[str, Any]:
        """What the file has to state, but for words."""
        told = claims(self.part, self.domain, self.delta)
        return _without_words(
            {"guarantee": self.whole.to_json(self.delta)} | ({} if told is None else {"claims": told})
        )


def claim_apart(data: Mapping[str, Any], header: Header, row: Entry) -> list[str]:
    """Where a file claims something else than its parts give, or its parts cost something else than was paid, one line each.

    data: what the file holds. row: the charge for it. Nothing that is computed from something else is taken from the file: of the run µ, δ and n are, and µ and δ are those of the row.
    """
    try:
        made = _made(data, header, row)
        here, paid = made.numbers(), _cost(made, header)
        said = _without_words({key: data[key] for key in ("guarantee", "claims") if key in data})
        shares = _shares_apart(data, made.part)
    except Exception:
        return [_NEITHER]
    found = list[str]()
    apart = [*values_apart(here, said, "data", _WHOSE), *shares]
    if apart:
        listed = "; ".join(one.removeprefix("data.") for one in apart[:_MOST])
        found.append(
            f"it claims something else than its run, its drafts and row {row.sequence} of its ledger give: {listed}"
        )
    if not (paid.fits(row.cost + _SLACK) and row.cost.fits(paid + _SLACK)):
        found.append(
            f"its run costs {short_amount(header.unit, paid)} by what it states itself, and row {row.sequence} paid {short_amount(header.unit, row.cost)}"
        )
    return found


def _made(data: Mapping[str, Any], header: Header, row: Entry) -> _Made:
    """Neighbours and unit are those of the row; an exception of any kind for what is no claim."""
    told, n, delta = data.get("claims"), data["n"], data["guarantee"]["delta"]
    if type(n) is not int or type(delta) not in (int, float):
        raise ValueError
    run = data["guarantee"] if told is None else told["this run"]
    drafts = () if told is None else tuple(map(_drafted, told["drafts"]))
    unit = unit_of(row.note)
    domain = _domain(data, header, unit, drafts)
    shares = tuple((one["part"], _number(one["share_of_mu_squared"])) for one in run["breakdown"])
    curve = curve_of(*((_mu(data), LEAK * delta) if run["mu"] is None else (run["mu"], 0.0)))
    part = Guarantee(curve, domain.adjacency, tuple(run["conditions"]), shares, run["mu"], unit=unit)
    part = replace(part, notes=notes_on(part.epsilon(delta), delta, n, math.inf))
    return _Made(part, with_drafts(part, domain, delta, n), domain, delta)


def _domain(data: Mapping[str, Any], header: Header, unit: str | None, drafts: tuple[Drafted, ...]) -> Domain:
    """As far as a claim depends on it: a sketch alone states its columns."""
    if "sketch" in data:
        return replace(TableSketch.from_json(data["sketch"]).plan.domain, drafts=drafts)
    return Domain(
        {"any": Numeric(0, 1)},
        adjacency=header.adjacency,  # type: ignore[arg-type]
        unit=unit,
        rows_per_unit=None if unit is None else 1,
        drafts=drafts,
    )


def _drafted(said: Mapping[str, Any]) -> Drafted:
    return Drafted.from_json({name: value for name, value in said.items() if name != "guarantee"})


def _number(share: Any) -> float:
    if share is not None and type(share) is not float:
        raise ValueError
    return math.nan if share is None else share


def _cost(made: _Made, header: Header) -> Quanta:
    """What the run costs in the currency of the ledger."""
    mu = made.part.mu
    return cost_in_quanta(
        header.unit,
        epsilon=made.part.epsilon(made.delta),
        delta=made.delta,
        mu=mu,
        rho=None if mu is None else mu * mu / 2 * UP,
    )


def _mu(data: Mapping[str, Any]) -> float:
    """Of all releases together, by the noise of each."""
    return math.sqrt(_square(_noise(data)) * CLOSE_UP) * CLOSE_UP


def _noise(data: Mapping[str, Any]) -> list[float]:
    return [float(one["noise_multiplier"]) for one in data["releases"]]


def _square(noise: Sequence[float]) -> float:
    return math.fsum((1 / one * UP) ** 2 for one in noise)


def _shares_apart(data: Mapping[str, Any], part: Guarantee) -> list[str]:
    """Where the shares of the budget are not those of the noise that is stated beside them. A description and a sketch state no noise: there they add up to all of it."""
    shares = [share for _, share in part.breakdown]
    if "releases" not in data:
        return [] if math.isclose(math.fsum(shares), 1.0, rel_tol=1e-6) else ["breakdown"]
    noise = _noise(data)
    each = [(1 / one * UP) ** 2 / _square(noise) for one in noise]
    found = values_apart(each, [one["share"] for one in data["releases"]], "data.releases.share", _WHOSE)
    names = [f"release {k}" for k in range(len(noise))]
    booked = [None if part.mu is None else plain(one) for one in each]
    told = [[name, plain(share)] for name, share in part.breakdown]
    found += values_apart([*map(list, zip(names, booked))], told, "data.breakdown", _WHOSE)
    if part.mu is not None:
        found += values_apart(_mu(data), part.mu, "data.mu of all releases", _WHOSE)
    return found


def _without_words(said: Any) -> Any:
    """Plain data without notes, which are words."""
    if isinstance(said, Mapping):
        return {key: _without_words(one) for key, one in said.items() if key != "notes"}
    return [_without_words(one) for one in said] if isinstance(said, list) else said
