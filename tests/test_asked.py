"""Packages whose names are imported when they are asked for: every name is there, and a classifier asks for few."""

import importlib
import json
import subprocess
import sys

import pytest

LAZY = ("engines", "guarantees", "guarantees.mixtures", "learners", "preprocessing")


@pytest.mark.parametrize("package", LAZY)
def test_every_name_is_there_and_none_is_a_module(package):
    found = importlib.import_module(f"prepriv.{package}")
    for name in found.__all__:
        thing = getattr(found, name)
        assert thing.__name__ == name
    assert set(found.__all__) <= set(dir(found))
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        getattr(found, "nothing")  # noqa: B009


def test_a_classifier_imports_neither_pages_nor_ledgers_nor_what_others_wrote():
    code = (
        "import json, sys, prepriv; prepriv.PrivateClassifier; "
        "print(json.dumps([m for m in sys.modules if m.startswith(('prepriv', 'jinja2', 'mpmath', 'sqlite3'))]))"
    )
    there = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    late = ("jinja2", "mpmath", "sqlite3", "prepriv.ledger", "prepriv.evaluation", "prepriv.rehearsals")
    assert not [m for m in json.loads(there) if m.startswith((*late, "prepriv.engines.dask_cluster"))]
    assert len(json.loads(there)) < 200  # of some 390


def test_a_stored_map_is_read_by_the_class_that_writes_its_kind():
    from prepriv.preprocessing import maps

    for kind, home in maps._FIELDS.items():
        found = maps._home(*home)
        assert getattr(found, "written_as", kind) == kind and found.__name__ == home[1]


def test_commands_start_without_scikit_learn_pandas_and_the_templates_of_pages():
    names = ("account", "ask", "demo", "evaluate", "plan", "schema", "sketch", "train", "validate")
    code = f"import sys\nfor n in {names}: __import__('prepriv.commands.' + n)\nprint(*sys.modules)"
    there = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert not {"sklearn", "pandas", "jinja2", "scipy.stats", "mpmath", "pyarrow"} & {*there.split()}
