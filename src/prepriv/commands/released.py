"""`prepriv predict`, `report`: what a released model says and promises. No private record is read."""

from __future__ import annotations

import csv
import hashlib
import io
import os
import re
import sys
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Annotated, Any

import typer

from prepriv._text import csv_cell
from prepriv.columns import Numeric
from prepriv.commands.beside import (
    of_another_model,
    pages_in_words,
    released_beside,
    scores_beside,
    scores_named_beside,
    scores_not_charged,
)
from prepriv.commands.charged import (
    booked_findings,
    charge_problems,
    holding,
    other_charges,
    perhaps_the_same,
    to_ask,
    told_of_charge,
    unbooked_findings,
    unclaimed_drafts,
    unrecorded,
)
from prepriv.commands.common import declared_weights, private_data_open
from prepriv.commands.exits import FOUND, NOT_DECIDED, Stop, print_json, say
from prepriv.commands.outputs import check_standard_output, writable_file, write_text
from prepriv.commands.printing import AsJson, console, print_guarantee, print_proofs, print_summary
from prepriv.commands.receipts import asked_of_rows, beside_a_ledger, files_of, header_of, no_model
from prepriv.commands.saved_scores import read_score
from prepriv.commands.scores import ScoresAtHand, later_scores
from prepriv.commands.several import (
    beside_its_rows,
    booked_together,
    copies,
    copy_in_words,
    hardly_limited,
    loose_deltas,
)
from prepriv.commands.verify import (
    PASS_ON,
    both_accounts,
    data_in,
    differences,
    digits_in_words,
    of_another_version,
)
from prepriv.domain import what_n_counts
from prepriv.evaluation.found_hashes import SAID
from prepriv.ledger import Entry, Ledger, LedgerError
from prepriv.ledger.verification import odd_days
from prepriv.plans.decision import decision
from prepriv.release.model import Model, artifact_file
from prepriv.release.proofs import proofs_of
from prepriv.release.record import as_yaml, deployment_record, questions
from prepriv.release.report import Report
from prepriv.release.review import asked_of_claim
from prepriv.release.summary import declared_aside
from prepriv.tables.inspect import counted_columns
from prepriv.tables.readers import column_names, names_of, read_table, wrong_header

_MOST_ODD = 5  # columns that are named
_MANY_CUT = 0.2  # of a column's cells: above it, more than noise in a drafted bound
_MANY_GAPS = 0.9  # of a column that declares gaps, and so has some
_EMPTY, _ODD = "empty cells", "cells that are not as declared"
_CUT = "numbers outside their declared bounds are read as the nearest bound"
_KINDS = (_EMPTY, _ODD, _CUT)
_OTHERWISE = "cells_read_otherwise"  # in --json
_RELY = "Predictions for such rows are not to be relied on"
_ASKED = {
    _EMPTY: f". Is the column filled in this file? Unless as many cells were empty in training, p{_RELY[1:]}",
    _ODD: f". Are they written as the column declares? {_RELY}",
    _CUT: f". Are they in the unit that the bounds are in? {_RELY}",
}


_NOT_MEASURED = (
    "The figures of the model's report are not about these weights: recall, alarms and groups differ. `prepriv evaluate --class-weight` measures "
    "predictions with these weights, with --by also in each group."
)


