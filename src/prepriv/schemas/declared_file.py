"""Files in which something is declared: YAML read as it is written, and its mistakes as sentences."""

from __future__ import annotations

import re
from collections.abc import Hashable
from pathlib import Path
from typing import Any

import yaml
from pydantic import ValidationError


class BadSchema(ValueError):
    """The file cannot be used; the message says where and why."""


MOST_ALIASED = 100_000  # entries in all that aliases (*name) may stand for
_MERGE = "tag:yaml.org,2002:merge"


class _Loader(yaml.SafeLoader):
    """YAML without the surprises of its version 1.1: yes, no, on, off, 010 and 2020-01-31 are texts, as in a table.

    A key that stands twice is an error, and so are what repeats without an end in sight: merge keys, and aliases that
    make more of the file than stands in it (`MOST_ALIASED`).
    """

    def get_single_node(self) -> yaml.Node | None:
        root = super().get_single_node()
        if root is not None:
            _check_size(root)
        return root

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:
        seen = set()
        for key, _ in node.value:
            if key.tag == _MERGE:
                raise yaml.constructor.ConstructorError(
                    problem="'<<' merges keys; write each key out", problem_mark=key.start_mark
                )
            if isinstance(key, yaml.ScalarNode):
                if (key.tag, key.value) in seen:
                    raise yaml.constructor.ConstructorError(
                        problem=f"{key.value!r} stands twice", problem_mark=key.start_mark
                    )
                seen.add((key.tag, key.value))
        return super().construct_mapping(node, deep=deep)


def _check_size(root: yaml.Node) -> None:
    """ComposerError where aliases stand for more than `MOST_ALIASED` entries in all, or one for itself."""
    sizes: dict[
        int, int | None
    ] = {}  # of a node with all in it as often as it stands there; None: it is being counted

    def size(node: yaml.Node) -> int:
        if id(node) in sizes:
            known = sizes[id(node)]
            if known is None:
                raise yaml.composer.ComposerError(
                    problem="an alias stands for itself", problem_mark=node.start_mark
                )
            return known
        sizes[id(node)] = None
        parts = node.value if isinstance(node, yaml.CollectionNode) else ()
        inner = [part for entry in parts for part in (entry if isinstance(entry, tuple) else (entry,))]
        sizes[id(node)] = total = 1 + sum(map(size, inner))
        return total

    if size(root) > len(sizes) + MOST_ALIASED:
        raise yaml.composer.ComposerError(
            problem=f"its aliases (*name) stand for more than {MOST_ALIASED} entries; write out what is meant",
            problem_mark=root.start_mark,
        )


_Loader.yaml_implicit_resolvers = {}
for _tag, _pattern, _first in (
    ("bool", r"true|True|TRUE|false|False|FALSE", "tTfF"),
    ("int", r"[-+]?(?:0|[1-9][0-9]*)", "-+0123456789"),
    ("float", r"[-+]?(?:(?:0|[1-9][0-9]*)(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][-+]?[0-9]+)?", "-+0123456789."),
    ("float", r"[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)", "-+."),
    ("null", r"~|null|Null|NULL|", ["~", "n", "N", ""]),
    ("merge", r"<<", "<"),
):
    _Loader.add_implicit_resolver(f"tag:yaml.org,2002:{_tag}", re.compile(f"(?:{_pattern})$"), list(_first))


class _Dumper(yaml.SafeDumper):
    """Quotes each text that some reader of YAML, this one or one of version 1.1, takes for something else: a column called 1e3."""


_Dumper.yaml_implicit_resolvers = {
    first: [
        *yaml.SafeDumper.yaml_implicit_resolvers.get(first, ()),
        *_Loader.yaml_implicit_resolvers.get(first, ()),
    ]
    for first in {*yaml.SafeDumper.yaml_implicit_resolvers, *_Loader.yaml_implicit_resolvers}
}


def written_yaml(body: Any) -> str:
    """A declaration as YAML that `read_yaml` reads back."""
    return yaml.dump(body, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=110)


def read_yaml(path: Path) -> Any:
    """What a YAML file says. Raises BadSchema with the line of a mistake."""
    try:
        text = path.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        raise BadSchema(f"{path} is not UTF-8 text; save it as UTF-8") from None
    except OSError as error:
        raise BadSchema(f"{path} cannot be read: {error.strerror}") from None
    return parse_yaml(text, path)


def compose_yaml(text: str) -> yaml.Node | None:
    """The nodes of a valid YAML text, with the places at which they stand; None of an empty one."""
    loader = _Loader(text)
    try:
        return loader.get_single_node()
    finally:
        loader.dispose()


def parse_yaml(text: str, name: object) -> Any:
    """What a YAML text says; name: where it stands. Raises BadSchema with the line of a mistake."""
    try:
        loader = _Loader(text)
        try:
            return loader.get_single_data()
        finally:
            loader.dispose()
    except yaml.MarkedYAMLError as error:
        at = f", line {error.problem_mark.line + 1}" if error.problem_mark else ""
        raise BadSchema(f"{name}{at}: not valid YAML, {error.problem or 'it cannot be read'}") from None
    except (yaml.YAMLError, ValueError, LookupError, TypeError, AttributeError, RecursionError):
        raise BadSchema(f"{name} is not valid YAML") from None


_PLAIN = {  # pydantic's types of errors that name its own inner workings
    "dict_type": "must be keys and values",
    "extra_forbidden": "no such key",
    "missing": "is missing",
    "model_type": "must be keys and values",
    "too_short": "needs at least {min_length} entries",
    "union_tag_invalid": "{discriminator} must be one of {expected_tags}",
    "union_tag_not_found": "needs a {discriminator}",
}


def sentence(path: Path, error: ValidationError) -> BadSchema:
    """The first mistake that pydantic found, as one line."""
    first = error.errors()[0]
    where = ".".join(str(part) for part in first["loc"])
    plain = _PLAIN.get(first["type"])
    if plain:
        told = plain.format(**first.get("ctx", {}))
        if first["type"] == "dict_type" and where.startswith("steps."):
            told += ", as in - {step: MeanImputer, pay: budget}"
    elif first["type"] == "value_error":  # a sentence of ours
        told = first["msg"].removeprefix("Value error, ")
    else:
        told = first["msg"].lower()
    return BadSchema(f"{path}: {where}: {told}" if where else f"{path}: {told}")
