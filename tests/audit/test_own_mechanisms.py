"""`prepriv audit sensitivity FILE.py` with `mechanisms`: those of ours and the smallest one hold; each kind of lie is broken."""

from __future__ import annotations

import json
import math
import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from prepriv.audit.own_mechanisms import OwnMechanism, try_mechanism
from prepriv.commands.audit import app
from prepriv.commands.exits import Stop
from prepriv.mechanisms import GaussianSum
from prepriv.mechanisms.laplace_sum import LaplaceSum
from prepriv.mechanisms.mechanism import Cost, Mechanism
from prepriv.mechanisms.stability_histogram import StabilityHistogram

EXAMPLES = Path(__file__).parents[2] / "examples"
sys.path.insert(0, str(EXAMPLES))
from smallest import NoisyCount  # noqa: E402

RUNS = 2000
LONE = ({"common": 20, "lone": 1}, {"common": 21})
HISTOGRAM = StabilityHistogram(noise_multiplier=1.0, delta=0.01, adjacency="replace-one")


def tried(mechanism, one, two, runs=RUNS):
    return try_mechanism(OwnMechanism.of((mechanism, one, two), 1), seed=0, seconds=0.0, runs=runs)


@pytest.fixture(autouse=True)
def _few_runs(monkeypatch):
    monkeypatch.setattr("prepriv.audit.own_mechanisms._LEAST_RUNS", RUNS)


GOOD = {
    "the smallest": (NoisyCount(1.0), 100, 101),
    "a sum": (
        GaussianSum(sensitivity=1024, noise_multiplier=1.0, exponent=-10, largest=2**30, coordinates=2),
        np.array([0, 0]),
        np.array([1024, 0]),
    ),
    "a histogram": (HISTOGRAM, *LONE),
}


@pytest.mark.parametrize("name", GOOD)
def test_what_is_true_holds(name):
    found = tried(*GOOD[name])
    assert found.broken == found.open == ""
    assert found.share <= 1 and found.shown is not None and found.shown.runs > RUNS / 2
    assert found.shown.mu > 0.15  # it is an attack: it sees most of what there is


@dataclass(frozen=True)
class Half(NoisyCount):
    """Half of the noise that its cost is for."""

    def perform(self, exact, source):
        return NoisyCount(self.noise_multiplier / 2).perform(exact, source)


@dataclass(frozen=True)
class Elsewhere(NoisyCount):
    """Noise of its own."""

    def perform(self, exact, source):
        return exact + np.random.default_rng().normal()


@dataclass(frozen=True)
class Wider(NoisyCount):
    """More noise for a larger value: what leaves has the same mean, and one end of it alone tells too little."""

    def perform(self, exact, source):
        return super().perform(0, source) * (1 + 5 * (exact > 100))


@dataclass(frozen=True)
class Stumbles(NoisyCount):
    """It ends on one of two neighbours."""

    def perform(self, exact, source):
        if exact > 100:
            raise ValueError("too many")
        return super().perform(exact, source)


@dataclass(frozen=True)
class Tires(NoisyCount):
    """It ends now and then."""

    def perform(self, exact, source):
        answer = super().perform(exact, source)
        if answer > exact + 2:
            raise ValueError("too many")
        return answer


@dataclass(frozen=True)
class Infinite(NoisyCount):
    """Infinity on one side alone."""

    def perform(self, exact, source):
        return math.inf if exact > 100 else super().perform(exact, source)


@dataclass(frozen=True)
class ThroughTheMiddle(NoisyCount):
    """2,000 cells, and the one in the middle has noise of its own: repr leaves it out."""

    def perform(self, exact, source):
        cells = np.full(2000, super().perform(exact, source))
        cells[1000] = np.random.default_rng().normal()
        return cells


@dataclass(frozen=True)
class TwoValues(NoisyCount):
    """The value outright, and its opposite: their sum tells nothing."""

    def perform(self, exact, source):
        noise = super().perform(0, source)
        return {"a": noise + 1e6 * exact, "b": -1e6 * exact}


@dataclass(frozen=True)
class Names(StabilityHistogram):
    """Every name leaves: no threshold."""

    def release(self, counts, source):
        return {name: 1.0 for name in sorted(counts)}


@dataclass(frozen=True)
class Words(Mechanism):
    """An answer that is a word, and tells."""

    @property
    def cost(self):
        return Cost.of_noise(1.0)

    @property
    def reach(self):
        return 1

    def perform(self, exact, source):
        return ["no", "yes"][exact if source.uint64(1)[0] % 8 else 1 - exact]


