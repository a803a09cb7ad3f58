"""Static check of src/: no randomness but the noise source, no pickle, no side door for numbers of the data.

By abstract syntax, so that a comment passes and an alias does not. Each exception stands here with its reason.
"""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import prepriv
import prepriv_papers

SRC = Path(prepriv.__file__).parent
PAPERS_SRC = Path(prepriv_papers.__file__).parent  # a distribution of its own; its files are named papers/...

# What is forbidden, and where it is allowed all the same.
MODULES = {
    "random": (),
    # scripts about the papers' statements, on made-up data, that run without this library
    "numpy.random": (
        "papers/feature_preprocessing/errata.py",
        "papers/feature_preprocessing/statements.py",
        "papers/open_questions.py",
        "papers/provable_privacy/errata_steps.py",
        "papers/provable_privacy/statements.py",
        "papers/semi_private_learning/errata.py",
        "papers/semi_private_learning/statements.py",
        "papers/unified_enhancement/errata.py",
        "papers/unified_enhancement/statements.py",
    ),
    "pickle": (),
    "_pickle": (),
    "joblib": (),
    "dill": (),
    "cloudpickle": (),
    "shelve": (),
    "marshal": (),
    "torch": ("engines/torch_device.py",),  # exact products; no random number of it
    "uuid": (),
    "socket": (),
    "platform": (),
    "getpass": (),
    "subprocess": (),
    "secrets": (
        "runs/charge.py",
    ),  # the public name of a run in the ledger: not noise, not derived from data
    # how long to wait, to search; no time leaves. And progress on public data
    "time": (
        "ledger/store.py",
        "audit/sensitivity_search.py",
        "audit/own_mechanisms.py",
        "papers/verdicts.py",
        "papers/everything.py",
    ),
    # names the operations of a file of weights, and carries out none
    "pickletools": ("preprocessing/imagenet.py",),
    # the day of a charge, written before the data is opened; cells that are dates, without a look at the clock
    "datetime": ("ledger/verification.py", "tables/cell.py", "tables/written.py", "periods.py"),
    "logging": ("audit/replay_pipeline.py",),  # listens to what others log
}
NAMES = {
    "os.urandom": ("mechanisms/noise.py",),
    "os.getlogin": (),
    "datetime.datetime.now": ("ledger/verification.py",),
    "datetime.datetime.utcnow": (),
    "datetime.datetime.today": (),
    "datetime.date.today": (),
    "eval": (),
    "exec": (),
    "compile": (),
    "__import__": (),
    "yaml.load": (),
    "yaml.unsafe_load": (),
    "yaml.full_load": (),
    "yaml.Loader": (),
    # public benchmark data; the nameless file of a source that is read once, without pickles
    "numpy.load": ("papers/", "tables/spool.py"),
    "numpy.save": ("tables/spool.py",),
    "numpy.savez": (),
    "numpy.fromfile": (),
}
BATCHES = "learners/"  # batches are no function of the data
PAPERS = "papers/"  # experiments on public and synthetic data
# The mechanisms' own doors: used inside mechanisms/, by the audits (public streams, nothing private), and where said.
DOORS = {
    "gaussian_sum_release": (),
    "rounded_gaussian": (),
    "discrete_laplace": (),
    "uniform_below": (BATCHES, PAPERS),
    "bernoulli_mask": (BATCHES,),
    "private_quantile": (),
    "private_threshold": (),
    "ExponentialMechanism": ("runs/chosen.py",),
    "passes": (),
    "perform": (),  # of a Mechanism: a Session calls it, nothing else
    "noiseless": (),
    "GaussianSum": ("learners/", "evaluation/choose.py", "sketches/sketch_plan.py", PAPERS),
    "LaplaceSum": ("description/questions.py",),
    "for_tests": (PAPERS,),
    "NoiseSource": (BATCHES, PAPERS),
    "NoisySession": (
        "runs/admit.py",
        "evaluation/",
        PAPERS,
    ),
    "ExactSession": (
        "runs/admit.py",
        "runs/run.py",
        "runs/validate.py",
        PAPERS,
    ),
    "MadeUpSession": ("rehearsals/made_up.py", "rehearsals/rehearsal_training.py"),
}
TALK = {
    "print": ("cli.py", "commands/", PAPERS),
    # about the shape of y, which is public; about how many plans were run; about a plan, made of declared facts
    "warn": (
        "estimators.py",
        "runs/odometer.py",
        "runs/admit.py",
        "ledger/book.py",  # of the cap that is being created
        "private_pipeline.py",  # of declared columns and of a pipeline
        "recipes/automatic.py",  # of declared numbers
        "recipes/unscaled.py",  # of a list of steps and of declared columns
        "recipes/pipeline_ways.py",  # the same
        "description/sketch.py",  # the same
        "evaluation/evaluate.py",  # of the plan of a measurement, before the charge
        "evaluation/choose.py",  # what the plan of a candidate said, with its place; and how far apart candidates must be, of the plan alone
        "description/describe.py",  # the same, before the charge
        "description/ask.py",  # the same
        "description/draft.py",  # of a ledger that could not be written once a draft was paid for
        "plans/plan.py",  # the same
        "release/advice.py",  # of noisy sums that were released (`Model.noise_alone`), and for choose of the winner alone
        "plans/decision.py",  # of a loss and of declared weights
        "regressor.py",  # about intervals that the caller gets, too
        "release/exact_score.py",  # of an exact score, for whoever holds the rows
    ),
}


