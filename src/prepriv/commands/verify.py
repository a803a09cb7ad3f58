"""Whether a saved report is its model's: it is rebuilt from the artifact and compared letter by letter. docs/command-line.md."""

from __future__ import annotations

import contextlib
import html
import json
from difflib import SequenceMatcher
from itertools import zip_longest
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import numpy as np
from markupsafe import escape

from prepriv._version import own_version
from prepriv.commands.exits import FOUND, Stop, reason
from prepriv.commands.receipts import no_report
from prepriv.domain import Domain
from prepriv.evaluation.evaluation_plan import EvaluationPlan, which_rows
from prepriv.evaluation.figures import TABLES
from prepriv.evaluation.found_hashes import CANARIES, PUBLIC, SAID, SCORE
from prepriv.evaluation.result import PrivateEvaluation
from prepriv.guarantees.algebra import beside
from prepriv.guarantees.one_run import OneRun
from prepriv.guarantees.printed import down, exact, up
from prepriv.guarantees.second_account import NoEvents
from prepriv.plans.stored import same
from prepriv.release.both_accounts import second_account
from prepriv.release.model import Model
from prepriv.release.page import block_of, data_of, with_block, with_data
from prepriv.release.report import Errors, Evaluation, Report, as_text
from prepriv.runs.self_audit import one_run

_LARGEST = 100_000_000  # bytes of a report that is read
_SHOWN = 100  # characters of a line that differs
_PLACES = 5  # of a part of the data that differ, and are shown
_LINES = 3  # that differ, and are shown
_MOST_DIGITS = 20  # of a number, its exponent among them: 17 are enough for any
_NUMBERS = 20  # of more of them
_ALIGNED = 2000  # lines that are aligned where some were put in or left out: the time grows with the square
_MEASURED = "measured_in_private"
_VERSION = "it was not made by version "
PASS_ON = "Pass on the page that `prepriv report MODEL --verify PAGE --html NEW.html` writes, with the digits of this machine"
"""What to do about a report whose numbers differ in their last digits."""


class _Page(Protocol):
    def to_html(self) -> str: ...


class Rebuilt(NamedTuple):
    """What a saved report states beside the one that was rebuilt.

    wrong: what it states otherwise, one line each; none if it is the model's. stated: what follows from no model and stands as it was found: what was
    measured of rows. digits: the numbers that differ in their last digits alone, by where they stand. made: the rebuilt report.
    """

    wrong: list[str]
    stated: list[str]
    digits: list[str]
    made: Report


def differences(path: Path, model: Model) -> Rebuilt:
    """Compare a report, .html or .json, with the one that its model and what it says was measured give.

    Numbers in its data may differ in the last digits, which another machine rounds otherwise. They are named, because such digits can hold anything. All
    else must be exactly the same.
    """
    text, data = _read(path)
    if renamed := under_another_name(path, text):
        raise Stop(f"{path} {renamed}", FOUND)
    other = (
        []
        if data.get("version") == own_version()
        else [f"{_VERSION}{own_version()}, which may word it otherwise"]
    )
    try:
        public, measured, audited = _public(data), _measured(data, model), _audited(data, model)
    except Stop:
        if not other:
            raise
        alone = Report.of(model.declared, private=model.private, receipt=model.receipt, model=model)
        return Rebuilt([*other, "so what it measured was not compared"], [], [], alone)
    made = Report.of(
        model.declared,
        private=model.private,
        evaluation=public,
        receipt=model.receipt,
        measured=measured,
        model=model,
        audited=audited,
    )
    here = made.to_json()
    apart = [
        f"data: {line}"
        for name in sorted({*here, *data})
        for line in _first(values_apart(_held(here, name), _held(data, name), name))
    ]
    is_page = path.suffix.lower() in (".html", ".htm")
    wrong = [*other, *apart, *other_lines(text, made, data, is_page, alike=not apart)]
    found = [SAID[SCORE]] if measured is not None else []
    found += [SAID[PUBLIC]] if public is not None else []
    found += [SAID[CANARIES]] if audited is not None else []
    return Rebuilt(wrong, found, [] if wrong else digits_apart(here, data), made)


