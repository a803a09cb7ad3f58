"""Every public name says what it takes, in which units, and what it refuses; every example in a docstring runs."""

from __future__ import annotations

import dataclasses
import doctest
import inspect
import pkgutil
import re
from importlib import import_module

import pytest

import prepriv
import prepriv_papers

PUBLIC = ("audit", "domain", "mechanisms", "payment", "preprocessing")
NAMES = [(module, name) for module in PUBLIC for name in import_module(f"prepriv.{module}").__all__]
EXAMPLES = [
    m.name
    for package in (prepriv, prepriv_papers)
    for m in pkgutil.walk_packages(package.__path__, f"{package.__name__}.")
    if not m.name.endswith("__main__")
]
RAISES = re.compile(r"\braise [A-Z]|\b(number|integer|length|choice|truth|check_\w+)\(")
SAYS_SO = re.compile(r"Error|[Rr]aise|refuse|Refused")


def told(thing):
    """Its docstring; of a class with those of its own classes above it, which say what they have in common."""
    if not inspect.isclass(thing):
        return inspect.getdoc(thing) or ""
    ours = [k for k in thing.__mro__ if k.__module__.startswith("prepriv.")]
    return "\n".join(k.__doc__ or "" for k in ours)


def parameters(thing):
    if inspect.isclass(thing):
        if not dataclasses.is_dataclass(thing):
            return []
        return [f.name for f in dataclasses.fields(thing) if f.init and not f.name.startswith("_")]
    return [p for p in inspect.signature(thing).parameters if not p.startswith("_")]


@pytest.mark.parametrize("module, name", NAMES, ids=[".".join(pair) for pair in NAMES])
def test_a_public_name_says_what_it_takes_and_refuses(module, name):
    thing = getattr(import_module(f"prepriv.{module}"), name)
    if not (inspect.isclass(thing) or inspect.isfunction(thing)):
        return  # an alias of a type
    assert thing.__doc__ and not thing.__doc__.startswith(f"{name}("), "no docstring"
    text = told(thing)
    missing = [p for p in parameters(thing) if not re.search(rf"\b{re.escape(p)}\b", text)]
    assert not missing, f"says nothing of {missing}"
    made = thing.__dict__.get("__post_init__") if inspect.isclass(thing) else thing
    if made is not None and RAISES.search(inspect.getsource(made)):
        assert SAYS_SO.search(text), "says nothing of what it refuses"


@pytest.mark.parametrize("module", ["preprocessing"])
def test_a_step_names_its_proof_or_source(module):
    """In its own docstring or at the head of its file."""
    pre = import_module(f"prepriv.{module}")
    for name in pre.__all__:
        thing = getattr(pre, name)
        if inspect.isclass(thing) and issubclass(thing, pre.Step) and not inspect.isabstract(thing):
            page = told(thing) + (inspect.getmodule(thing).__doc__ or "")
            assert re.search(r"docs/proofs/\w+\.md", page), name


@pytest.mark.parametrize("name", EXAMPLES)
def test_examples_run(name):
    module = import_module(name)
    assert doctest.testmod(module).failed == 0
