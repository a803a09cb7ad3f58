"""Every public name says what it takes, in which units, and what it refuses; every example in a docstring runs."""

from __future__ import annotations

import dataclasses
import doctest
import inspect
import json
import pkgutil
import re
from importlib import import_module
from pathlib import Path

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


# ------------------------------------------------------------------- what pages and examples import, and the reference

ROOT = Path(__file__).parents[1]
IMPORTS = re.compile(r"^[ \t>.]*from (prepriv(?:\.\w+)*) import (\([^)]*\)|[^\n#`]*)", re.M)
MADE = (
    "Access",
    "Ledger",
)  # not by a user: a protocol, and what class methods with docstrings of their own make


def text_of(page):
    """What it says; of a notebook its cells."""
    said = page.read_text(encoding="utf-8")
    if page.suffix != ".ipynb":
        return said
    return "\n".join("".join(cell["source"]) for cell in json.loads(said)["cells"])


def imported():
    """(module, name) of everything that a page, a notebook or an example imports from prepriv."""
    pages = [p for end in ("md", "ipynb") for p in sorted((ROOT / "docs").rglob(f"*.{end}"))]
    for page in (
        ROOT / "README.md",
        ROOT / "CONTRIBUTING.md",
        *pages,
        *sorted((ROOT / "examples").glob("*.py")),
    ):
        for module, names in IMPORTS.findall(text_of(page)):
            for name in names.strip("() \n\t,").split(","):
                yield module, name.split(" as ")[0].strip()


def listed():
    """(module, name) of everything that docs/reference lists."""
    for page in sorted((ROOT / "docs" / "reference").glob("*.md")):
        for kind, full in re.findall(r"\.\. auto(\w+):: ([\w.]+)", page.read_text(encoding="utf-8")):
            module, _, name = full.rpartition(".")
            yield module, name
            if kind == "module":
                of = import_module(full)
                own = [n for n, x in vars(of).items() if n[0] != "_" and getattr(x, "__module__", "") == full]
                yield from ((full, n) for n in getattr(of, "__all__", own))


def called(pair):
    return getattr(import_module(pair[0]), pair[1])


PUBLISHED = sorted({("prepriv", name) for name in prepriv._HOMES} | set(imported()))
REFERENCE = sorted(set(listed()))
DESCRIBED = list({id(called(pair)): pair for pair in (*REFERENCE, *PUBLISHED)}.values())
DESCRIBED = [pair for pair in DESCRIBED if inspect.isclass(called(pair)) or inspect.isfunction(called(pair))]


def sections(thing):
    """The text of each section of its docstring, by heading; "" is what stands before the first one."""
    found = re.split(r"^(\w[\w ]*)\n-{3,}\n", inspect.getdoc(thing) or "", flags=re.M)
    return {"": found[0]} | dict(zip(found[1::2], found[2::2]))


def stated(thing):
    """The names that its Parameters and Attributes list."""
    said = sections(thing)
    lists = "\n".join(said.get(heading, "") for heading in ("Parameters", "Attributes"))
    lines = [line.partition(" : ")[0] for line in lists.splitlines() if line and not line.startswith(" ")]
    return {name.strip(" *") for line in lines for name in line.split(",")}


def taken(thing):
    """The names of what it takes: an exception, and a class that others make, are not called by a user."""
    if inspect.isclass(thing) and (issubclass(thing, BaseException) or thing.__name__ in MADE):
        return []
    if inspect.isclass(thing) and not dataclasses.is_dataclass(thing):
        return list(inspect.signature(thing).parameters)
    return parameters(thing)


@pytest.mark.parametrize("module, name", DESCRIBED, ids=[".".join(pair) for pair in DESCRIBED])
def test_a_published_name_has_a_docstring_in_numpydoc_form(module, name):
    thing = called((module, name))
    said, names = sections(thing), set(taken(thing))
    summary, _, rest = (inspect.getdoc(thing) or "").partition("\n")
    assert summary.endswith(".") and summary[0].isupper() and rest[:1] in ("", "\n"), (
        "one line says what it is"
    )
    assert names <= stated(thing), f"says nothing of {sorted(names - stated(thing))}"
    if "Attributes" not in said and name not in MADE:
        assert stated(thing) <= names, f"takes no {sorted(stated(thing) - names)}"
    fragments = re.findall(r"^\S.*\n    (Of (?!any\b)[^\n]{0,40})", inspect.getdoc(thing) or "", re.M)
    assert not fragments, f"says whose it is, and not what it is: {fragments}"
    returns = inspect.isfunction(thing) and thing.__annotations__.get("return") not in ("None", None)
    assert "Returns" in said or not returns, "says nothing of what it returns"
    if not (inspect.isclass(thing) and issubclass(thing, BaseException)):
        assert ">>>" in said.get("Examples", ""), "has no example"


@pytest.mark.parametrize("module, name", PUBLISHED, ids=[".".join(pair) for pair in PUBLISHED])
def test_the_reference_lists_it(module, name):
    thing = called((module, name))
    assert any(thing is called(pair) for pair in REFERENCE), "docs/reference does not list it"
