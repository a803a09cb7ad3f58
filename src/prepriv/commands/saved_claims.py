"""The claim of answers, a description or a sketch, computed again from the parts that the file states and from the row that paid for it: its numbers, its unit, and its words. docs/learn/auditing.md."""

from __future__ import annotations

import html
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from prepriv._rounding import CLOSE_UP, UP
from prepriv._text import printable
from prepriv._version import own_version
from prepriv.columns import Numeric
from prepriv.commands.verify import values_apart
from prepriv.description.cells_in_words import read_of_units
from prepriv.description.look import notes_of_claim
from prepriv.domain import Domain
from prepriv.drafted import Drafted
from prepriv.guarantees.drafts import LEAK, claims, curve_of, in_all, with_drafts
from prepriv.guarantees.guarantee import Guarantee
from prepriv.guarantees.notes import notes_on
from prepriv.guarantees.printed import plain
from prepriv.ledger import Entry, Header, condition_note
from prepriv.ledger.currency import Quanta, cost_in_quanta, short_amount
from prepriv.ledger.hash_chain import unit_in_note
from prepriv.release.summary import bounded, origin
from prepriv.sketches.tablesketch import TableSketch

_SLACK = Quanta(1, 1)  # another machine can round the last digit otherwise
_MOST = 5  # places that are named
_NEITHER = "its claim, its parts and its drafts are not those of a file that prepriv wrote"
_NOT_COMPUTED = "its claim was not computed again: its parts are not there, or not as this version of prepriv writes them, and it does not say that this version wrote it"
_WHOSE = "they give"
_NOT_COMPARED = (
    "what it says in words is not what its claim gives, at {listed}. It does not say that this version of prepriv wrote it, and another one can have worded it otherwise: "
    "read these words beside its numbers"
)
_ANSWERS, _DESCRIPTION, _SKETCH = "these answers", "this description", "this sketch"
_WHO = re.compile(
    r"(?:were declared by|by the hash that the schema holds\.|holds no hash of them\.) (.*?)(?:\. This run did not read| answers for that\.)"
)
_PARAGRAPH = re.compile(r"\s*<p>(.*?)</p>", re.S)
_ONE_ROW = "One row of each `"  # how a note begins, of a table with units


@dataclass
class ClaimApart:
    """What a file claims otherwise than its parts and its charge give; and the words of which another version may have written the like."""

    wrong: list[str] = field(default_factory=list)
    undecided: list[str] = field(default_factory=list)


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


def claim_apart(file: Path, data: Mapping[str, Any], header: Header, row: Entry) -> ClaimApart:
    """Where a file does not claim what its parts give, or its parts do not cost what was paid.

    data: what the file holds. row: the charge for it. Nothing that is computed from something else is taken from the file: of the run µ, δ and n are, and µ and δ are those of the row.
    """
    try:
        made = _made(data, header, row)
        here, paid = made.numbers(), _cost(made, header)
        said = _without_words({key: data[key] for key in ("guarantee", "claims") if key in data})
        apart = [
            *values_apart(here, said, "data", _WHOSE),
            *_shares_apart(data, made.part),
            *_unit_apart(data, made),
        ]
        words = _words_apart(file, data, made)
        rests = condition_note(
            made.part.conditions,
            [one for one in _run(data)["notes"] if one.startswith("weak")],
            row.note.split(" | ")[0],
        )
    except Exception:
        is_own = data.get("version") == own_version()
        return ClaimApart([_NEITHER]) if is_own else ClaimApart(undecided=[_NOT_COMPUTED])
    found = ClaimApart()
    if apart:
        found.wrong.append(
            f"it does not claim what its run, its drafts and row {row.sequence} of its ledger give: {_listed(apart)}"
        )
    if rests != row.note:
        found.wrong.append(
            f"its claim rests on other conditions, or is weak for other reasons, than row {row.sequence} of its ledger notes"
        )
    if words and data.get("version") == own_version():
        found.wrong.append(f"its words are not those that its own claim gives: {_listed(words)}")
    elif words:
        found.undecided.append(_NOT_COMPARED.format(listed=_listed(words)))
    if not (paid.fits(row.cost + _SLACK) and row.cost.fits(paid + _SLACK)):
        found.wrong.append(
            f"its run costs {short_amount(header.unit, paid)} by what it states itself, and row {row.sequence} paid {short_amount(header.unit, row.cost)}"
        )
    return found


def _listed(places: Sequence[str]) -> str:
    more = len(places) - _MOST
    return "; ".join(one.removeprefix("data.") for one in places[:_MOST]) + (
        f"; and {more} more" if more > 0 else ""
    )


def _run(data: Mapping[str, Any]) -> Mapping[str, Any]:
    """What it states of its run alone."""
    found: Mapping[str, Any] = data["guarantee"] if data.get("claims") is None else data["claims"]["this run"]
    return found


