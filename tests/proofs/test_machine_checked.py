"""Machine-checked theorems, the pages that name them, and the package's functions beside what Coq computed."""

from __future__ import annotations

import importlib.util
import re
import sys
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parents[2]


def _tool() -> ModuleType:
    spec = importlib.util.spec_from_file_location("coq_theorems", ROOT / "proofs" / "coq" / "theorems.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


tool = _tool()


def test_every_page_says_what_the_sources_say():
    old = [path.name for path, text in tool.made().items() if path.read_text(encoding="utf-8") != text]
    assert not old, f"run python proofs/coq/theorems.py pages: {old}"


def test_every_theorem_is_named_on_a_page_and_every_name_is_a_theorem():
    found = {(t.file, t.name, page) for t in tool.theorems() for page in t.pages}
    named = set()
    for page in tool.PAGES.glob("*.md"):
        if page != tool.TABLE:
            section = page.read_text(encoding="utf-8").partition(tool.HEAD)[2]
            named |= {(f, n, page.name) for f, n in re.findall(r"^- `(\w+)\.v`, `(\w+)`", section, re.M)}
    assert named == found


def test_names_are_unique():
    names = [t.name for t in tool.theorems()]
    assert len(names) == len(set(names))


@pytest.mark.parametrize("theorem", tool.theorems(), ids=lambda t: t.name)
def test_the_code_that_a_theorem_speaks_of_is_there(theorem):
    for path, names in tool.code_of(theorem):
        text = (ROOT / "src" / "prepriv" / path).read_text(encoding="utf-8")
        missing = [n for n in names if not re.search(rf"\b(?:class|def) {n}\b|^{n}\b", text, re.M)]
        assert not missing, f"{path}: {missing}"


def test_an_axiom_an_unfinished_proof_and_a_missing_answer_are_refused(tmp_path, monkeypatch):
    theorems = tool.theorems()[:2]
    closed = "Closed under the global context\n"
    reals = "Axioms:\nClassicalDedekindReals.sig_forall_dec\n  : forall P : nat -> Prop, P 0\n"
    assert tool.refused(closed + reals, theorems) == []
    assert tool.refused(closed + "Axioms:\nshortcut : False\n", theorems) == ["shortcut"]
    assert tool.refused(closed, theorems) == ["1 answers for 2 theorems"]
    monkeypatch.setattr(tool, "HERE", tmp_path)
    (tmp_path / "x.v").write_text("(** [mean.md; no code: none] One. *)\nTheorem t : True.\nAdmitted.\n")
    with pytest.raises(ValueError, match="not finished"):
        tool.theorems()
    (tmp_path / "x.v").write_text("Theorem t : True.\nProof. by []. Qed.\n")
    with pytest.raises(ValueError, match="comments and theorems differ"):
        tool.theorems()