def under_another_name(path: Path, text: str) -> str:
    """That a file is a page and has the name of a JSON, or the other way round; "" of one whose name says what it is."""
    named = path.suffix.lower()
    is_json = text.lstrip("\ufeff \t\r\n").startswith("{")
    if named == ".json" and not is_json:
        return "is not JSON, as its name says: it is a page (HTML) under another name. Ask for the JSON that had this name, or for the page under its own"
    if named in (".html", ".htm") and is_json:
        return "is not a page (HTML), as its name says: it is the JSON of a page under another name. Ask for the page that had this name, or for the JSON under its own"
    return ""


def digits_in_words(places: list[str]) -> str:
    """That numbers of a saved page may hold anything in their last digits."""
    more, several = len(places) - _LINES, len(places) > 1
    listed = ", ".join(places[:_LINES]) + (f" and {more:,} more" if more > 0 else "")
    return (
        f"{len(places):,} number{'s' if several else ''} in its data {'agree' if several else 'agrees'} with what the model gives up to the last digits alone, "
        f"which another machine can round otherwise, and which can hold anything ({listed})"
    )


def digits_apart(made: Any, said: Any, at: str = "") -> list[str]:
    """Where plain data that are the same up to rounding are not the same to the last digit."""
    if isinstance(made, dict):
        return [
            one
            for key in sorted(made)
            for one in digits_apart(made[key], said[key], f"{at}.{key}".lstrip("."))
        ]
    if isinstance(made, list | tuple):
        return [one for k, pair in enumerate(zip(made, said)) for one in digits_apart(*pair, f"{at}[{k}]")]
    return [] if json.dumps(made) == json.dumps(said) else [at]


def data_in(path: Path) -> dict[str, Any]:
    """What a saved report holds as data. Stop for a file that is not one."""
    return _read(path)[1]


def of_another_version(line: str) -> bool:
    """Whether this line of `differences` says that another version made the report, which this one cannot rebuild."""
    return line.startswith(_VERSION)


def both_accounts(report: Report) -> str:
    """The claim beside that of another accountant, or why there is none, in one sentence. Stop where the two contradict."""
    if report.guarantee is None:
        return "nothing is claimed, and there is nothing to account for"
    delta = report.plan.delta
    ours = report.guarantee.epsilon(delta)
    try:
        other = second_account(report)
    except NoEvents as why:
        return f"no second accountant: {why}"
    except ValueError as why:  # another version of it
        return f"no second accountant: dp-accounting refused with {' '.join(str(why).split())}"
    except ImportError:
        return "no second accountant: dp-accounting is not installed (pip install dp-accounting)"
    said = f"ε at δ = {exact(delta)}: ours {up(ours, 4)}, certified from above; {other.accountant}: {down(other.low, 4)} to {up(other.high, 4)}"
    if other.contradicts(ours):
        raise Stop(f"{said}. The claim is below what the second accountant allows: report this", FOUND)
    return said


class _Nothing:
    """What stands nowhere: None is a value."""


def _held(data: dict[str, Any], name: str) -> Any:
    return data.get(name, _Nothing)


def _first(places: list[str]) -> list[str]:
    more = len(places) - _PLACES
    return [*places[:_PLACES], *([f"and {more} more places of it"] if more > 0 else [])]


def values_apart(made: Any, said: Any, at: str, whose: str = "the model's") -> list[str]:
    """Where plain data differ, and what stands in both places, where it is one value. whose: what has the first of them."""
    if isinstance(made, list) and isinstance(said, list) and len(made) == len(said):
        return [
            line
            for k, pair in enumerate(zip(made, said))
            for line in values_apart(*pair, f"{at}[{k}]", whose)
        ]
    if isinstance(made, dict) and isinstance(said, dict):
        both = sorted({*made, *said})
        return [
            line
            for key in both
            for line in values_apart(_held(made, key), _held(said, key), f"{at}.{key}", whose)
        ]
    if made is not _Nothing and same(made, said):
        return []
    if isinstance(made, (list, dict)) or isinstance(said, (list, dict)):
        return [at]
    alike = str(said) == str(made)  # a number as text, say: only its type is another one
    one, other = (None if x is _Nothing else json.dumps(x) if alike else str(x) for x in (said, made))
    return [f"{at}: {lines_apart(one, other, whose)}"]


