"""An option that takes one value and is given twice is refused before anything is read or charged: none is dropped without a word."""

from __future__ import annotations

import pytest
import typer

from prepriv.cli import run
from prepriv.commands.app import app
from prepriv.commands.exits import usage_errors
from prepriv.commands.once import takes_one_value


def leaves(command, path=()):
    """(names, command) of every command that does something."""
    if not hasattr(command, "commands"):
        return [(path, command)]
    return [leaf for name, c in command.commands.items() for leaf in leaves(c, (*path, name))]


LEAVES = leaves(typer.main.get_command(app))


def arguments_of(command, but=None):
    """Something for each argument and each option that is needed, none of which is a file that exists."""
    words = []
    for p in command.params:
        if p.required and p is not but:
            words += ["1"] if p.param_type_name == "argument" else [p.opts[0], "1"]
    return words


@pytest.mark.parametrize("path, command", LEAVES, ids=lambda x: " ".join(x) if isinstance(x, tuple) else "")
def test_every_option_of_one_value_is_given_once(path, command):
    for option in filter(takes_one_value, command.params):
        words = [*arguments_of(command, but=option), option.opts[0], "1", f"{option.opts[0]}=2"]
        with pytest.raises(usage_errors()[0]) as refused:
            command.make_context(" ".join(path), words)
        assert f"{option.opts[0]} is given twice; it takes " in refused.value.format_message()


def test_each_kind_of_option_is_among_them():
    """That the walk finds commands and options at all."""
    once = {(path, p.opts[0]) for path, command in LEAVES for p in command.params if takes_one_value(p)}
    assert {(("train",), "--by"), (("describe",), "--by"), (("ledger", "create"), "--epsilon")} <= once
    assert (
        len(once) > 100
        and not {
            (("evaluate",), "--measure"),
            (("predict",), "--keep"),
            (("predict",), "--json"),
        }
        & once
    )


@pytest.mark.parametrize(
    "option, told", [("--by", "add a column with the pairs"), ("--epsilon", "give it once")]
)
def test_what_to_do_instead_is_said(option, told, capsys):
    line = ["train", "t.csv", "--schema", "s.yaml", option, "1", option, "2", option, "3"]
    assert run(line) == 2
    err = capsys.readouterr().err
    assert err.startswith(f"prepriv: {option} is given 3 times; ") and told in err


def test_what_may_be_repeated_is_left_alone(capsys):
    assert run(["report", "nowhere", "--json", "--json"]) == 2
    assert "given" not in capsys.readouterr().err
    assert run(["evaluate", "m", "t.csv", "--measure", "accuracy", "--measure", "confusion"]) == 2
    assert "given" not in capsys.readouterr().err
    assert run(["train", "--by", "a", "--by", "b", "--help"]) == 0  # help is answered first
