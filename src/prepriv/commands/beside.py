"""Pages beside a model: which are its own, and which name another model. docs/learn/auditing.md."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from prepriv.commands.exits import FOUND, Stop
from prepriv.commands.receipts import hash_as_lf, is_measurement, receipt_in, sha256_of
from prepriv.commands.scores import DIGITS, model_of, not_covered
from prepriv.evaluation.evaluation_plan import model_hash
from prepriv.ledger import Entry, Header
from prepriv.release.model import Model, artifact_file

_PAGES = (".html", ".htm", ".json")
_MOST = 20  # files that are looked at
_LARGEST = 20_000_000  # bytes of one


def of_another_model(page: Path, data: Mapping[str, object], model: Model, file: Path) -> Stop | None:
    """How a command ends where a page names a model file that is not this one, and another run or none: what else differs would be compared with
    numbers of the wrong model. None of a page of this model, edited or not.

    data: what the page holds. file: that of the model.
    """
    named, here = named_model(data), file_hashes(model, file)
    theirs, ours = _run(data), (model.receipt or {}).get("plan_uid")
    if not named or named in here or (theirs is not None and theirs == ours):
        return None
    # without two charges an edited model looks like another one
    perhaps = "" if theirs is not None and ours is not None else ", or the file of this one was changed"
    return Stop(
        f"{page} is the page of another model{perhaps}: it names a model file whose SHA-256 begins with {named[:DIGITS]}, "
        f"and that of {file} begins with {here[-1][:DIGITS]}. Nothing else was compared",
        FOUND,
    )


def _run(data: Mapping[str, object]) -> str | None:
    """The run that a page states, by its charge; None where it states none."""
    receipt = data.get("ledger")
    uid = receipt.get("plan_uid") if isinstance(receipt, Mapping) else None
    return uid if isinstance(uid, str) else None


def named_model(data: object) -> str:
    """The SHA-256 of the model's file that a page states; "" of anything else."""
    said = data.get("artifact") if isinstance(data, Mapping) else None
    digest = said.get("sha256") if isinstance(said, Mapping) else None
    return digest if isinstance(digest, str) else ""


def file_hashes(model: Model, file: Path) -> tuple[str, str]:
    """The SHA-256 of what a model's file holds as this version writes it, and that of its bytes: line endings can differ."""
    return model_hash(model), sha256_of(file)


def models_beside(file: Path, given: Collection[Path]) -> list[Path]:
    """The files of models that lie beside a file that was given out: in its folder, in the folder `model` there, or in the run that bears its name.

    given: models at hand, whatever the names of their files.
    """
    folder = file.parent
    near = {os.path.realpath(one) for one in (folder, folder / "model")}
    run = folder / file.stem
    found = [one for one in given if os.path.realpath(one.parent) in near]
    found += [
        one for one in map(artifact_file, (folder, run) if run.is_dir() else (folder,)) if one.is_file()
    ]
    first = {os.path.realpath(one): one for one in reversed(found)}
    return [one for one in reversed(first.values()) if os.path.realpath(one) != os.path.realpath(file)]


def hashes_of(file: Path) -> set[str]:
    """The SHA-256 of a file's bytes, and that with the line endings that prepriv writes."""
    with suppress(OSError):
        content = file.read_bytes()
        return {hashlib.sha256(content).hexdigest(), hash_as_lf(content)}
    return set()


def pages_beside(model: Path, released: Model) -> tuple[list[Path], list[Path]]:
    """In the folder of a run: pages that name this model, .html first, and pages that name another one."""
    file = artifact_file(model)
    here = file_hashes(released, file)
    named = {one: _named_in(one) for one in _files_of_run(file)}
    found = [one for one, digest in named.items() if digest in here]
    return found, [one for one, digest in named.items() if digest and digest not in here]


def _files_of_run(file: Path) -> list[Path]:
    try:
        beside = [one for one in sorted(file.parent.parent.iterdir()) if one.suffix.lower() in _PAGES]
    except OSError:
        return []
    return [one for one in beside[:_MOST] if one.is_file()]