def _made(data: Mapping[str, Any], header: Header, row: Entry) -> _Made:
    """Neighbours and unit are those of the row; an exception of any kind for anything but a claim."""
    told, n, delta = data.get("claims"), data["n"], data["guarantee"]["delta"]
    if type(n) is not int or type(delta) not in (int, float):
        raise ValueError
    run = _run(data)
    drafts = () if told is None else tuple(map(_drafted, told["drafts"]))
    unit = unit_in_note(row.note)
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


def _unit_apart(data: Mapping[str, Any], made: _Made) -> list[str]:
    """Where the numbers are said to be of other units than the claim. What a sketch was priced for stands in its plan."""
    unit = made.part.unit
    if "sketch" in data:
        plan = TableSketch.from_json(data["sketch"]).plan
        return [
            *values_apart(unit, plan.domain.unit, "data.sketch.plan.domain.unit", _WHOSE),
            *values_apart(data["n"], plan.domain.n, "data.sketch.plan.domain.n", _WHOSE),
            *values_apart(made.part.mu, plan.mu, "data.sketch.plan.mu", _WHOSE),
        ]
    stated = data.get("one_row_of_each", unit)  # an earlier version did not state it
    return values_apart(unit, stated, "data.one_row_of_each", _WHOSE)


def _words_apart(file: Path, data: Mapping[str, Any], made: _Made) -> list[str]:
    """Where the notes on the claim, the promise, and the unit in words are not those that the claim gives; of a page also where its paragraphs are not."""
    found = (
        values_apart([*made.part.notes], _run(data)["notes"], "data.claims.this run.notes", _WHOSE)
        if "claims" in data
        else []
    )
    found += _read_apart(data, made)
    what = _SKETCH if "sketch" in data else _ANSWERS if "answers" in data else _DESCRIPTION
    fixed = bounded(made.whole, made.part, made.domain, data.get("ledger"), what, made.delta)
    said = {"guarantee.notes": data["guarantee"]["notes"], "promise": data["promise"]}
    each = list[tuple[list[str], tuple[str, ...], list[str]]]()
    for domain, as_drafted in _alike(data, made.domain, what):
        notes = made.whole.notes
        if domain.drafts:
            notes = (in_all(made.part, domain, made.delta), *notes[1:])
        promise = [*fixed, *origin(domain, as_drafted)]
        apart = values_apart({"guarantee.notes": [*notes], "promise": promise}, said, "data", _WHOSE)
        each.append((apart, notes, promise))
    apart, notes, promise = min(each, key=lambda one: len(one[0]))
    found += apart
    if file.suffix.lower() != ".json":
        whole = replace(made.whole, notes=notes)
        own = [printable(one, keep="\n") for one in notes_of_claim(whole, made.delta, data["n"], promise)]
        found += values_apart(
            own,
            _paragraphs(file.read_text(encoding="utf-8"), len(own)),
            "data.paragraphs of the page",
            _WHOSE,
        )
    return found


def _read_apart(data: Mapping[str, Any], made: _Made) -> list[str]:
    """Where the notes on which rows of a unit are read are others."""
    unit, notes = made.part.unit, data.get("notes", [])
    if "sketch" in data:
        return values_apart(
            read_of_units(unit, TableSketch.from_json(data["sketch"]).plan.k), notes, "data.notes", _WHOSE
        )
    read = read_of_units(unit)
    found = values_apart(read, notes[: len(read)], "data.notes", _WHOSE)
    found += [] if unit is None or "one_row_of_each" in data else ["one_row_of_each"]
    return found + [
        f"notes[{k}]" for k, one in enumerate(notes[len(read) :], len(read)) if one.startswith(_ONE_ROW)
    ]


def _alike(data: Mapping[str, Any], domain: Domain, what: str) -> Iterator[tuple[Domain, bool | None]]:
    """The domains, of those that a file does not state, by which its words can differ: who declared it, and of a description what its label is; and whether it is as it was drafted."""
    labels: list[dict[str, Any]] = [{}]
    if what == _DESCRIPTION:
        labels += [{"classes": ("0", "1")}, {"target": Numeric(0, 1)}]
    names = [None, *_WHO.findall(" ".join(map(str, data["promise"])))]
    for name in names if what != _SKETCH else [domain.declared_by]:
        for label in labels:
            with suppress(ValueError):
                one = replace(domain, declared_by=name, **label)
                yield from (
                    (one, as_drafted) for as_drafted in ((True, False, None) if domain.drafts else (None,))
                )


def _paragraphs(page: str, most: int) -> list[str]:
    """The first paragraphs of a page, as they are read; none of a page with a comment, or with two titles, in which some may be hidden."""
    head, _, rest = page.partition("</h1>\n")
    if "<!--" in page or "</h1>" in rest or not head.rpartition("<body>")[2].startswith("\n<main>\n<h1>"):
        return []
    if rest.startswith("<p><b>"):  # of a sketch, what it holds
        rest = rest.partition("</p>\n")[2]
    found = list[str]()
    while len(found) < most and (one := _PARAGRAPH.match(rest)):
        found.append(html.unescape(one[1]))
        rest = rest[one.end() :]
    return found