def other_lines(text: str, made: _Page, data: dict[str, Any], is_page: bool, alike: bool) -> list[str]:
    """The first lines that are not those of the rebuilt report, and how many more there are. Its data are compared as data: here alone how they are laid out.

    alike: whether its data are those of the rebuilt report. Where they are not, no line of them is quoted as the model's: `data` are those of the file.
    """
    laid, own = as_text(data), made.to_html() if is_page else ""
    whole = with_data(own, laid) if is_page else laid
    as_lf = text.replace("\r\n", "\n").replace("\r", "\n")
    as_lf = as_lf.rstrip("\n") + whole[len(whole.rstrip("\n")) :] if as_lf != text else text
    ends = as_lf != text
    held, line = block_of(as_lf) if is_page else (as_lf, 0)
    found = _other_places(as_lf.split("\n"), with_block(own, held).split("\n")) if is_page else []
    laid = str(escape(laid)) if is_page else laid
    apart = held != laid
    if ends and alike and not (found or apart):
        return [
            "its line endings alone (CR or CRLF, and the report has LF): a mail or an editor changed them"
        ]
    saved_again = apart and _laid_out_again(held, laid, is_page)
    if saved_again and alike and not found:
        return ["its layout alone: all that it states is the same, and a program saved it again"]
    if apart and alike and not saved_again:
        found += [(line + at, a, b) for at, a, b in _other_places(held.split("\n"), laid.split("\n"))]
        found.sort(key=lambda one: one[0])
        apart = False
    told = ["its line endings, too (CR or CRLF, and the report has LF)"] if ends else []
    return [*told, *_listed(found), *(["its layout, too"] if apart else [])]


def _laid_out_again(held: str, laid: str, is_page: bool) -> bool:
    """Whether the same is stated in other lines. Of a page, whose marks stand for characters, no mark may be another one: what is shown would be, too."""
    if not is_page:
        return bool(_pairs(held) == _pairs(laid))
    said, made = html.unescape(held), html.unescape(laid)
    return escape(said) == held and bool(_pairs(said) == _pairs(made))


def _listed(found: list[tuple[int, str | None, str | None]]) -> list[str]:
    """The first lines that differ, and the numbers of more."""
    told = [f"line {at}: {lines_apart(a, b)}" for at, a, b in found[:_LINES]]
    more = found[_LINES:]
    if more:
        listed = ", ".join(str(at) for at, _, _ in more[:_NUMBERS]) + (", ..." * (len(more) > _NUMBERS))
        told.append(
            f"and {len(more)} more line{'s differ, at lines' if len(more) > 1 else ' differs, at line'} {listed}"
        )
    return told


def _pairs(text: str) -> Any:
    """What a JSON file states, in its order, and names that stand twice as often as they do. A number with more digits than its value needs is another one."""
    return json.loads(
        text, object_pairs_hook=tuple, parse_float=_as_long_as_needed, parse_int=_as_long_as_needed
    )


def _as_long_as_needed(number: str) -> float | str:
    return number if sum(map(str.isdigit, number)) > _MOST_DIGITS else float(number)


def _other_places(here: list[str], there: list[str]) -> list[tuple[int, str | None, str | None]]:
    """Each line that differs: its number in the first text, and both. None: no line differs. A line that is left out, or put in, moves no other."""
    before = next((at for at, (a, b) in enumerate(zip_longest(here, there)) if a != b), None)
    if before is None:
        return []
    most = min(len(here), len(there)) - before
    after = next((k for k in range(most) if here[-1 - k] != there[-1 - k]), most)
    a, b = here[before : len(here) - after], there[before : len(there) - after]
    found = [(before + at + 1, x, y) for at, (x, y) in enumerate(zip_longest(a, b)) if x != y]
    if max(len(a), len(b)) > _ALIGNED:
        return found
    aligned = [
        (before + start + at + 1, x, y)
        for kind, start, end, first, last in SequenceMatcher(None, a, b, autojunk=False).get_opcodes()
        if kind != "equal"
        for at, (x, y) in enumerate(zip_longest(a[start:end], b[first:last]))
    ]
    return min(found, aligned, key=len)


def lines_apart(a: str | None, b: str | None, whose: str = "the model's") -> str:
    """Both lines, from shortly before the place where they differ. None: no line differs. whose: what has the second of them."""
    pairs = enumerate(zip_longest(a or "", b or ""))
    since = max(0, next((at for at, (x, y) in pairs if x != y), 0) - 20)
    cut = [None if line is None else line[since:] for line in (a, b)]
    bare = [None if line is None else line.strip() for line in cut]
    if bare[0] != bare[1]:  # otherwise blanks are all that differs, and are shown
        cut = bare
    here, there = ("nothing" if line is None else repr(line[:_SHOWN]) for line in cut)
    return f"{here}; {whose}: {there}"


