"""Every sentence and every line of a table that a command prints about data, each with the check that it is true.

A sentence that is not here fails its test: a new one is entered with its check, or among `ABOUT_NO_ROW`, where it says nothing about rows.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from known_rows import Known, numbers

from prepriv.evaluation.evaluation_plan import LOSS_BOUND

_NUMBER = r"-?(?:\d[\d,]*)?\.?\d+(?:e[+-]?\d+)?"
_PARTS = {
    "share": rf"(?:(?P<v>{_NUMBER})(?: \((?P<low>{_NUMBER}) to (?P<high>{_NUMBER})\))?|at most (?P<most>{_NUMBER})|at least (?P<least>{_NUMBER}))",
    "other": rf"(?P<v2>{_NUMBER}) \((?P<low2>{_NUMBER}) to (?P<high2>{_NUMBER})\)",
    "n": r"(?P<n>[\d,.]+)",
    "m": r"(?P<m>[\d,.]+)",
    "class": r'"(?P<class>[^"]*)"',
    "group": r'"(?P<group>[^"]*)" \(`g`\)',
    "names": r'(?P<names>"[^"]*"(?:, "[^"]*")*)',
    "number": _NUMBER,
    "any": r".*",
    "v": rf"(?P<v>{_NUMBER})",
    "ends": rf"(?P<v>{_NUMBER}) \[(?P<low>{_NUMBER}), (?P<high>{_NUMBER})\]",
    "same": r'"(?P<same>[^"]*)"',
    "figure": "(?P<figure>[^:]+)",
    "low": rf"(?P<low>{_NUMBER})",
    "high": rf"(?P<high>{_NUMBER})",
    "asked": "(?P<asked>[a-z_0-9, ]+)",
    "declared": "(?P<declared>declared )?",
    "kind": "(?P<kind>empty cells|cells that are not as declared|numbers outside their declared bounds are read as the nearest bound)",
    "cells": r"(?P<cells>.*)",
    "all": "(?: of all records)?",
    "key": r"(?P<key>\w+)",
    "rest": r"(?P<rest>.*)",
}
Check = Callable[[Known, dict[str, Any]], bool]
CHECKS: list[tuple[re.Pattern[str], Check]] = []


def says(*texts: str) -> Callable[[Check], Check]:
    """Enter the check of these sentences, in which [[share]], [[class]] and so on stand for their parts."""

    def enter(check: Check) -> Check:
        for text in texts:
            parts = re.split(r"\[\[(\w+)\]\]", text)
            made = "".join(_PARTS[p] if k % 2 else re.escape(p) for k, p in enumerate(parts))
            CHECKS.append((re.compile(made), check))
        return check

    return enter


def check_sentence(sentence: str, known: Known) -> None:
    """Find the check of a sentence and make it. AssertionError where it is false, or nothing knows it."""
    for pattern, check in CHECKS:
        if found := pattern.fullmatch(sentence):
            assert check(known, _with_ends(found.groupdict())), f"{known.case.name}: false: {sentence}"
            return
    raise AssertionError(f"{known.case.name}: no check knows this sentence: {sentence}")


def _with_ends(said: dict[str, Any]) -> dict[str, Any]:
    """A share that is told by one end of its interval, as the others are."""
    if said.get("most") is not None:
        return said | {"v": "0", "low": "0", "high": said["most"]}
    return said | {"v": "100", "low": said["least"], "high": "100"} if said.get("least") is not None else said


def check_lines(lines: list[str], known: Known) -> None:
    """Each line that is neither of a table nor its title."""
    for line, after in zip(lines, [*lines[1:], ""]):
        if line.strip() and not re.search("[┃│╇]", line) and "┃" not in after:
            check_sentence(line.strip(), known)


def unit_of(text: str) -> float:
    """Of its last digit."""
    digits, _, power = text.replace(",", "").partition("e")
    return 10.0 ** (int(power or 0) - len(digits.partition(".")[2]))


def read(text: str) -> float:
    """The number that is written."""
    return float(text.replace(",", ""))


def agrees(exact: float | None, value: str, low: str | None, high: str | None, noise: float = 0.0) -> bool:
    """Whether a number is the exact one, up to its last digit and six deviations of noise, and its interval holds that."""
    if exact is None:  # no row at all: what is left is noise, and the interval says so
        return low is not None and high is not None and read(high) - read(low) > 0
    near = abs(read(value) - exact) <= 0.5001 * unit_of(value) + 6 * noise + 1e-9
    ends = (
        low is None or high is None or read(low) - 6 * noise - 1e-9 <= exact <= read(high) + 6 * noise + 1e-9
    )
    return near and ends


def figure_agrees(
    known: Known, said: dict[str, Any], name: str, group: str | None = None, times: float = 100
) -> bool:
    """The same of a figure in a sentence."""
    exact = known.figure(name, group)
    noise = known.seen["noise"].get((group, name), 0.0) * times
    known.seen[name, group] = said
    return agrees(None if exact is None else times * exact, said["v"], said["low"], said["high"], noise)


def _listed(names: str) -> list[str]:
    return re.findall(r'"([^"]*)"', names)


def _where(known: Known, said: dict[str, Any]) -> bool:
    """The rows that a score is about, and how many have a label."""
    have, n = int(known.labelled().sum()), len(known.table)
    if read(said["n"]) != known.declared or (said["declared"] is None) != (known.declared == n):
        return False
    if (
        said.get("m") is None
        and said["declared"]
        and {*known.seen["measures"]} <= {"scores", "confusion", "residuals"}
    ):
        return True  # nothing that was released tells rows without a label from rows that are not there
    return (
        have > 0.99 * n or n - have <= known.seen.get("few", 0) / 4  # noise hides that some have none
        if said.get("m") is None
        else abs(read(said["m"]) - have) <= 1 + known.seen.get("few", 0) / 4 and have < n
    )


_ROWS = [
    f"[[n]] [[declared]]records{aside}{of}, with noise that protects them"
    for aside in ("", " that were set aside")
    for of in ("", ", of which about [[m]] have a declared class as their label", ", of which about [[m]] have a declared number as their label")
]  # fmt: skip


# ------------------------------------------------------------------------------------------ classes


@says(*(f"Of 100 predictions [[share]] are right, measured on {rows}." for rows in _ROWS))
def _right(known: Known, said: dict[str, Any]) -> bool:
    return _where(known, said) and figure_agrees(known, said, "accuracy")


@says("Always predicting [[class]], the commonest class, would be right [[share]] times in 100.")
def _commonest(known: Known, said: dict[str, Any]) -> bool:
    return said["class"] in known.commonest and _commonest_by_noise(known, said)


@says("Always predicting [[class]], perhaps the commonest class, would be right [[share]] times in 100.")
def _commonest_by_noise(known: Known, said: dict[str, Any]) -> bool:
    known.seen["commonest"] = said
    of = (known.table.y == said["class"]).sum() / known.labelled().sum()
    noise = max(0.1, 100 * known.seen["noise"].get((None, "accuracy"), 0.0))
    return agrees(100 * of, said["v"], said["low"], said["high"], noise)


def _too_few(known: Known, figure: str, group: str | None = None) -> bool:
    """Whether there is nothing to say: no row has it, or hardly more rows than the noise allows."""
    own = known.group(group) & known.labelled()
    if figure.startswith("recall of "):
        own &= (known.table.y == figure.removeprefix("recall of ")).to_numpy()
    return known.figure(figure, group) is None or own.sum() < known.seen.get("few", 0)


def _beaten(known: Known) -> tuple[bool, bool]:
    """Whether it is shown to be right less often, or more often, than the commonest class: by what was printed."""
    if not {("accuracy", None), "commonest"} <= {*known.seen}:
        return False, False  # it is not known
    if "lead" in known.seen:  # its own interval was printed
        return known.seen["lead"] < 0, known.seen["lead"] > 0
    one, other = known.seen["accuracy", None], known.seen["commonest"]
    return read(one["high"]) < read(other["low"]), read(one["low"]) > read(other["high"])


def _lead(known: Known, said: dict[str, Any]) -> float:
    """How much more often it is right than this class is, in 100 records; nan where what is printed says another number."""
    most = (known.table.y == said["class"]).sum() / known.labelled().sum()
    lead = 100 * ((known.figure("accuracy") or 0.0) - most)
    if "m" not in said:
        return lead
    known.seen["lead"] = lead
    off = 6 * max(0.1, 100 * known.seen["noise"].get((None, "accuracy"), 0.0))
    return lead if read(said.get("n", "0")) - off <= abs(lead) <= read(said["m"]) + off else math.nan


@says(
    "So the model is right more often than always answering [[class]].",
    "So the model is right more often than always answering [[class]], by [[n]] to [[m]] in 100.",
    "So the model is right more often than always answering [[class]], by up to [[m]] in 100.",
)
def _above(known: Known, said: dict[str, Any]) -> bool:
    return said["class"] in known.commonest and _lead(known, said) > 0 and _beaten(known)[1]


@says(
    "So the model is right less often than always answering [[class]].",
    "So the model is right less often than always answering [[class]], by [[n]] to [[m]] in 100.",
    "So the model is right less often than always answering [[class]], by up to [[m]] in 100.",
    "It is right less often than always predicting [[class]]: do not use it for decisions.",
    "In accuracy it is right less often than always predicting [[class]]: do not use its predictions for decisions. Its probabilities are better than the share of each class.",
)
def _below(known: Known, said: dict[str, Any]) -> bool:
    return said["class"] in known.commonest and _lead(known, said) < 0 and _beaten(known)[0]


@says(
    "As far as this measurement can tell, the model does not beat always answering [[class]] in accuracy.",
    "It is not known to be better than always predicting [[class]]: do not use it for decisions.",
    "It is not known to be better than always predicting the commonest class: do not use it for decisions.",
    "In accuracy it is not known to be better than always predicting [[class]]: do not use its predictions for decisions. Its probabilities are better than the share of each class.",
    "In accuracy it is not known to be better than always predicting the commonest class: do not use its predictions for decisions. Its probabilities are better than the share of each class.",
    "In accuracy it is not known to be better than always predicting [[class]]. It does tell the classes apart (balanced accuracy [[share]]): weigh the classes or use the probabilities.",
    "In accuracy it is not known to be better than always predicting [[class]]. It does tell the classes apart (balanced accuracy [[share]]): weigh the classes or use the order of the probabilities.",
    "In accuracy it is not known to be better than always predicting [[class]]. Its probabilities do tell the classes apart (AUC [[number]], [[number]] to [[number]]): weigh the classes or use the probabilities.",
    "In accuracy it is not known to be better than always predicting [[class]]. Its probabilities do tell the classes apart (AUC [[number]], [[number]] to [[number]]): weigh the classes or use the order of the probabilities.",
    "In accuracy it is not known to be better than always predicting [[class]]. It does tell the classes apart (balanced accuracy [[number]], [[number]] to [[number]]): weigh the classes or use the probabilities.",
    "In accuracy it is not known to be better than always predicting [[class]]. It does tell the classes apart (balanced accuracy [[number]], [[number]] to [[number]]): weigh the classes or use the order of the probabilities.",
)
def _not_above(known: Known, said: dict[str, Any]) -> bool:
    if "class" not in said:
        return "commonest" not in known.seen  # it was not measured
    return said["class"] in known.commonest and _beaten(known) != (False, True)


@says(
    *(
        f"Do not take its probabilities as they are: that of {which} is [[low]] to [[high]] points too {side} on average."
        for which in ("[[class]]", "the predicted class")
        for side in ("low", "high")
    )
)
def _probabilities_off(known: Known, said: dict[str, Any]) -> bool:
    gap, noise = known.figure("calibration gap"), known.seen["noise"].get((None, "calibration gap"), 0.0)
    return (
        gap is not None
        and read(said["low"]) - 600 * noise - 0.1 <= 100 * abs(gap) <= read(said["high"]) + 600 * noise + 0.1
    )


@says(
    *(
        f"Its probabilities are {known} the share of each class, answered for every row: log loss [[share]] beside [[other]], with large losses cut."
        for known in ("better than", "worse than", "not shown to be better or worse than")
    )
)
def _beside_shares(known: Known, said: dict[str, Any]) -> bool:
    y = known.table.y[known.labelled()]
    shares = np.array([max((y == c).mean(), 1e-9) for c in known.case.classes])
    exact = float(shares @ np.minimum(-np.log(shares), LOSS_BOUND))
    noise = known.seen["noise"].get((None, "log loss"), 0.0)
    ends = said["v2"], said["low2"], said["high2"]
    return figure_agrees(known, said, "log loss", times=1) and agrees(exact, *ends, noise)


@says(
    "Where each class counts alike, it is right [[share]] times in 100 (balanced accuracy). Always answering [[class]] is right [[n]] times in 100 by that measure."
)
def _balanced(known: Known, said: dict[str, Any]) -> bool:
    alike = 100 / len(known.case.classes)
    return (
        figure_agrees(known, said, "balanced accuracy")
        and agrees(alike, said["n"], None, None)
        and said["class"] in known.commonest
    )


@says(
    'AUC was refused beside the noise of [[number]] measures. `--measure scores` (`measures=["scores"]` in Python) alone has less noise, and about [[n]] measured records of [[class]] would then be enough for AUC in most runs. [[any]]'
)
def _scores_alone(known: Known, said: dict[str, Any]) -> bool:
    have = int((known.table.y == said["class"]).sum())
    return "confusion" in known.seen["measures"] and abs(read(said["n"]) - have) <= 1 + known.seen.get(
        "few", 0
    )


@says(
    "Thresholds: no table. The scores were measured, and there is no threshold at which recall and precision of the rarer class both stand out of the noise"
)
def _no_thresholds(known: Known, said: dict[str, Any]) -> bool:
    return "scores" in known.seen["measures"] and len(known.case.classes) == 2


@says(
    "What training released does not stand out of its noise by itself. The measurement shows that it tells the classes apart.",
    "What training released does not stand out of its noise by itself. The measurement shows that its probabilities tell the classes apart.",
)
def _tells_apart(known: Known, said: dict[str, Any]) -> bool:
    """Shown at nearly no noise: the figures of the rows themselves lie above chance."""
    return (
        max(known.figure("balanced accuracy") - 1 / len(known.case.classes), known.figure("AUC") - 0.5) > 0.01
    )


@says(
    "What was released does not show that the model is more than noise, nor does what was measured[[all]]. The rows may say too little at this ε.",
    "What was released does not show that the model is more than noise, nor does what was measured[[all]]. The rows may say too little at this ε, or no label is a declared class ([[names]]). `prepriv.validate(domain, X, y)` (`prepriv validate DATA --schema S.yaml`) says which, to the curator alone.",
)
def _no_more_than_noise(known: Known, said: dict[str, Any]) -> bool:
    """Nothing shows that it tells the classes apart; and labels are suspected only where none is shown to be declared."""
    right = (known.said == known.table.y)[known.labelled()].sum()
    few, found = known.seen.get("few", 0), known.figure("balanced accuracy")
    guessed = few or (found is not None and found < 1 / len(known.case.classes) + 0.1)
    return guessed and not _beaten(known)[1] and ("names" not in said or right <= few)


@says(
    "So its predictions are not shown to tell the classes apart better than guessing.",
    "So its predictions are not shown to tell the classes apart better than guessing, though its probabilities do (AUC [[number]], [[number]] to [[number]]).",
)
def _guessing(known: Known, said: dict[str, Any]) -> bool:
    return read(known.seen["balanced accuracy", None]["low"]) <= 100 / len(known.case.classes)


@says("Of 100 alarms (predictions of [[class]]), [[share]] are right.")
def _alarms(known: Known, said: dict[str, Any]) -> bool:
    return figure_agrees(known, said, f"precision of {said['class']}")


@says("Too few alarms (predictions of [[names]]) beside the noise to say how many are right.")
def _no_alarms(known: Known, said: dict[str, Any]) -> bool:
    return all(known.figure(f"precision of {name}") is None for name in _listed(said["names"]))


@says("Of 100 records that are truly [[class]], it recognises [[share]].")
def _recall(known: Known, said: dict[str, Any]) -> bool:
    return figure_agrees(known, said, f"recall of {said['class']}")


@says(
    "Do not rely on the model to find [[class]]: of 100 records that are truly [[same]] it recognises [[share]]."
)
def _rarely_found(known: Known, said: dict[str, Any]) -> bool:
    of_class = figure_agrees(known, said, f"recall of {said['class']}")
    return of_class and said["class"] == said["same"] and read(said["high"]) < 50


@says("Of 100 records of [[group]] that are truly [[class]], it recognises [[share]].")
def _recall_of_group(known: Known, said: dict[str, Any]) -> bool:
    return figure_agrees(known, said, f"recall of {said['class']}", said["group"])


@says("Too few records of [[names]] (`g`) beside the noise to say how often it recognises [[class]] there.")
def _unknown_there(known: Known, said: dict[str, Any]) -> bool:
    return all(_too_few(known, f"recall of {said['class']}", group) for group in _listed(said["names"]))


@says("Of 100 predictions for records of [[group]], [[share]] are right.")
def _right_in_group(known: Known, said: dict[str, Any]) -> bool:
    return figure_agrees(known, said, "accuracy", said["group"])


@says(
    *(
        f"How {what} was not measured: {how} does.{besides}"
        for what in (
            "often it is right",
            "well it recognises each class",
        )
        for how in ('`--measure confusion` (`measures=["confusion"]` in Python)',)
        for besides in ("", *(f" What was measured on {rows}: [[asked]]." for rows in _ROWS))
    ),
    "How far predictions for each group are off was not measured.",
    *(
        f"How far predictions are off was not measured.{besides}"
        for besides in ("", *(f" What was measured on {rows}: [[asked]]." for rows in _ROWS))
    ),
    "[[asked]]: nothing else was measured, and this does not say [[any]]. Measure that before anyone relies on it: [[any]]",
    'It is not known how often the commonest class alone would be right: it was not measured; `--measure confusion` (`measures=["confusion"]` in Python) does.',
    'The commonest class alone was not measured beside it: `--measure confusion` (`[[any]]measures=["confusion"]` in Python) does, [[any]].',
    'Whether they are nearer than always predicting the mean is not known: that was not measured, `--measure r2` (`[[any]]measures=["r2"]` in Python) does.',
    "Compare it with always predicting the mean before anyone relies on it: `--measure r2` [[any]]",
)
def _not_measured(known: Known, said: dict[str, Any]) -> bool:
    """What was asked for instead, and on how many rows."""
    of_rows = said.get("n") is None or _where(known, said)
    return of_rows and (said.get("asked") is None or said["asked"].split(", ") == known.seen["measures"])


_SHARE_TOO = _PARTS["share"].replace("(?P<", "(?P<too_")
_PARTS |= {"too": _SHARE_TOO}


@says(
    "Of 100 predictions for records of [[group]], [[share]] are right. Always answering [[class]] would be right [[too]] times in 100 there."
)
def _no_more_than_the_commonest_there(known: Known, said: dict[str, Any]) -> bool:
    own = known.group(said["group"]) & known.labelled()
    exact = (known.table.y[own] == said["class"]).mean() if own.any() else None
    noise = 100 * known.seen["noise"].get((said["group"], "accuracy"), 0.0)
    too = _with_ends({k.removeprefix("too_"): v for k, v in said.items() if k.startswith("too_")})
    beside = agrees(
        None if exact is None else 100 * exact, too["v"], too["low"], too["high"], max(noise, 0.1)
    )
    return beside and _right_in_group(known, said) and read(said["low"]) <= read(too["high"])


@says(
    "Among records of these groups of `g` its predictions are not shown to tell the classes apart better than guessing, which has a balanced accuracy of [[n]] in 100: [[cells]]."
)
def _guessed(known: Known, said: dict[str, Any]) -> bool:
    each = [
        (found["name"], _with_ends(found.groupdict()))
        for found in re.finditer(rf'"(?P<name>[^"]*)" {_PARTS["share"]}', said["cells"])
    ]
    known.seen["guessed"] = [name for name, _ in each]
    chance = 100 / len(known.case.classes)
    return abs(read(said["n"]) - chance) < unit_of(said["n"]) and all(
        read(share["low"]) <= chance + unit_of(share["low"])
        and figure_agrees(known, share, "balanced accuracy", name)
        for name, share in each
    )


@says("Its probabilities do tell them apart in [[cells]].")
def _apart_in_groups(known: Known, said: dict[str, Any]) -> bool:
    named = re.findall(
        rf'"([^"]*)" \(AUC ({_NUMBER}), ({_NUMBER}) to ({_NUMBER})\)(?:, | and in \d+ more$|$)', said["cells"]
    )
    known.seen["apart in groups"] = [name for name, *_ in named]
    return bool(named) and all(
        read(low) > 0.5
        and name in known.seen["guessed"]
        and figure_agrees(known, {"v": value, "low": low, "high": high}, "AUC", name, times=1)
        for name, value, low, high in named
    )


@says(
    "For records of [[names]] (`g`) its predictions are not shown to do better than guessing. Its probabilities do tell the classes apart there: weigh the classes or use the probabilities.",
    "For records of [[names]] (`g`) its predictions are not shown to do better than guessing. Its probabilities do tell the classes apart there: weigh the classes or use the order of the probabilities.",
)
def _probabilities_in_groups(known: Known, said: dict[str, Any]) -> bool:
    return _listed(said["names"]) == known.seen["apart in groups"]


@says(
    "That is so in every group that could be measured. So what it knows of all records may be their `g` alone, or noise hides what it knows within groups."
)
def _guessed_everywhere(known: Known, said: dict[str, Any]) -> bool:
    return set(known.seen["guessed"]) == {
        g for g, name in known.seen["noise"] if name == "balanced accuracy" and g
    }


@says(
    *(
        f"{first} of `g` that could be measured is it shown to do better than guessing: do not use it for decisions before a measurement shows that it does."
        for first in (
            "In no group",
            "Among all records its probabilities tell the classes apart, but in no group",
            "Among all records it tells the classes apart, but in no group",
        )
    )
)
def _not_for_decisions(known: Known, said: dict[str, Any]) -> bool:
    measured = {
        g for (g, name), noise in known.seen["noise"].items() if name == "balanced accuracy" and g and noise
    }
    return set(known.seen["guessed"]) == measured  # noise of a figure that is refused is not there


@says(
    "Do not use it for records of [[names]] (`g`) before a measurement shows that it does better than guessing there."
)
def _not_for_them(known: Known, said: dict[str, Any]) -> bool:
    apart = known.seen.get("apart in groups", [])
    return _listed(said["names"]) == [name for name in known.seen["guessed"] if name not in apart]


@says(
    *(
        f"That [[names]] {verb} shown to do better can be chance: a difference between groups is shown only where its own line says so."
        for verb in ("is", "are")
    )
)
def _shown_to_do_better(known: Known, said: dict[str, Any]) -> bool:
    measured = {
        g for (g, name), noise in known.seen["noise"].items() if name == "balanced accuracy" and g and noise
    }
    return set(_listed(said["names"])) == measured - set(known.seen["guessed"])


@says(
    "Whether it does better than guessing for records of [[names]] (`g`) could not be measured: do not assume that it serves them, whatever else their lines say."
)
def _not_known_to_be_served(known: Known, said: dict[str, Any]) -> bool:
    return all(known.seen["noise"][g, "balanced accuracy"] == 0.0 for g in _listed(said["names"]))


@says("Too few records beside the noise to say how often it is right for [[names]] (`g`).")
def _unknown_group(known: Known, said: dict[str, Any]) -> bool:
    return all(_too_few(known, "accuracy", group) for group in _listed(said["names"]))


def _apart(known: Known, name: str, said: dict[str, Any]) -> bool:
    known.seen.setdefault("apart", set()).add((name, said["one"], said["two"]))

    def near(of: str, value: str) -> bool:
        exact, noise = known.figure(name, said[of]), known.seen["noise"].get((said[of], name), 0.0)
        return exact is not None and agrees(100 * exact, said[value], None, None, max(0.1, 100 * noise))

    return near("one", "n") and near("two", "m") and said["n"] != said["m"]


_PARTS |= {"one": r'"(?P<one>[^"]*)"', "two": r'"(?P<two>[^"]*)"'}
_END = "[[n]] in [[one]] and [[m]] in [[two]] (`g`): more apart than noise explains, if nothing else was compared."


@says(f"Of 100 records, it is right for {_END}")
def _right_apart(known: Known, said: dict[str, Any]) -> bool:
    names = {d["figure"] for d in known.seen["differences"] if d["figure"].startswith("accuracy")}
    return _apart(known, names.pop(), said)


@says(f"Of 100 records that are truly [[class]], it recognises {_END}")
def _recall_apart(known: Known, said: dict[str, Any]) -> bool:
    return _apart(known, f"recall of {said['class']}", said)


@says(f"Of 100 records, it answers [[class]] for {_END}")
def _answers_apart(known: Known, said: dict[str, Any]) -> bool:
    return _apart(known, f"share predicted {said['class']}", said)


def stand_out(known: Known) -> int:
    """How many differences exclude 0 in the measurement."""
    return sum(d["low"] > 0 or d["high"] < 0 for d in known.seen["differences"])


@says(
    *(
        f"[[n]] {more}of the [[m]] differences between groups of `g` {verb} out of the noise, where one in twenty may by chance{first}: [[rest]]."
        for more in ("more ", "")
        for verb, first in (("stand", ", the clearest first"), ("stands", ""))
    )
)
def _more_apart(known: Known, said: dict[str, Any]) -> bool:
    more, told = stand_out(known) - len(known.seen.get("apart", ())), said["rest"]
    apart = {
        (d["figure"], d["group"], d["less"]): d["value"]
        for d in known.seen["differences"]
        if d["low"] > 0 or d["high"] < 0
    }
    lines = told.split("; ")
    if more > 6:
        assert lines.pop() == f"and {more - 6} more"
    named = len(lines) == min(more, 6) and all(map(_is_apart(apart), lines))
    return named and read(said["n"]) == more and read(said["m"]) == len(known.seen["differences"])


_PLAIN_DIFFERENCES = {
    r'of 100 predictions of "(?P<c>[^"]*)" (?P<v>[\d.]+) are right': "precision of {c}",
    r'of 100 records (?P<v>[\d.]+) are predicted "(?P<c>[^"]*)"': "share predicted {c}",
    r"(?P<c>.*) is (?P<v>\S+)": "{c}",
}


def last_digit(number: str) -> float:
    """What one step of the last digit of a printed number is."""
    return 10.0 ** -len(number.partition(".")[2])


def _is_apart(apart: dict[tuple[str, str, str], float]) -> Callable[[str], bool]:
    """Whether a difference in plain words is one of these, with the right sign and size."""

    def holds(line: str) -> bool:
        for words, figure in _PLAIN_DIFFERENCES.items():
            found = re.fullmatch(rf'{words} in "(?P<one>[^"]*)" and (?P<w>\S+) in "(?P<two>[^"]*)"', line)
            if found:
                value = apart.get((figure.format(c=found["c"]), found["one"], found["two"]))
                times = 1 if figure == "{c}" else 100
                v, w = read(found["v"]), read(found["w"])
                near = 1.01 if times == 100 else last_digit(found["v"]) + last_digit(found["w"])
                return value is not None and abs(v - w - times * value) <= near
        return False

    return holds


@says("No difference between the groups of `g` stands out of the noise.")
def _none_apart(known: Known, said: dict[str, Any]) -> bool:
    return stand_out(known) == 0


@says("How it serves groups of other columns was not measured: [[rest]].")
def _not_grouped(known: Known, said: dict[str, Any]) -> bool:
    return "`g`" not in said["rest"]


@says('"other" are the records whose `g` is a value that the schema does not declare.')
def _other(known: Known, said: dict[str, Any]) -> bool:
    return True


@says(
    "Do not rely on it for records of [[names]] (`g`): it misses most there that are truly [[class]].",
    "Do not rely on it for records of [[names]] (`g`): it misses most there that are truly [[class]]. The other groups may be served no better: a difference between groups is shown only where its own line says so.",
)
def _missed(known: Known, said: dict[str, Any]) -> bool:
    found = [known.figure(f"recall of {said['class']}", group) for group in _listed(said["names"])]
    return all(one is not None and one < 0.5 for one in found)


@says(
    "Do not rely on it for records of [[names]] (`g`) before it is known how often it recognises [[class]] there: there were too few such records beside the noise."
)
def _not_known_there(known: Known, said: dict[str, Any]) -> bool:
    return all(_too_few(known, f"recall of {said['class']}", group) for group in _listed(said["names"]))


@says(
    "As measured, fewer than two in three records of [[names]] are recognised: do not rely on the model for them."
)
def _weak_recall(known: Known, said: dict[str, Any]) -> bool:
    named = _listed(said["names"]) if said.get("names") else known.case.classes
    low = [(known.figure(f"recall of {c}") or 0.0) < 0.7 for c in named]  # up to noise
    return all(low) if said.get("names") else any(low)


@says(
    'If a rare class matters, weigh it: `--class-weight balanced` (`class_weight="balanced"` in Python) makes all classes count alike, for 1 % of the budget of a training; [[any]]'
)
def _weigh(known: Known, said: dict[str, Any]) -> bool:
    return _weak_recall(known, said) or _beaten(known) != (False, True)


@says(
    "It is right nearly always, which is rare. If a column is filled in only when the answer is known, or restates it, [[any]]"
)
def _too_good(known: Known, said: dict[str, Any]) -> bool:
    figures = [known.figure(name) or 0.0 for name in ("accuracy", "R2")]
    return max(figures) >= 0.98  # up to noise


# ------------------------------------------------------------------------------------------ numbers


def _error(known: Known, said: dict[str, Any], name: str) -> bool:
    bound = said.get("n")
    right = bound is None or abs(read(bound) - (known.error_bound or 0.0)) <= unit_of(bound)
    return right and figure_agrees(known, said, name, said.get("group"), 1)


_SHARE_OF = rf"(?P<v>{_NUMBER}) \((?P<low>{_NUMBER}) to (?P<high>{_NUMBER}); "
_PARTS |= {"off": _SHARE_OF, "bound": rf"[Ee]rrors above (?P<bound>{_NUMBER}) count as (?P<same>{_NUMBER})"}


def _cut(known: Known, said: dict[str, Any]) -> bool:
    width = known.case.ends[1] - known.case.ends[0]
    if said.get("bound") is None:
        return known.error_bound == width
    return said["bound"] == said["same"] and abs(read(said["bound"]) - (known.error_bound or 0.0)) <= unit_of(
        said["bound"]
    )


@says(
    *(
        f"Predictions are off by [[off]]root mean squared error{cut}), measured on {rows}."
        for rows in _ROWS
        for cut in (", where [[bound]]", "")
    )
)
def _off(known: Known, said: dict[str, Any]) -> bool:
    return (
        _where(known, said)
        and _cut(known, said)
        and figure_agrees(known, said, "root mean squared error", None, 1)
    )


@says(
    "On average predictions are off by [[off]]mean absolute error, cut alike). That of the mean was not measured.",
    "On average predictions are off by [[off]]mean absolute error, cut alike).",
    "On average predictions are off by [[off]]mean absolute error).",
    "On average predictions are off by [[off]]mean absolute error). That of the mean was not measured.",
    *(
        f"On average predictions are off by [[off]]mean absolute error, where [[bound]]), measured on {rows}."
        for rows in _ROWS
    ),
)
def _off_on_average(known: Known, said: dict[str, Any]) -> bool:
    of_rows = said.get("n") is None or (_where(known, said) and _cut(known, said))
    return of_rows and figure_agrees(known, said, "mean absolute error", None, 1)


@says(
    "Predictions are not shown to be too low or too high on average: targets less predictions have the mean [[share]].",
    "Cut errors do not show predictions to be too low or too high on average, where [[bound]]. Whole errors can: measure them with an error bound of [[number]] before predictions are added up.",
)
def _level(known: Known, said: dict[str, Any]) -> bool:
    found = [f for f in known.seen["figures"] if f["name"] == "mean residual"]
    return all(f["low"] <= 0 <= f["high"] for f in found)


@says(
    *(
        f"On average predictions are [[share]] {side} the targets{cut}"
        for side in ("below", "above")
        for cut in (
            ".",
            ", where [[bound]]. Errors beyond [[number]] were cut, which alone can cause this, so it does not say whether sums of predictions are too small or too large: "
            "whole errors tell (`--error-bound [[number]]`, `error_bound=[[number]]` in Python).",
        )
    ),
)
def _not_level(known: Known, said: dict[str, Any]) -> bool:
    exact, noise = known.figure("mean residual"), known.seen["noise"][None, "mean residual"]
    side = exact is not None and agrees(abs(exact), said["v"], said["low"], said["high"], noise)
    return side and (said.get("bound") is None or _cut(known, said))


@says("The mean target is [[share]].")
def _mean_target(known: Known, said: dict[str, Any]) -> bool:
    return agrees(_mean_of_targets(known), said["v"], said["low"], said["high"])


@says(
    "As far as this measurement can tell, the mean target lies at the declared bound [[v]], and a label beyond a bound counts as the nearer one. If most labels should not lie there, are they in the unit of the bounds, [[low]] to [[high]]? [[any]]"
)
def _at_bound(known: Known, said: dict[str, Any]) -> bool:
    low, high = (read(said[end]) for end in ("low", "high"))
    near = abs(_mean_of_targets(known) - read(said["v"])) <= 0.1 * (high - low)
    return (low, high) == known.case.ends and read(said["v"]) in (low, high) and near


def _mean_of_targets(known: Known) -> float:
    return float(np.nanmean(np.clip(numbers(known.table.y), *known.case.ends)))


@says(
    *(
        f"Sums of predictions are at most [[{part}]] % {side}{of}."
        for part, side in (("low", "too small"), ("high", "too large"), ("low", "too small and at most [[high]] % too large"))
        for of in ("", ": those of all records, not of each group of `g`")
    )
)  # fmt: skip
def _sums(known: Known, said: dict[str, Any]) -> bool:
    """Of whole errors alone, and the true sums are off by no more."""
    off, mean = known.figure("mean residual"), _mean_of_targets(known)
    assert off is not None and known.error_bound == known.case.ends[1] - known.case.ends[0]
    small, large = (None if said.get(part) is None else read(said[part]) for part in ("low", "high"))
    share = 100 * off / abs(mean)
    return (share <= small + 1e-6 if small is not None else share <= 0) and (
        -share <= large + 1e-6 if large is not None else share >= 0
    )


@says(
    "Predictions for records of [[group]] are on average [[low]] to [[high]] too low: do not add them up there.",
    "Predictions for records of [[group]] are on average [[low]] to [[high]] too high: do not add them up there.",
)
def _sums_of_group(known: Known, said: dict[str, Any]) -> bool:
    off = known.figure("mean residual", said["group"])
    whole = known.error_bound == known.case.ends[1] - known.case.ends[0]
    return off is not None and whole and read(said["low"]) <= abs(off) <= read(said["high"])


@says(
    "How much that is of a sum of predictions is not known: the mean target was not measured, `--measure r2` ([[any]] in Python) does.",
    "How much that is of a sum of predictions is not known: the mean target is not shown to differ from 0.",
)
def _sums_unknown(known: Known, said: dict[str, Any]) -> bool:
    return "r2" not in known.seen["measures"] or abs(_mean_of_targets(known)) < 0.1 * known.error_bound


@says(
    "Before predictions are added up, measure more closely how far they are off on average: as measured, anything between [[high]] too low and [[low]] too high is possible. [[rest]]",
    "Do not add its predictions up as they are: on average they are [[low]] to [[high]] too low. [[rest]]",
    "Do not add its predictions up as they are: on average they are [[low]] to [[high]] too high. [[rest]]",
)
def _sums_can_be_off(known: Known, said: dict[str, Any]) -> bool:
    (found,) = (f for f in known.seen["figures"] if f["name"] == "mean residual")
    low, high = found["low"], found["high"]
    ends = (abs(low), abs(high)) if low <= 0 <= high else sorted((abs(low), abs(high)))
    return known.error_bound == known.case.ends[1] - known.case.ends[0] and all(
        abs(read(said[part]) - end) <= unit_of(said[part]) for part, end in zip(("low", "high"), ends)
    )


@says(
    "Always predicting the mean would be off by [[off]]root mean squared error, too, with errors cut alike).",
    "Always predicting the mean would be off by [[off]]root mean squared error, too).",
)
def _off_by_mean(known: Known, said: dict[str, Any]) -> bool:
    e, r2 = known.figure("root mean squared error"), known.figure("R2")
    assert e is not None and r2 is not None
    known.seen["mean"] = read(said["v"])
    if said.get("low") and not read(said["low"]) <= read(said["v"]) <= read(said["high"]):
        return False
    return abs(read(said["v"]) / (e / (1 - r2) ** 0.5) - 1) < 0.02


@says(
    "The model is not shown to be better than the mean. R² [[share]] compares both, and its interval reaches 0.",
    "The model is not shown to be better than the mean: the error of the mean is uncertain, too. R² [[share]] compares both, and its interval reaches 0.",
)
def _not_better(known: Known, said: dict[str, Any]) -> bool:
    return figure_agrees(known, said, "R2", None, 1) and read(said["low"]) <= 0 <= read(said["high"])


@says(
    "So predictions are nearer than always predicting the mean: R² [[share]] compares both, and its interval lies above 0."
)
def _nearer(known: Known, said: dict[str, Any]) -> bool:
    return figure_agrees(known, said, "R2", None, 1) and read(said["low"]) >= 0


@says("The model is worse than always predicting the mean: R² [[share]] is below 0.")
def _worse(known: Known, said: dict[str, Any]) -> bool:
    return figure_agrees(known, said, "R2", None, 1) and read(said["high"]) < 0


@says(
    "By errors cut at [[any]], predictions are nearer than always predicting the mean[[any]]",
    "Cut errors do not show here that the model is better than one number for every record. Measure it with a larger error bound, such as [[any]]",
)
def _beats_cut(known: Known, said: dict[str, Any]) -> bool:
    return known.seen["mean"] > (known.error_bound or 0.0) / 2


_FIRST = "Predictions for records of [[group]] are off by [[share]]"
_ALL = "those for all records by [[number]] ([[number]] to [[number]])"


def _told_by(known: Known) -> str:
    """The error that groups are told by."""
    squared = "squared_error" in known.seen["measures"]
    return "root mean squared error" if squared else "mean absolute error"


@says(
    *(
        f"{_FIRST}, {_ALL}: {error}{cut}."
        for error in ("root mean squared error", "mean absolute error")
        for cut in (", where [[bound]]", "")
    ),
    f"{_FIRST}.",
)
def _off_in_group(known: Known, said: dict[str, Any]) -> bool:
    cut = said.get("bound") is None or _cut(known, said)
    return cut and figure_agrees(known, said, _told_by(known), said["group"], 1)


@says("Too few records of [[names]] (`g`) beside the noise to say how far predictions are off there.")
def _unknown_off(known: Known, said: dict[str, Any]) -> bool:
    return all(known.figure(_told_by(known), group) is None for group in _listed(said["names"]))


@says(
    "For [[n]] more group of `g` they are off by less: all are in the measurement.",
    "For [[n]] more groups of `g` they are off by less: all are in the measurement.",
)
def _less_off(known: Known, said: dict[str, Any]) -> bool:
    return read(said["n"]) <= 1


@says(
    "Predictions for records of [[one]] are off by [[share]] more than those for [[two]] (`g`): more apart than noise explains, if nothing else was compared."
)
def _errors_apart(known: Known, said: dict[str, Any]) -> bool:
    known.seen.setdefault("apart", set()).add((said["one"], said["two"]))
    one, two = (known.figure(_told_by(known), said[of]) for of in ("one", "two"))
    assert one is not None and two is not None
    return agrees(one - two, said["v"], said["low"], said["high"], 0.01 * (known.error_bound or 0.0))


@says(
    "Predictions for records of [[names]] (`g`) are off by more than for all: decide whether they are near enough there."
)
def _worse_groups(known: Known, said: dict[str, Any]) -> bool:
    whole = known.figure(_told_by(known)) or 0.0
    return all((known.figure(_told_by(known), g) or 0.0) > whole for g in _listed(said["names"]))


@says(
    "Do not use predictions in place of the mean before a measurement shows that they are better: [[any]]",
    "Do not use predictions in place of the mean before more records, or a larger ε, show that they are better.",
)
def _not_in_place(known: Known, said: dict[str, Any]) -> bool:
    if "absolute_error" in said.get("any", "") and ("mean absolute error", None) in known.seen:
        return False  # it was measured: naming it promises what it has given
    return read(known.seen["R2", None]["low"]) <= 0


@says(
    "So many records, with errors cut as they are, show an R² of about [[number]] or more. No ε shows a smaller one, because the interval allows for the most that such errors can vary."
)
def _least_r2(known: Known, said: dict[str, Any]) -> bool:
    return read(known.seen["R2", None]["low"]) <= 0


@says(
    "The model answers one number for every row, [[share]], and so says nothing about the rows.",
    "The model answers one number for every row, [[share]]: what it learned of the columns was no larger than the noise of training, so all slopes were drawn to 0. It is not better than the mean. Use more records, fewer columns or a larger ε.",
)
def _one_number(known: Known, said: dict[str, Any]) -> bool:
    return {*(f"{x:.4g}" for x in known.said)} == {said["v"]}


# ------------------------------------------------------------------------------------------ other lines


@says("A target outside [[low]] to [[high]] counts as the nearer bound in these numbers.")
def _ends(known: Known, said: dict[str, Any]) -> bool:
    return (read(said["low"]), read(said["high"])) == known.case.ends


@says(
    "These numbers do not see what is cut: targets outside the bounds. If you know that there are such targets, declare wider bounds.",
    "These numbers do not see what is cut: targets outside the bounds, and errors above [[v]] (`--measure residuals` counts the errors near it and above). If you know that there are such targets, declare wider bounds.",
)
def _unseen(known: Known, said: dict[str, Any]) -> bool:
    return "v" not in said or agrees(known.error_bound, said["v"], None, None)


@says(
    "These numbers ask for no change only if the model was not trained on the test rows: the curator can say whether it was. "
    "Measure the groups that it will be used for."
)
def _asks_only_if_not_trained_on(known: Known, said: dict[str, Any]) -> bool:
    return known.declared >= known.seen["trained on"] and _calm(known)


@says("Nothing in these numbers asks for a change. Measure the groups that it will be used for.")
def _nothing_asks(known: Known, said: dict[str, Any]) -> bool:
    """Of rows that may be those of the training it is not known."""
    return known.declared < known.seen.get("trained on", np.inf) and _calm(known)


def _calm(known: Known) -> bool:
    if not known.case.classes:
        return (known.figure("R2") or 0.0) > 0 and known.seen["mean"] <= (known.error_bound or 0.0) / 2
    recalls = [known.figure(f"recall of {c}") or 0.0 for c in known.case.classes]
    return _beaten(known) == (False, True) and min(recalls) > 0.66


@says(
    "Always predicting the mean would be off by much more.",
    "They are nearer than always predicting the mean: R² [[share]] is above 0.",
)
def _much_nearer(known: Known, said: dict[str, Any]) -> bool:
    found = known.figure("R2")
    return found is not None and found > (0.5 if "v" not in said else 0)


@says("[[figure]]: refused, too few rows beside the noise")
def _refused(known: Known, said: dict[str, Any]) -> bool:
    return known.figure(said["figure"]) is None


@says("[[figure]]: [[ends]]")
def _figure_line(known: Known, said: dict[str, Any]) -> bool:
    """Of `print(evaluation)`."""
    known.seen[said["figure"], None] = said
    noise = known.seen["noise"].get((None, said["figure"]), 0.0)
    return agrees(known.figure(said["figure"]), said["v"], said["low"], said["high"], noise)


@says("Of the [[n]] declared records, coins chose [[m]] to train on and [[v]] to measure on.")
def _coins(known: Known, said: dict[str, Any]) -> bool:
    whole, tested = len(known.case.table), len(known.table)
    return (read(said["n"]), read(said["m"]), read(said["v"])) == (whole, whole - tested, tested)


@says(
    "[[key]]: share of rows with a label: [[ends]]; nothing else about it stands out of the noise",
    "[[key]]: share of rows: [[ends]]; nothing else about it stands out of the noise",
)
def _nothing_else(known: Known, said: dict[str, Any]) -> bool:
    name = (
        "share of rows"
        if not {*known.seen["measures"]} <= {"scores", "confusion", "residuals"}
        else "share of rows with a label"
    )
    exact, noise = known.figure(name, said["key"]), known.seen["noise"].get((said["key"], name), 0.01)
    few = (
        exact == 0
        or known.seen["measures"] == ["r2"]
        or known.group(said["key"]).sum() < known.seen.get("few", 0)
    )
    return few and agrees(exact, said["v"], said["low"], said["high"], noise)


@says("[[n]] more differences: --out has them all")
def _more_lines(known: Known, said: dict[str, Any]) -> bool:
    return read(said["n"]) == len(known.seen["differences"]) - 40


@says(
    "Each interval holds by itself; noise and sampling are standard deviations, or upper limits of them; [[bound]], those of the mean in R2, too",
    "Each interval holds by itself; noise and sampling are standard deviations, or upper limits of them; [[bound]], those of the mean in R2, too; R2 of a group is beside the mean of all records, and not beside the mean of the group",
    "Each interval holds by itself; noise and sampling are standard deviations, or upper limits of them; R2 of a group is beside the mean of all records, and not beside the mean of the group",
    "R2 of a group is beside the mean of all records, and not beside the mean of the group",
    "Each interval holds by itself; noise and sampling are standard deviations, or upper limits of them",
    "Each interval holds by itself; noise and sampling are standard deviations, or upper limits of them; [[bound]]",
    "[[bound]], those of the mean, too.",
    "[[bound]], those of the mean in R2, too",
)
def _about_intervals(known: Known, said: dict[str, Any]) -> bool:
    return known.error_bound is None or _cut(known, said)


@says(
    "WARNING: the model was trained on [[n]] declared records, and [[m]] test rows are declared. [[any]]",
    "The model was trained on [[n]] declared records, and [[m]] test rows are declared. [[any]]",
)
def _as_many(known: Known, said: dict[str, Any]) -> bool:
    return read(said["m"]) == known.declared >= read(said["n"]) == known.seen["trained on"]


@says(
    "WARNING: At this epsilon R2 may be refused unless the target's standard deviation is [[v]] or more, [[n]] % of [[any]]"
)
def _may_be_refused(known: Known, said: dict[str, Any]) -> bool:
    """Of a target that spreads as much, R² is not refused; and the share is that of the distance of the bounds."""
    width, refused = known.case.ends[1] - known.case.ends[0], not known.seen["noise"].get((None, "R2"))
    spread = float(np.nanstd(known.cut("y", known.group(None))))
    near = abs(read(said["v"]) / width - read(said["n"]) / 100) < 0.002
    return near and (not refused or spread < read(said["v"]))


@says("[[any]]-one, n = [[n]] test rows[[any]]")
def _test_rows(known: Known, said: dict[str, Any]) -> bool:
    return read(said["n"]) == known.declared


@says(
    "What a model adds for `other` and `missing` is noise alone where hardly any training record was one, and so is such a part of a prediction"
)
def _noise_of_rare_cells(known: Known, said: dict[str, Any]) -> bool:
    return any(known.read_as(kind, "g")[0] for kind in ("empty cells", "cells that are not as declared"))


@says("[[kind]]: [[cells]]")
def _cells(known: Known, said: dict[str, Any]) -> bool:
    found = re.findall(rf"({_NUMBER}) of ({_NUMBER}) in '(\w+)' \(([^)]*)\)", said["cells"])
    return bool(found) and all(
        (read(n), read(m)) == known.read_as(said["kind"], column) for n, m, column, _ in found
    )


@says(
    "Too few records beside the noise to say how often it recognises [[names]]: [[any]] would tell more.",
    "Too few records beside the noise to say how often it recognises [[names]]: that takes about [[any]] of a class among the [[any]]; [[any]] more of them.",
    "Too few records beside the noise to say how often it recognises [[names]]: with so much noise no number of a class among the [[any]] is enough[[any]] more of them.",
    "Do not rely on the model to recognise [[names]] before that is measured: there were too few records beside the noise.",
)
def _unknown_recall(known: Known, said: dict[str, Any]) -> bool:
    return all(_too_few(known, f"recall of {name}") for name in _listed(said["names"]))


@says(
    "It is not known how often the commonest class alone would be right: there were too few records beside the noise; [[any]] would tell more.",
    "Too few rows stood out of the noise to say how often it is right, on [[any]].",
)
def _few_rows(known: Known, said: dict[str, Any]) -> bool:
    return len(known.table) < known.seen["few"]


@says(
    "One row of each `who` is read. A fixed hash picks it as if by lot, each row of a `who` as likely as any other. So every number about the table is of `who`s, each by that "
    "one row, also where it says records or rows. It is not a number of all rows. A `who` that has a value only in rows that are not read is not counted with it. "
    "There can be many of those.",
    "counts 'who', one row of each (rows_per_unit [[n]]): docs/units.md",
)
def _one_row_of_each(known: Known, said: dict[str, Any]) -> bool:
    """The numbers themselves are compared with these rows. Their places, in the order of what they hold, are those of a lot: within five deviations."""
    rows, read = known.seen["rows of all"].assign(x=lambda t: numbers(t.x)), numbers(known.table.x)
    each = rows.groupby("who").x
    place, many = (each.rank() - 1)[rows.x.isin(read)], each.transform("size")[rows.x.isin(read)]
    drawn = (place / (many - 1))[many > 1]
    ever = {g: rows[rows.g == g].who.nunique() for g in ("a", "b")}
    return (
        sorted(known.table.who) == sorted({*rows.who})
        and abs(drawn.mean() - 0.5) < 5 * 0.5 / len(drawn) ** 0.5
        and all(ever[g] > (known.table.g == g).sum() for g in ever)
        and int(said.get("n", 3)) == 3
    )


@says(
    "More than 10% of the cells of [[rest]] are gaps, by the 95 % interval of each share missing. Each gap counts as the middle of the bounds, so correlations "
    "with such a column are in part about who has a gap. The question covariance(A, B) of `prepriv ask`, which has a price of its own, takes only the records "
    "that have both cells."
)
def _gaps_in_correlations(known: Known, said: dict[str, Any]) -> bool:
    shares = {k: float(np.isnan(numbers(known.table[k])).mean()) for k in ("x", "y")}
    return said["rest"].split(", ") == [k for k, share in shares.items() if share > 0.1]


ABOUT_NO_ROW = (
    "Correlations: a gap counts as the middle of its bounds.",
    "Which records these are is not known to prepriv: if the model was trained on them, the score is too good.",
    "Classes are weighed, which can cost accuracy: [[any]]",
    "Do not add its predictions up: they are about medians, because the logarithm of the target is learned, and sums of them are too small.",
    "Before predictions are added up, measure how far they are off on average [[any]]",
    "Groups add noise to this comparison: without `--by` (`evaluate_by=` or `by=` in Python) the same ε shows more.",
    "Training limits the pull of records far from their prediction.[[any]]",
    "In each column of numbers the model is a straight line: an effect that rises and falls again is not seen[[any]]",  # tests/release/test_summary.py
    "One noisy gradient stands for all rows of a unit, here up to [[number]], so the probability of a rare class can be far too high[[any]]",  # tests/release/test_summary.py
    "With up to ten columns and a rare class, probabilities can be too high at both ends of a column[[any]]",  # tests/release/test_summary.py
    "StandardScaler leaves [[any]] in units of [[any]] bounds. Training hardly reaches [[any]]",  # tests/release/test_coefficients.py
    'The weight of a "part 1 of [[number]] of its code" is not the effect of a bin: [[any]]',  # tests/release/test_bin_names.py
    "WARNING: the holdout: [[any]]",  # tests/commands/test_said_before_the_charge.py
    "What all records say need not lie between what the groups say: [[any]]",
    "It predicts `y`[[any]] from 3 columns: x, g, h.",
    "They are right at most [[any]]",
    "Even someone who knows every other record and sees this model[[any]] They are right at most 100 times in 100.[[any]]",
    "One row, one person: [[any]]",
    "[[any]]no useful bound: ε is above 10 and rules out little of what can be learnt of a record",
    "no useful bound at δ = [[number]], replace-one, n = [[any]]",
    "no useful bound at δ = [[number]], replace-one of one unit, all rows of one `who`, n = [[any]]",
    "to spend: no useful bound at δ = [[any]]",
    "Suppose that someone knows all the data except [[any]] they guess right at most 100% of the time, instead of 50%.",
    "The data set has no name here, since no ledger was charged.",
    "Columns, bounds and the number of records were declared by whoever ran it. This run did not read them off the data. Only they can say whether someone did before.",
    "Columns[[any]]bounds[[any]] were declared by whoever ran it. This run did not read them off the data. Only they can say whether someone did before.",
    "The number of records is public under this adjacency, declared or counted off the table.",
    "AUC is that of scores in [[number]] bins: [[any]]",  # tests/evaluation/test_evaluation.py
    "WARNING: [[number]] labels lie outside the declared bounds [[any]]",  # tests/commands/test_validated.py
    "WARNING: [[number]] cells of [[any]] lie outside its declared bounds [[any]]",  # tests/commands/test_validated.py
    "NOT ONE cell of 'x' lies within its declared bounds (0 to 1): [[any]]",  # tests/commands/test_validated.py
    "Nobody is named who answers for the schema. Whoever writes it can enter a name, as `declared_by:`.",
    "How good it is",
    "For whom it fails",
    "What it predicts",
    "What to do about it",
    "What it promises",
    "They follow from the counts of the scores, so a choice among them is free: [[any]]",
    "A target outside these bounds counts as the nearer bound.",
    "`prepriv validate new.csv --model run --no-labels` lists them by kind",
    "The claim of a private model does not cover predictions of private rows: [[any]]",
    "A cell that is empty or cannot be read as a number is left out of the means, [[any]]",
    '"other" counts the values that are not listed, and "missing" the gaps.',
    "share: of all records, or of all in the group. Records with a gap there count, as missing. Each share has noise of its own, so shares need not add up to 100 %.",
    "Each interval holds by itself, so among many differences some exclude zero by chance",
    "wrote [[any]]",
    "Before it is used for one of the groups, read that group's lines[[any]]: noise hides small groups first.",
    "Do not publish it with this ε: no useful bound: [[any]]",
    "Whether it serves some groups worse was not measured: [[any]]",
)
says(*ABOUT_NO_ROW)(lambda known, said: True)


# ------------------------------------------------------------------------------------------ tables


def table_lines(printed: list[str]) -> Iterator[tuple[str, list[str], list[str]]]:
    """(title, heads, cells) of each line of each table that was printed."""
    title, heads = "", []
    for before, line in zip(["", *printed], printed):
        if "┃" in line:
            title, heads = before, [cell.strip() for cell in line.split("┃")]
        elif "│" in line:
            yield title, heads, [cell.strip() for cell in line.split("│")]


_INTERVAL = re.compile(rf"({_NUMBER}) (?:\[|\(95 %: )({_NUMBER})(?:,| to) ({_NUMBER})[\])]")


def interval(text: str) -> tuple[str, str, str] | None:
    """(value, low, high); None where nothing can be said. AssertionError for any other text."""
    if text.startswith("refused, ") or text == "too few to say":
        return None
    found = _INTERVAL.fullmatch(text)
    assert found, f"no number with an interval: {text}"
    return found[1], found[2], found[3]


def told_agrees(exact: float | None, text: str) -> bool:
    """Whether a line of a description or an answer is the exact number, up to the noise that its interval states."""
    if (found := interval(text)) is None:
        return exact is None
    value, low, high = found
    return exact is None or agrees(exact, value, low, high, (read(high) - read(low)) / 1.96)


def quantile_agrees(there: Any, level: float, text: str) -> bool:
    """The same of a quantile, up to three ranks and the grid on which it is chosen: numbers between bounds of 0 and 100."""
    if (found := interval(text)) is None:
        return len(there) < 30
    value, low, high = map(read, found)
    ranks, step = 3 / len(there), max(0.1, unit_of(found[0]))
    return (
        (there <= value + step).mean() >= level - ranks
        and (there < value - step).mean() <= level + ranks
        and (there <= high + step).mean() >= level - ranks
        and (there < low - step).mean() <= level + ranks
    )