def _named_in(file: Path) -> str:
    try:
        if file.stat().st_size > _LARGEST:
            return ""
        from prepriv.release.page import data_of  # pages need templates

        return named_model(data_of(file.read_text(encoding="utf-8")))
    except (OSError, ValueError, RecursionError):
        return ""


def pages_in_words(model: Path, released: Model, verified: Path | None = None) -> list[str]:
    """Which pages stand beside a model, and whose they are, one line each. verified: one that was named already."""
    own, others = pages_beside(model, released)
    left = [one for one in own if verified is None or not _same(one, verified)]
    lines = [f"{one} stands beside this model and names it as its own" for one in left]
    if lines and verified is None:
        lines[0] = f"{left[0]} stands beside this model"
    if lines:
        lines[0] += f". `prepriv report {model} --verify {left[0]}` checks it and prints what it measured"
    return lines + [
        f"{one} stands beside this model, and is not its page: it names another model"
        for one in others
        if verified is None or not _same(one, verified)
    ]


def scores_beside(file: Path, model: Model, header: Header, rows: Sequence[Entry]) -> dict[Path, str]:
    """In the folder of a run: files that are, byte for byte, scores of its model which a ledger released, each in words.

    file: that of the model.
    """
    digits = model_hash(model)[:DIGITS]
    paid = {one.plan_uid: one.sequence for one in rows if model_of(one) == digits}
    return {
        one: f"{one} stands beside this model, and is its score that row {paid[uid]} paid for. {not_covered(model, header, rows)}"
        for one, uid in _released(file, rows).items()
        if uid in paid
    }


def scores_named_beside(file: Path, model: Model, ledgers: Sequence[Sequence[Entry]]) -> dict[str, list[str]]:
    """In the folder of a run: files that name the charge of a score of its model, and that no ledger given released, by the run.

    file: that of the model.
    """
    digits, found = model_hash(model)[:DIGITS], dict[str, list[str]]()
    made = {one.artifact for rows in ledgers for one in rows if one.kind == "released"}
    paid = {
        (one.sequence, one.head, one.plan_uid) for rows in ledgers for one in rows if model_of(one) == digits
    }
    for one in _files_of_run(file) if paid else ():
        with suppress(OSError):
            if one.stat().st_size > _LARGEST:
                continue
            told = receipt_in(one)
            if told in paid and told is not None and sha256_of(one) not in made:
                found.setdefault(told[2], []).append(str(one))
    return found


def scores_not_charged(
    file: Path, model: Model, ledgers: Sequence[Sequence[Entry]], asked: Collection[str] = ()
) -> list[str]:
    """What to ask of scores of a model in the folder of its run that no ledger given released, one line each: a copy may be old.

    file: that of the model. asked: files of which something is asked already.
    """
    made = {one.artifact for rows in ledgers for one in rows if one.kind == "released"}
    digest, found = model_hash(model), list[str]()
    for one in _files_of_run(file):
        with suppress(OSError):
            if (
                str(one) not in asked
                and is_measurement(one)
                and one.stat().st_size <= _LARGEST
                and sha256_of(one) not in made
                and digest in one.read_text(encoding="utf-8", errors="replace")
            ):
                found.append(
                    f"where the charge of {one} is: it is a score of this model, and no ledger given holds it, so their copies may be old, or the file was changed. "
                    "Ask the curator for the current ledger"
                )
    return found


def released_beside(file: Path, rows: Sequence[Entry]) -> set[str]:
    """The runs of which a file lies in the folder of a run, byte for byte as a ledger released it. file: that of the model."""
    return {*_released(file, rows).values()}


def _released(file: Path, rows: Sequence[Entry]) -> dict[Path, str]:
    """In the folder of a run: files that a ledger released, and the run of each."""
    made = {one.artifact: one.plan_uid for one in rows if one.kind == "released"}
    found = dict[Path, str]()
    for one in _files_of_run(file) if made else ():
        with suppress(OSError):
            if one.stat().st_size <= _LARGEST and (uid := made.get(sha256_of(one))):
                found[one] = uid
    return found


def _same(a: Path, b: Path) -> bool:
    return a.resolve() == b.resolve()
