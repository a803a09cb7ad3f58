"""Planted bugs: texts through a fixed network."""

from __future__ import annotations

from mutant import Mutant

TESTS = "tests/tables/test_sentences.py"
KIND = "a network that is not the one it is said to be, or rows that depend on each other"


def killed(which: str) -> tuple[str, ...]:
    """The tests of sentences whose name holds `which`."""
    return (TESTS, "-k", which)


MUTANTS: tuple[Mutant, ...] = (
    Mutant(
        "any weights pass for the network that is named",
        KIND,
        "tables/sentences.py",
        "if hashlib.sha256(content[name]).hexdigest() != sha256:",
        "if not content[name]:",
        killed("another_network"),
    ),
    Mutant(
        "the network is looked for after the charge",
        "a refusal that costs",
        "placed/rows.py",
        "        if self.domain.encoded_texts:\n            sentence_network()\n",
        "",
        killed("another_network"),
    ),
    Mutant(
        "a claim does not say what it rests on",
        "a premise that nobody reads",
        "placed/chain.py",
        "((HOLDS_ONLY,) if self.texts else ())",
        "((HOLDS_ONLY,) if self.tested else ())",
        killed("premise"),
    ),
    Mutant(
        "texts of one table share their sum",
        KIND,
        "tables/sentences.py",
        "row[:] = network.row(one)",
        "row[:] = network.row(one) + 1e-6 * out[0]",
        killed("same_bits"),
    ),
    Mutant(
        "rows a seventh digit longer than declared",
        "a space that does not hold its rows",
        "tables/table.py",
        "return np.asarray(x / np.where(norms > 0, norms, 1.0))",
        "return x",
        killed("leaves_the_space"),
    ),
    Mutant(
        "a text can say where it ends",
        KIND,
        "tables/sentences.py",
        "for word in _words(text):",
        "for word in text.split():",
        killed("cut_as"),
    ),
    Mutant(
        "a model is read with another network than it names",
        KIND,
        "columns.py",
        'if data.get("network", "") != column.way.get("network", ""):',
        'if data.get("network", "") and not column.way:',
        killed("reads_back"),
    ),
)