def violations(source: str, where: str) -> list[str]:
    """What the file at `where` (relative to the package) may not do, one line each."""
    tree = ast.parse(source)
    aliases = _aliases(tree)
    found = []

    def check(rules, name, what, node):
        allowed = rules.get(name)
        if allowed is not None and not where.startswith(tuple(allowed)):
            found.append(f"{where}:{node.lineno}: {what} {name}")

    for node in ast.walk(tree):
        if isinstance(node, ast.Import | ast.ImportFrom):
            for module in _imported(node):
                parts = module.split(".")
                for end in range(1, len(parts) + 1):
                    check(MODULES, ".".join(parts[:end]), "imports", node)
                check(NAMES, module, "imports", node)
        if isinstance(node, ast.Attribute | ast.Name):
            name = _dotted(node, aliases)
            check(MODULES, name, "uses", node)
            check(NAMES, name, "uses", node)
            inside = where.startswith(("mechanisms/", "audit/"))
            if not inside and isinstance(getattr(node, "ctx", None), ast.Load):
                check(DOORS, name.rsplit(".", 1)[-1], "uses the door", node)
        if isinstance(node, ast.Call):
            last = _dotted(node.func, aliases).rsplit(".", 1)[-1]
            if not where.startswith("audit/"):
                is_ours = last == "print" and _dotted(node.func, aliases).endswith("console.print")
                check(TALK, last, "talks by", node) if not (
                    is_ours and where.startswith(("commands/", PAPERS))
                ) else None
            for keyword in node.keywords:
                never = isinstance(keyword.value, ast.Constant) and keyword.value.value is False
                if keyword.arg == "allow_pickle" and not never:
                    found.append(f"{where}:{node.lineno}: allow_pickle")
    return sorted(set(found))


def _aliases(tree: ast.AST) -> dict[str, str]:
    names = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for a in node.names:
                names[a.asname or a.name.split(".")[0]] = a.name if a.asname else a.name.split(".")[0]
        if isinstance(node, ast.ImportFrom) and node.module:
            for a in node.names:
                names[a.asname or a.name] = f"{node.module}.{a.name}"
    return names


def _imported(node: ast.Import | ast.ImportFrom) -> list[str]:
    if isinstance(node, ast.Import):
        return [a.name for a in node.names]
    return [node.module or "", *(f"{node.module}.{a.name}" for a in node.names)]


def _dotted(node: ast.AST, aliases: dict[str, str]) -> str:
    if isinstance(node, ast.Name):
        return aliases.get(node.id, node.id)
    if isinstance(node, ast.Attribute):
        return f"{_dotted(node.value, aliases)}.{node.attr}"
    return ""


def files() -> dict[str, Path]:
    """Each source file by its place."""
    ours = {p.relative_to(SRC).as_posix(): p for p in sorted(SRC.rglob("*.py"))}
    return ours | {PAPERS + p.relative_to(PAPERS_SRC).as_posix(): p for p in sorted(PAPERS_SRC.rglob("*.py"))}


@pytest.mark.parametrize("where", files())
def test_no_side_door(where):
    assert violations(files()[where].read_text(encoding="utf-8"), where) == []


def test_every_exception_is_still_needed():
    """An allowance that nobody uses any more is an open door."""
    every = MODULES | NAMES | DOORS | TALK
    for name, allowed in every.items():
        for place in allowed:
            here = [path for where, path in files().items() if where.startswith(place)]
            assert any(name.rsplit(".", 1)[-1] in p.read_text(encoding="utf-8") for p in here), (name, place)


PLANTED = {
    "import random": "random",
    "import numpy as np\nnp.random.normal()": "numpy.random",
    "from numpy import random as r\nr.normal()": "numpy.random",
    "from numpy.random import default_rng": "numpy.random",
    "import numpy.random as r": "numpy.random",
    "import pickle": "pickle",
    "from joblib import dump": "joblib",
    "import torch\ntorch.load('x')": "torch",
    "import numpy as n\nn.load('x', allow_pickle=True)": "allow_pickle",
    "import numpy as np\nnp.load('x')": "numpy.load",
    "from numpy import load": "numpy.load",
    "import os\nos.urandom(3)": "os.urandom",
    "from os import urandom": "os.urandom",
    "import secrets": "secrets",
    "import time\ntime.time()": "time",
    "import yaml\nyaml.load('x')": "yaml.load",
    "eval('1')": "eval",
    "import logging": "logging",
    "print(1)": "print",
    "import warnings\nwarnings.warn('x')": "warn",
    "from prepriv.mechanisms.lattice_noise import gaussian_sum_release\ngaussian_sum_release(1)": "door",
    "def f(source): return source.rounded_gaussian(2.0, 3)": "door",
    "from prepriv.mechanisms.session import NoisySession\nNoisySession()": "door",
    "def f(m, source): return m.perform(1, source)": "door",
}


@pytest.mark.parametrize("source", PLANTED)
@pytest.mark.parametrize("where", ["preprocessing/x.py", "release/x.py", "pipeline/x.py"])
def test_a_planted_side_door_is_found(source, where):
    assert any(PLANTED[source] in line for line in violations(source, where))


def test_comments_and_strings_are_no_side_door():
    assert violations('"""np.random, pickle"""\n# import random\nx = "print(1)"\n', "release/x.py") == []