def _public(data: dict[str, Any]) -> Evaluation | Errors | None:
    """What it says about a table declared public."""
    said = data.get("evaluation_on_public_table")
    if said is None:
        return None
    try:
        if "r2" in said:
            return Errors(**said)
        of_classes = {key: tuple(map(tuple, said[key])) for key in ("by_epsilon", "recalls", "alarms")}
        most = None if said["commonest"] is None else tuple(said["commonest"])
        return Evaluation(**(said | of_classes | {"commonest": most}))
    except Exception:
        raise Stop(
            "the report holds something that is not an evaluation made by this library", FOUND
        ) from None


def _measured(data: dict[str, Any], model: Model) -> PrivateEvaluation | None:
    """What it says was measured privately, all of it recomputed from the noisy counts it holds."""
    said = data.get(_MEASURED)
    if said is None:
        return None
    if _is_of_before(said):
        raise Stop(
            "the report holds a measurement of an earlier version, which counted rows without a label as wrong: verify it with that version",
            FOUND,
        )
    try:
        plan = said["plan"]
        domain = Domain.from_json(plan["domain"]).with_n(plan["n"])
        measures, edges = tuple(plan["evaluation"]), tuple(plan["edges"])
        told = plan["model"], plan["error_bound"]
        stated = EvaluationPlan(
            domain, plan["epsilon"], plan["delta"], measures, edges, *told, plan.get("by")
        )
        whole = None
        if "with_training" in said and model.part is not None:
            whole = beside([model.part, stated.guarantee])
        counts = {name: np.array(said["counts"][name], dtype=float) for name in stated.releases}
        made = PrivateEvaluation(
            stated,
            counts,
            model.private,
            data.get("ledger"),  # one charge pays for both, and it is compared with the model's
            whole,
            which_rows=which_rows(stated, model),
        )
        wrong = places_apart(made.to_json(), said)
        if wrong:  # its plan is hashed whole: what of it was edited shows beside the model's
            theirs = {**plan["domain"], "n": model.domain.n}
            wrong = [*places_apart(model.domain.to_json(), theirs, f"{_MEASURED}.plan.domain"), *wrong]
    except Exception:
        message = "the report holds an evaluation whose plan and counts do not give what it states"
        raise Stop(message, FOUND) from None
    if wrong:
        raise Stop(
            f"the evaluation in the report is not what its plan, its counts and the model give, at {'; '.join(wrong[:5])}",
            FOUND,
        )
    return made


def _is_of_before(said: Any) -> bool:
    """Whether its sums have two numbers, and not the third one of rows without a label."""
    with contextlib.suppress(Exception):
        return any(np.shape(c)[-1] == 2 for name, c in said["counts"].items() if name not in TABLES)
    return False


def places_apart(made: Any, said: Any, at: str = _MEASURED) -> list[str]:
    """Where plain data differ: the names that lead there, and of texts both."""
    if isinstance(made, dict) and isinstance(said, dict) and made.keys() == said.keys():
        return [line for key in made for line in places_apart(made[key], said[key], f"{at}.{key}")]
    if isinstance(made, str) and isinstance(said, str) and made != said:
        return [f"{at}: {lines_apart(said, made)}"]
    return [] if same(made, said) else [at]


def _audited(data: dict[str, Any], model: Model) -> OneRun | None:
    """What it says its canaries showed, all of it recomputed from the plan and from what was counted."""
    said = data.get("self_audit")
    if said is None:
        return None
    try:
        return one_run(model.declared, said["canaries"], said["correct"], said["noise"])
    except Exception:
        message = "the report holds an audit that its plan cannot have had"
        raise Stop(message, FOUND) from None


def _read(path: Path) -> tuple[str, dict[str, Any]]:
    try:
        if path.stat().st_size > _LARGEST:
            raise Stop(f"{path} is too large for a report")
        text = path.read_bytes().decode("utf-8")
        data = data_of(text)
        if not isinstance(data, dict):
            raise ValueError
    except OSError as error:
        raise Stop(f"{path} cannot be read: {reason(error)}") from None
    except (ValueError, RecursionError):
        damaged = f"{path} is not a report made by this library, or it is damaged"
        raise Stop(no_report(path) or damaged) from None
    if said := no_report(path, data):
        raise Stop(said)
    return text, data