BAD = {
    "half the noise": (Half(1.0), 100, 101, "releases of each of two neighbours show"),
    "noise of its own": (Elsewhere(1.0), 100, 101, "it draws elsewhere"),
    "noise that depends on the value": (Wider(0.5), 100, 101, "releases of each of two neighbours show"),
    "infinity on one side": (Infinite(1.0), 100, 101, ""),
    "noise in the middle of a long answer": (ThroughTheMiddle(1.0), 100, 101, ""),
    "two values whose sum tells nothing": (TwoValues(1.0), 100, 101, ""),
    "an error on one side": (Stumbles(1.0), 100, 101, "on one of two neighbours it fails"),
    "an error now and then": (Tires(1.0), 100, 101, "it fails for some releases"),
    "a value too far": (NoisyCount(1.0), 100, 102, "its reach is 1, and the two values are 2"),
    "no threshold": (
        Names(noise_multiplier=1.0, delta=0.01, adjacency="replace-one"),
        *LONE,
        "show at least",
    ),
    "a word": (Words(), 0, 1, "show at least"),
}


@pytest.mark.parametrize("name", BAD)
def test_a_lie_is_found(name):
    *given, sentence = BAD[name]
    found = tried(*given)
    assert sentence in found.broken and found.row[-1] == "BEATEN"


def test_the_strongest_attack_is_shown_and_more_runs_show_more():
    few, many = (tried(*GOOD["the smallest"], runs=runs) for runs in (600, 6000))
    assert few.shown.mu < many.shown.mu <= many.shown.claimed


def test_what_no_attack_decides_is_said():
    nothing = LaplaceSum(sensitivity=2**10, epsilon=1.0, largest=2**20, coordinates=1)
    assert "names no cost" in tried(nothing, np.array([1]), np.array([2])).open
    small = GaussianSum(sensitivity=8, noise_multiplier=1.0, exponent=0, largest=2**20, coordinates=1)
    assert "it fails on both neighbours (ValueError" in tried(small, np.array([1]), np.array([2])).open
    assert "TypeError" in tried(NoisyCount(1.0), 0.5, 1.5).open  # distances are exact of integers alone


FILE = """
import sys
sys.path.insert(0, {examples!r})
from smallest import NoisyCount
mechanisms = [(NoisyCount(1.0), 100, {other})]
"""


def test_the_command_ends_with_the_verdict(tmp_path):
    path = tmp_path / "mine.py"
    for other, code, word in ((101, 0, "held: in "), (103, 1, "broken: at mechanism 1 (NoisyCount): ")):
        path.write_text(FILE.format(examples=str(EXAMPLES), other=other), encoding="utf-8")
        done = CliRunner().invoke(app, ["sensitivity", str(path), "--seconds", "0.05"])
        assert done.exit_code == code
        assert done.output.splitlines()[-1].startswith(word)
    done = CliRunner().invoke(app, ["sensitivity", str(path), "--seconds", "0.05", "--json"])
    told = json.loads(done.output[: done.output.rindex("}") + 1])
    assert told["verdict"] == "broken" and told["mechanisms"][0]["moved_of_reach"] == 3.0


def test_steps_and_mechanisms_stand_in_one_file(tmp_path):
    path = tmp_path / "both.py"
    more = "from prepriv import Domain\nfrom prepriv.preprocessing import ClipNorm\ndomain = Domain.box(0, 1, 2, [0, 1])\nsteps = [ClipNorm(0.5)]\n"
    path.write_text(FILE.format(examples=str(EXAMPLES), other=101) + more, encoding="utf-8")
    done = CliRunner().invoke(app, ["sensitivity", str(path), "--seconds", "0.05"])
    assert done.exit_code == 0
    assert "of 1 mechanisms" in done.output and "pairs of made-up neighbours" in done.output


def test_a_file_that_is_written_otherwise_is_refused(tmp_path):
    path = tmp_path / "wrong.py"
    for text, sentence in (
        ("mechanisms = []", "must be a list of"),
        ("mechanisms = [1]", r"mechanisms\[0\] must be"),
    ):
        path.write_text(text, encoding="utf-8")
        done = CliRunner().invoke(app, ["sensitivity", str(path)])
        assert isinstance(done.exception, Stop)
        with pytest.raises(Stop, match=sentence):
            raise done.exception