def predict(
    model: Annotated[Path, typer.Argument(help="The released model: its folder or file.")],
    data: Annotated[Path, typer.Argument(help="Raw rows: CSV or Parquet with the declared columns.")],
    out: Annotated[Path | None, typer.Option(help="Write a CSV here instead of to standard output.")] = None,
    proba: Annotated[
        bool,
        typer.Option(
            help="Also write the probability of each class. This is always done if classes have weights."
        ),
    ] = False,
    class_weight: Annotated[
        str | None,
        typer.Option(
            help="Weights of the classes in these predictions, such as '{yes: 5}', in place of the model's. They are free, because no record is read."
        ),
    ] = None,
    keep: Annotated[
        list[str] | None,
        typer.Option(
            help="A column of DATA to write beside each prediction, such as a key to join by. May be given more than once."
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Predict labels of raw rows from the released model alone.

    The claim of the model does not cover predictions of private rows: they say something about each row. Keep them where
    the rows are kept.
    """
    released = Model.load(model)
    kept = list(keep or ())
    if out is None:
        check_standard_output()
    else:
        _check_predictions(out, (data, artifact_file(model)), kept)
    if released.domain.target is not None and (proba or class_weight is not None):
        raise Stop(
            f"{'--proba' if proba else '--class-weight'}: this model predicts a number, and not a class"
        )
    if class_weight is not None:
        released = _weighed(released, class_weight)
    if "://" in str(data) or re.match(r"\w+:/", str(data)):
        raise Stop(f"{data}: predict reads a CSV or Parquet file. Write the answer of a query to one")
    _check_kept(kept, data, released)
    rows = read_table(data, list(dict.fromkeys([*released.domain.columns, *kept])) or None)
    otherwise = _read_otherwise(rows, released)
    _say_read_otherwise(otherwise, data, model)
    cells = {} if not otherwise else {_OTHERWISE: [asdict(one) for one in otherwise]}
    beside = [[_text_of_cell(cell) for cell in rows[name].to_pylist()] for name in kept]
    if released.domain.target is not None:
        with private_data_open():
            numbers = [float(v) for v in released.predict(rows)]
        if as_json:
            print_json({"prediction": numbers} | dict(zip(kept, beside)) | cells)
        if out is not None or not as_json:
            _written(out, ["prediction", *kept], [[repr(v), *more] for v, *more in zip(numbers, *beside)])
        return
    with private_data_open():
        probabilities = released.predict_proba(rows)
    # of weighed classes the predicted one need not be the most probable
    proba = proba or released.class_weight is not None
    classes, decided = released.domain.classes, released.decided(probabilities)
    if released.class_weight is not None:
        say(_how_decided(classes, released.class_weight), err=True)
    if class_weight is not None:
        say(_NOT_MEASURED, err=True)
    if as_json:
        told: dict[str, Any] = {"prediction": [classes[int(k)] for k in decided]} | dict(zip(kept, beside))
        if proba:
            told["probabilities"] = {c: probabilities[:, i].tolist() for i, c in enumerate(classes)}
        print_json(told | cells)
        if out is None:
            return
    labels = [csv_cell(c) for c in classes]
    header = ["prediction", *(f"p({c})" for c in labels if proba), *kept]
    lines = (
        [labels[int(k)], *(f"{v:.6f}" for v in p if proba), *more]
        for k, p, *more in zip(decided, probabilities, *beside)
    )
    _written(out, header, lines)


def _how_decided(classes: Sequence[Any], weights: Any) -> str:
    """Why the predicted class need not be the most probable one."""
    if len(classes) == 2:
        first, second = (float(weight) for weight in weights)
        return f"the classes have weights, so {str(classes[1])!r} is predicted from a probability of about {first / (first + second):.3g} on, and not from 0.5"
    listed = ", ".join(f"{name} {weight:.3g}" for name, weight in zip(classes, weights))
    return f"the classes have weights ({listed}): the class with the largest product of weight and probability is predicted, which need not be the most probable one"


@dataclass(frozen=True)
class _ReadOtherwise:
    """Cells of one kind in a column that are not read as they stand. warn: whether they are too many to rely on a prediction."""

    column: str
    kind: str
    count: int
    rows: int
    becomes: str
    warn: bool
    cell: bool
    """Whether a category of its own stands for it, `other` or `missing`, of a model that was trained with noise."""

    @property
    def said(self) -> str:
        return f"{self.count:,} of {self.rows:,} in {self.column!r} ({self.becomes})"

    @property
    def many(self) -> bool:
        return self.count > _MANY_CUT * self.rows


def _read_otherwise(rows: Any, model: Model) -> list[_ReadOtherwise]:
    """Cells that are empty, not as declared or out of bounds, by kind and number. The counts are exact: only the owner of the rows may see them."""
    if not model.domain.columns:
        return []
    with private_data_open():
        counted = counted_columns(rows.select(list(model.domain.columns)), model.domain)
    found = []
    for c, declared in zip(counted, model.domain.columns.values()):
        empty, bad, cut, unknown = c.faults
        numbers = isinstance(declared, Numeric)
        filled = rows.num_rows - empty - bad
        gaps = f"read as {c.becomes or 'missing'}"
        # where gaps are declared, or are a category of their own, some are as in training
        most = _MANY_GAPS if numbers and not c.becomes else _MANY_CUT
        for kind, count, whole, becomes, warn in (
            (_EMPTY, empty, rows.num_rows, gaps, empty > most * rows.num_rows),
            (_ODD, bad, rows.num_rows, gaps, bad > _MANY_CUT * rows.num_rows),
            # a column lists the common categories alone, so some others are not a sign of another table
            (_ODD, unknown, rows.num_rows, "read as other", unknown > _MANY_GAPS * rows.num_rows),
            (_CUT, cut, filled, f"declared {c.declared}", cut > _MANY_CUT * filled),
        ):
            if count:
                cell = model.private and not numbers and kind != _CUT
                found.append(_ReadOtherwise(c.name, kind, count, whole, becomes, warn, cell))
    return sorted(found, key=lambda one: (not one.warn, _KINDS.index(one.kind), -one.count))


def _say_read_otherwise(found: Sequence[_ReadOtherwise], data: Path, model: Path) -> None:
    """On standard error: warnings first, then the columns with most such cells. No column with many of them is left out."""
    for warn, kind in ((warn, kind) for warn in (True, False) for kind in _KINDS):
        some = [one for one in found if (one.warn, one.kind) == (warn, kind)]
        named = max(_MOST_ODD, sum(one.many for one in some))
        if some:
            left = len(some) - named
            more = f" and {left:,} more column{'s' if left > 1 else ''}" if left > 0 else ""
            listed = ", ".join(one.said for one in some[:named])
            say(
                f"{'WARNING: ' if warn else ''}{kind}: {listed}{more}{_ASKED[kind] if warn else ''}", err=True
            )
    if any(one.cell for one in found):
        say(
            "What a model adds for `other` and `missing` is noise alone where hardly any training record was one, and so is such a part of "
            "a prediction",
            err=True,
        )
    if found:
        say(_by_kind(data, model), err=True)


def _by_kind(data: Path, model: Path) -> str:
    return f"`prepriv validate {data} --model {model} --no-labels` lists them by kind"


def _check_kept(kept: Sequence[str], data: Path, model: Model) -> None:
    if kept and not model.domain.columns:
        raise Stop("--keep: this model reads rows without named columns")
    for name in kept:
        if name in ("prediction", "probabilities", _OTHERWISE) or name.startswith("p("):
            raise Stop(f"--keep: a column {name!r} would read like a prediction; rename it")
        if name not in (have := column_names(data)):
            raise Stop(f"--keep: {data} has no column {name!r}; {wrong_header(have) or names_of(have)}")


def _text_of_cell(cell: Any) -> str:
    """A cell of a file as it is written again."""
    if cell is None:
        return ""
    return csv_cell(cell.decode("utf-8", "replace") if isinstance(cell, bytes) else str(cell))


def _weighed(model: Model, text: str) -> Model:
    """The same with the weights of --class-weight in place of its own: a function of the declared classes alone."""
    weights = decision(model.domain, declared_weights(text))[1]
    return replace(model, plan={**model.plan, "class_weight": weights})


def _written(out: Path | None, header: list[str], lines: Any) -> None:
    if out is None:
        _write_csv(sys.stdout, header, lines)
        return
    text = io.StringIO(newline="")
    _write_csv(text, header, lines)
    write_text(out, text.getvalue())
    console.print(f"wrote {out}")
    say(
        "The claim of a private model does not cover predictions of private rows: they say something about each row. Keep them where the rows are kept.",
        err=True,
    )


def _check_predictions(out: Path, read: Iterable[Path], kept: Sequence[str]) -> None:
    """Predictions replace earlier ones and nothing else: no table, no model, no ledger, nothing that is `read`."""
    if out.suffix.lower() in (".gz", ".parquet", ".tsv"):
        raise Stop(f"predictions are written as plain CSV: choose a name that ends in .csv, not {out.suffix}")
    writable_file(out)
    if not out.is_file():
        return
    if any(path.exists() and os.path.samefile(out, path) for path in read):
        raise Stop(f"{out} is read itself and is not overwritten; choose another --out")
    if out.stat().st_size and not _are_predictions(out, kept):
        others = [name for name in header_of(out)[1:] if name not in kept and not _OF_CLASS.fullmatch(name)]
        if header_of(out)[:1] == ["prediction"] and others:
            raise Stop(
                f"{out} holds predictions and other columns ({', '.join(others[:_MOST_ODD])}), as --keep writes them, and is not overwritten: "
                "keep the same columns again, or choose another --out"
            )
        raise Stop(
            f"{out} holds something other than predictions and is not overwritten; choose another --out"
        )


_OF_CLASS = re.compile(r"p\(.*\)")


def _are_predictions(path: Path, kept: Sequence[str]) -> bool:
    """Whether its header is one that `predict` writes with these columns kept, and no other."""
    names = header_of(path)
    return names[:1] == ["prediction"] and all(
        name in kept or _OF_CLASS.fullmatch(name) for name in names[1:]
    )


def _write_csv(file: Any, header: list[str], lines: Any) -> None:
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(header)
    writer.writerows(lines)


def _check_record(path: Path, model: Path) -> bool:
    """Whether a record is to be written: none over one of this very model, which may hold answers. Stop for any other file."""
    if path.suffix != ".yaml":
        raise Stop(f"--record must end in .yaml; got {path.suffix or 'no ending'}")
    if path.is_file() and _sha256(model) in path.read_text(encoding="utf-8", errors="replace"):
        return False
    if path.exists():
        raise Stop(
            f"{path} is there already, may hold answers of yours, and is not a record of this model: choose another --record"
        )
    writable_file(path)
    return True


def _say_not_written(*files: Path | None) -> None:
    """Of files that were asked for: a model that was found out gets none."""
    for file in files:
        if file is not None:
            say(f"{file} was not written, because of what was found", err=True)


def _write_record(path: Path, made: Report, asked: list[str], further: list[str], many: bool) -> None:
    filled = deployment_record(made, asked, further, many=many)
    write_text(path, as_yaml(filled))
    left = questions(filled)
    console.print(f"record: {path}; {len(left)} questions are left to the curator", soft_wrap=True)
    for field, question in left:
        console.print(f"  {field}: {question}", soft_wrap=True)


def _booked(places: list[str] | None, released: Model, page: Report) -> list[str]:
    """What the page states and no model gives, where a ledger holds its hash. A ledger that cannot be read is reported by `_check_charge`."""
    try:
        if not places:
            return []
        return [SAID[name] for name in booked_findings(holding(places, released)[0], released, page)[0]]
    except LedgerError:
        return []


def _declared(released: Model, page: Report | None) -> tuple[int, str]:
    """How many records were declared, and what is counted: of a model alone those that trained it."""
    plan = released.declared
    aside = 0 if page is None else declared_aside(page) or 0
    return plan.n + aside, what_n_counts(plan.domain)


def _check_charge(
    places: list[str], released: Model, file: Path, page: Report | None
) -> tuple[list[str], list[str], bool, Stop | None]:
    """Say whether a ledger paid for the model, and for what its page shows. Gives what has to be asked of it, and of what else the ledgers hold, whether they paid for other releases, and how the command ends where none paid."""
    failed: Stop | None = None
    try:
        books = {place: (Ledger.open(place).header, Ledger.open(place).entries()) for place in places}
        copied = copies(books)
        places = [place for place in books if place not in copied]
        place, others = holding(places, released)
        try:
            wrong, unchecked = charge_problems(place, released, file.read_bytes(), page, others)
        except Stop as why:
            if why.code != NOT_DECIDED:
                raise
            wrong, unchecked, failed = [], [], why
        wrong = [*wrong, *(line for one in places for line in odd_days(books[one][1]))]
        small, _ = unclaimed_drafts(place, released, others)
        headers = [books[one][0] for one in places]
        told = [] if wrong or failed else told_of_charge(place, released, others)
        of_each = {one: books[one] for one in places}
        told += booked_together([*of_each.values()]) if told else []
        scores, shown = dict[Path, str](), set[str]()
        for header, rows in of_each.values():
            scores |= scores_beside(file, released, header, rows)
            shown |= released_beside(file, rows)
        all_rows = [rows for _, rows in of_each.values()]
        named = scores_named_beside(file, released, all_rows)
        told += [*scores.values()] if told else []
        asked = [
            *([] if wrong or failed else unrecorded(place, released)),
            *([] if wrong or failed or page is None else unbooked_findings(place, released, page)),
            *perhaps_the_same(headers),
            *to_ask(
                place, released, page, others, scores=ScoresAtHand(shown, named), artifact=file.read_bytes()
            ),
        ]
        paid_beside = [] if wrong else other_charges(places, released, shown)
        own = (released.receipt or {}).get("plan_uid")
        scored = any(later_scores(released, rows) for _, rows in of_each.values())
        many = bool(scored or scores or paid_beside or shown - {own})
        further = [
            *hardly_limited(of_each),
            *loose_deltas(of_each, *_declared(released, page)),
            *beside_its_rows([*books]).values(),
            *(line for one in scores for line in _asked_of_score(one, released, all_rows)),
            *scores_not_charged(file, released, all_rows, [name for some in named.values() for name in some]),
            *paid_beside,
        ]
    except LedgerError as error:
        raise Stop(str(error).removesuffix("; nothing was granted"), error.exit_code) from None
    for name, other in copied.items():
        console.print(f"{name}: {copy_in_words(books, name, other)}", soft_wrap=True)
    found = [*(f"not charged: {one}" for one in wrong), *(f"claims too little: {one}" for one in small)]
    for line in found:
        console.print(line, soft_wrap=True)
    if wrong:
        return asked, further, many, Stop("the ledger did not pay for this model as it claims", FOUND, found)
    if small:
        return asked, further, many, Stop("the model claims less than what was spent on it", FOUND, found)
    if failed is not None:
        return asked, further, many, failed
    console.print("charged: the ledger is sound and booked at least what this model claims", soft_wrap=True)
    for line in told:
        console.print(f"  {line}", soft_wrap=True)
    for line in unchecked:
        console.print(f"not verified, stated by the report alone: {line}", soft_wrap=True)
    return asked, further, many, None


def _asked_of_score(file: Path, model: Model, ledgers: Sequence[Sequence[Entry]]) -> list[str]:
    """What to ask of a later score of a model, a file that a ledger released: whose rows these were, and why its words are not those of its numbers."""
    own = _sha256(file)
    paid = (
        one
        for rows in ledgers
        for uid in (made.plan_uid for made in rows if made.artifact == own)
        for one in rows
        if (one.kind, one.plan_uid) == ("charged", uid)
    )
    score = read_score(file, model, next(paid))
    asked = [*(f"why {line}" for line in score.wrong), *score.undecided, asked_of_rows(score.rows)]
    return [f"{file}: {line}" for line in asked]


def _ask_before(
    asked: list[str], *, as_json: bool, failed: Sequence[Stop] = (), checked: Sequence[str] = ()
) -> None:
    """The last lines of a report, after all that is routine: what was found, and what nobody should sign before it is answered. Exit code 8, or that of what failed.

    What failed stands on standard output, too, which is what people keep.
    """
    if as_json and failed:
        told = {"wrong": [line for one in failed for line in (*one.details, str(one))]}
        print_json(told | _in_json(checked, asked))
    if asked or failed:
        console.print()
    for one in failed if not as_json else ():
        say(f"{'NOT DECIDED' if one.code == NOT_DECIDED else 'WRONG'}: {one}")
    for line in asked:
        say(f"ASK BEFORE YOU SIGN: {line}", err=as_json)
    if failed:
        raise failed[0]
    if asked:
        raise typer.Exit(NOT_DECIDED)


def _in_json(checked: Sequence[str], asked: list[str]) -> dict[str, list[str]]:
    """What was compared, line by line as it is printed without --json, and what to ask; no key where there is nothing to say."""
    return {name: lines for name, lines in (("checked", [*checked]), ("ask_before_you_sign", asked)) if lines}


def _beside(model: Path, given: Sequence[str | Path]) -> list[str]:
    """What to ask of a folder that holds more than its model and what was given with it: only a ledger's own look names each file."""
    if not model.is_dir():
        return []
    own = {os.path.realpath(path) for path in (artifact_file(model), *given)}
    others = [
        str(file.relative_to(artifact_file(model).parent))
        for file in files_of(artifact_file(model).parent)
        if os.path.realpath(file) not in own
    ]
    if not others:
        return []
    more = f" and {len(others) - _MOST_ODD:,} more" if len(others) > _MOST_ODD else ""
    return [
        f"what else lies in the folder of the model, and is not compared here: {', '.join(others[:_MOST_ODD])}{more}. `prepriv ledger verify LEDGER FOLDER` judges each file"
    ]


def _on_trust(page: Report) -> str:
    """What a page states that a ledger alone can verify: an edited model states it, too."""
    domain, receipt = page.plan.domain, page.receipt
    said = (
        []
        if receipt is None
        else [
            "the name and the cap of the data set",
            "what was charged in all",
            "that the weights are those that were released",
        ]
    )
    said += [] if domain.declared_by is None else ["who declared the bounds"]
    said += ["what was drafted" if domain.drafts else "that nothing was drafted from the data"]
    shows = "no ledger was charged that could show it" if receipt is None else "`--ledger` checks it"
    *more, last = said
    return f"not verified without a ledger: {', '.join(more)}{' and ' if more else ''}{last}; {shows}"


def _say_pages_beside(model: Path, released: Model, verified: Path | None = None) -> None:
    """Where the run wrote a page: a model alone holds no score."""
    for line in pages_in_words(model, released, verified):
        console.print(line, soft_wrap=True)


def _sha256(file: Path) -> str:
    return hashlib.sha256(file.read_bytes()).hexdigest()


def report(
    model: Annotated[Path, typer.Argument(help="The released model: its folder or file.")],
    html: Annotated[
        Path | None,
        typer.Option(
            help="Write the model's report here, as .html. With --verify it has what was measured, too."
        ),
    ] = None,
    as_json: AsJson = False,
    verify: Annotated[
        Path | None,
        typer.Option(
            help="Check that this saved report (.html or .json) is exactly the report of this model."
        ),
    ] = None,
    record: Annotated[
        Path | None,
        typer.Option(help="Write a record for the public registry of deployments here, as .yaml."),
    ] = None,
    ledger: Annotated[
        list[str] | None,
        typer.Option(
            help="Check that this ledger (a file or postgresql://...) paid for the model. Charges nothing. Repeat the option "
            "for other ledgers of the same people: a draft may stand in one of them."
        ),
    ] = None,
    weights: Annotated[
        bool,
        typer.Option(
            "--weights", help="Print the weight of each column, with its noise and how to read it, too."
        ),
    ] = False,
) -> None:
    """Print what a released model promises, read from its artifact."""
    try:
        released = Model.load(model)
    except ValueError as why:
        if said := no_model(model):
            raise Stop(said) from None
        if verify is not None or ledger:
            _ask_before([], as_json=as_json, failed=[Stop(str(why))])
        raise
    anew, failed = None, list[Stop]()
    unsure = [
        f"{name}: {why}" for one in ledger or () for name, why in beside_a_ledger(one).items()
    ]  # a look deletes some
    write_record = record is not None and _check_record(record, artifact_file(model))
    with console.keeping() as checked:
        if verify is not None:
            anew, more, other = _verified(verify, model, released, ledger)
            unsure += more
            failed += [] if other is None else [other]
        if failed and not ledger:
            _say_not_written(html, record)
            _ask_before([], as_json=as_json, failed=failed, checked=checked)
        plan = released.declared
        alone = Report.of(plan, private=released.private, receipt=released.receipt, model=released)
        shown = anew or alone  # the page that was verified has what was measured, too
        standing = asked_of_claim(shown)
        asked = of_ledger = standing
        further, many = list[str](), False
        if ledger:
            try:
                of_ledger, further, many, unpaid = _check_charge(ledger, released, artifact_file(model), anew)
            except Stop as why:  # of a ledger that is not sound, or not there
                _say_not_written(html, record)
                _ask_before([], as_json=as_json, failed=[why, *failed], checked=checked)
                raise
            failed += [] if unpaid is None else [unpaid]
            asked = [*of_ledger, *further]
        if ledger or verify is not None:
            asked = [*asked, *_beside(model, [*(ledger or ()), *([] if verify is None else [verify])])]
        asked = [*unsure, *asked]
        if failed:
            _say_not_written(html, record)
            _ask_before(asked, as_json=as_json, failed=failed, checked=checked)
    if record is not None and write_record:
        _write_record(record, shown, [one for one in of_ledger if one not in standing], further, many)
    elif record is not None:
        console.print(
            f"record: {record} is there already, of this model, and may hold answers of yours: it was left as it is",
            soft_wrap=True,
        )
    if html is not None:
        if html.suffix != ".html":
            raise Stop(f"--html must end in .html; got {html.suffix or 'no ending'}")
        if html.exists():
            raise Stop(f"{html} is there already, and may hold what was measured: choose another --html")
        shown.save(writable_file(html))
    in_lines, of_columns = _weights(released) if weights else ([], [])
    if as_json:
        told = {"weights": of_columns, "weights_in_words": in_lines} if weights else {}
        print_json(shown.to_json() | _in_json(checked, asked) | told)
    print_summary(shown)
    if anew is None:
        _say_pages_beside(model, released)
    console.print()
    print_guarantee(plan, released.private, shown.guarantee)
    if released.private:
        print_proofs(proofs_of(plan))
    if weights:
        console.print("weights", *in_lines, "", sep="\n", soft_wrap=True, markup=False, highlight=False)
    if released.receipt is not None:
        receipt = f"{released.receipt['sequence']}:{released.receipt['head']}"
        console.print(f"ledger receipt: {receipt}", soft_wrap=True)
    console.print(f"file: {artifact_file(model)}" + (f", page: {html}" if html is not None else ""))
    _ask_before(asked, as_json=as_json)


def _weights(model: Model) -> tuple[list[str], list[dict[str, Any]]]:
    """(those of each column in lines, or why there are none; the same as data)."""
    try:
        found = model.coefficients_
    except AttributeError as why:
        return [str(why)], []
    return found.in_lines(), found.to_json()


def _verified(
    verify: Path, model: Path, released: Model, ledger: list[str] | None
) -> tuple[Report | None, list[str], Stop | None]:
    """Say whether a page is its model's, and what of it follows from no model. Gives the rebuilt page, what has to be asked of it, and how the command ends
    where it differs."""
    try:
        other = of_another_model(verify, data_in(verify), released, artifact_file(model))
        if other is not None:
            _say_pages_beside(model, released, verify)
            return None, [], other
        wrong, unchecked, digits, anew = differences(verify, released)
    except Stop as why:
        if why.code != FOUND:
            raise
        return None, [], why
    else:
        if anew.artifact is not None and anew.artifact["sha256"] != _sha256(artifact_file(model)):
            wrong.append("the model's file has other bytes than this version writes for this model")
        for line in wrong:
            console.print(f"differs: {line}", soft_wrap=True)
        if wrong:
            page = (
                None if of_another_version(wrong[0]) else anew
            )  # whose words and numbers this one cannot tell
            said = f"{verify} is not the report that this version gives for this model"
            return page, [], Stop(said, FOUND, [f"differs: {line}" for line in wrong])
        but = ", but for the last digits of numbers in its data: see below" if digits else ""
        console.print(f"verified: {verify} is exactly the report that this model gives{but}", soft_wrap=True)
        if not ledger:
            console.print(_on_trust(anew), soft_wrap=True)
        booked = _booked(ledger, released, anew)
        for line in booked:
            console.print(f"as the ledger has them since the release, by their hash: {line}", soft_wrap=True)
        for line in (one for one in unchecked if one not in booked):
            console.print(f"not verified, stated by the report alone: {line}", soft_wrap=True)
        if anew.measured is None and anew.evaluation is None and not ledger:
            console.print(
                "no score stands on this page: only a ledger shows whether one was paid for and left out (`--ledger`)",
                soft_wrap=True,
            )
        console.print(both_accounts(anew), soft_wrap=True)
        return anew, [f"what {verify} holds: {digits_in_words(digits)}. {PASS_ON}"] if digits else [], None
