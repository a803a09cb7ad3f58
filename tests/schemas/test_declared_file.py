"""YAML in which something is declared: what repeats itself is bounded before it is built."""

import pytest

from prepriv.schemas.declared_file import MOST_ALIASED, BadSchema, parse_yaml


def merging(depth):
    """Each key merges the one above twice: 2^depth entries, forty seconds of version 0.2."""
    rest = [f"a{i}: &a{i} {{<<: [*a{i - 1}, *a{i - 1}], x{i}: 1}}" for i in range(1, depth)]
    return "\n".join(["a0: &a0 {x0: 1}", *rest])


def nested(depth):
    rest = [f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 9)}]" for i in range(1, depth)]
    return "\n".join(["a0: &a0 [1, 1, 1]", *rest])


@pytest.mark.parametrize(
    "text,says",
    [
        (merging(26), "aliases"),
        (merging(2), "line 2: .*'<<' merges keys; write each key out"),
        ("a: &a {x: 1}\nb:\n  <<: *a", "line 3: .*'<<' merges keys"),
        (nested(12), f"stand for more than {MOST_ALIASED} entries"),
        ("a: &a [*a]", "stands for itself"),
        ("&a {x: *a}", "stands for itself"),
    ],
)
def test_what_repeats_without_an_end_is_one_sentence(text, says):
    with pytest.raises(BadSchema, match=says):
        parse_yaml(text, "S.yaml")


def test_an_alias_that_repeats_a_little_and_a_long_file_are_read():
    assert parse_yaml("a: &a {low: 0}\nb: *a\nc: ['<<', \"<<\"]", "x") == {
        "a": {"low": 0},
        "b": {"low": 0},
        "c": ["<<", "<<"],
    }
    long = "[" + ",".join(["1"] * (MOST_ALIASED // 10)) + "]"
    assert len(parse_yaml(f"a: &a {long}\nb: [*a, *a, *a]", "x")["b"]) == 3
