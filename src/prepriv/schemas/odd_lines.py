"""Which lines of a YAML text are written in a way that what they declare does not need: text can be hidden there."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from decimal import Decimal, InvalidOperation

import yaml

from prepriv.schemas.declared_file import compose_yaml

_LONGER = "a number is written longer than its value needs"
_ESCAPED = "a text is written with escapes that it does not need"
_NOTHING = "there are spaces at the end, characters that do nothing, or more than two empty lines in a row"
_ENDS = "the line ends otherwise than the first one"
LAYOUT = "there are several spaces in a row, or the indentation is not that of the other lines"
"""Spellings of a file that are layout alone: text can be written as numbers of spaces, and nobody can read it there."""
_MOST_A_LEVEL = 8  # spaces
_BOUNDS = ("low", "high", "threshold")  # floats: a whole number can have more digits than one keeps
_NUMBERS = (*_BOUNDS, "rows", "rows_per_unit", "features")  # a text becomes a number, too
_OF_LAYOUT = set(" -:,[]{}")
_UNREAD = set("#&*!%|>")  # comments and the like
_TIME = r"(?:(?:0|-?[1-9][0-9]*) days?, )?[0-9]{1,2}:[0-9]{2}(?::[0-9]{2})?"
_DATE = r"[0-9]{4}-[0-9]{2}-[0-9]{2}|[0-9]{1,2}([./-])[0-9]{1,2}\1[0-9]{4}"
_DATED = re.compile(rf"(?:{_DATE})(?: {_TIME})?|{_TIME}")  # bounds of columns of dates or times
_GROUPED = re.compile(r"[-+]?[0-9]{1,3}(?:_[0-9]{3})+")


def unread_lines(text: str) -> int:
    """How many lines of a YAML text hold what declares nothing: comments, and names of anchors, tags and directives."""
    read = [
        one
        for one in yaml.scan(text, Loader=yaml.SafeLoader)
        if isinstance(one, yaml.ScalarToken) and one.style not in ("|", ">")
    ]
    return sum(not _UNREAD.isdisjoint(line) for line in _without(text, read).splitlines())


def odd_lines(written: str) -> dict[str, list[int]]:
    """The lines of a valid schema, with the line endings of its file, at which a spelling can hide text: what stands there, and the numbers of the lines."""
    ends = re.findall(r"\r\n|\r|\n", written)
    text = re.sub(r"\r\n?", "\n", written).removeprefix("\ufeff")
    root = compose_yaml(text)
    scalars = [] if root is None else [*_scalars(root)]
    rest = _without(text, (node for node, _ in scalars))
    tokens = [one for one in yaml.scan(text, Loader=yaml.SafeLoader) if isinstance(one, yaml.ScalarToken)]
    found = {
        _LONGER: [node for node, key in scalars if _is_number(node, key) and not _is_usual(node, key)],
        _ESCAPED: [node for node, _ in scalars if not _is_plain(node, text)],
    }
    lines = {
        what: {text.count("\n", 0, node.start_mark.index) + 1 for node in nodes}
        for what, nodes in found.items()
    }
    lines[_NOTHING] = {
        number
        for number, (line, beside) in enumerate(zip(text.split("\n"), rest.split("\n"), strict=True), 1)
        if line != line.rstrip() or (_UNREAD.isdisjoint(beside) and set(beside) - _OF_LAYOUT)
    } | {text.count("\n", 0, run.start()) + 1 for run in re.finditer(r"(?:\A|(?<=\n))\n{3,}", text)}
    lines[LAYOUT] = _laid_out_oddly(text, tokens)
    lines[_ENDS] = {number for number, end in enumerate(ends, 1) if end != ends[0]}
    return {what: sorted(numbers) for what, numbers in lines.items() if numbers}


def _laid_out_oddly(text: str, scalars: Sequence[yaml.ScalarToken]) -> set[int]:
    """The lines with several spaces in a row, or with an indentation that does not follow from the lines before: one step for all levels, and one for all lines that
    continue the line before. In brackets a line may also stand below what the bracket begins with. What stands in comments and in blocks of text is named as such."""
    shapes = [
        re.sub("(?:^|(?<= ))#.*", "", line).rstrip() for line in _without(text, scalars, "x").split("\n")
    ]
    blocks, begun = set[int](), dict[int, tuple[int, int]]()
    for one in scalars:
        later = range(one.start_mark.line + 1, one.end_mark.line + 1)
        if one.style in ("|", ">"):
            blocks.update(later)
        else:
            begun |= dict.fromkeys(later, (one.start_mark.line, one.start_mark.column + bool(one.style)))
    found = {number for number, shape in enumerate(shapes, 1) if "  " in shape.strip()}
    steps = _steps([*zip(text.split("\n"), shapes)], blocks, begun)
    for kind in steps.values():
        usual = Counter(step for step in kind.values() if 0 < step <= _MOST_A_LEVEL).most_common(1)
        found |= {number for number, step in kind.items() if not usual or step != usual[0][0]}
    return found


def _steps(
    lines: Sequence[tuple[str, str]], blocks: Container[int], begun: Mapping[int, tuple[int, int]]
) -> dict[str, dict[int, int]]:
    """By how many spaces each line is indented more than the line that it belongs to, of lines that begin a level and of those that continue a line.

    lines: each, and the same with x where scalars stand. blocks: the lines, from 0, of blocks of text. begun: of a line that begins in a scalar where that begins: line and column.
    """
    found: dict[str, dict[int, int]] = {"level": {}, "continued": {}}
    levels, brackets, indents = [0], list[tuple[int, int]](), list[int]()
    for at, (line, shape) in enumerate(lines):
        indent = len(line) - len(line.lstrip(" "))
        indents.append(indent)
        if not shape or at in blocks:
            continue
        if opened := begun.get(at) or next(reversed(brackets), None):
            closes = at not in begun and shape.lstrip()[0] in "]}"
            if indent != opened[1] and not (closes and indent == indents[opened[0]]):
                found["continued"][at + 1] = indent - indents[opened[0]]
        else:
            levels = [one for one in levels if one <= indent]
            if not levels or indent > levels[-1]:
                found["level"][at + 1] = indent - (levels[-1] if levels else 0)
                levels.append(indent)
            item = re.match("(?:- )*", shape[indent:])
            levels += [indent + end for end in range(2, len(item[0]) + 1 if item else 0, 2)]
        for column, c in enumerate(shape):
            if c in "[{":
                after = shape[column + 1 :]
                brackets.append((at, column + 1 + len(after) - len(after.lstrip()) if after else -1))
            elif c in "]}" and brackets:
                brackets.pop()
    return found


def _without(text: str, read: Iterable[yaml.Token | yaml.Node], shown: str = " ") -> str:
    """A text with spaces, or another character, where tokens or nodes stand."""
    rest = list(text)
    for one in read:
        start, end = one.start_mark.index, one.end_mark.index
        rest[start:end] = (c if c == "\n" else shown for c in rest[start:end])
    return "".join(rest)


def _scalars(node: yaml.Node, key: str = "") -> Iterator[tuple[yaml.ScalarNode, str]]:
    """Each scalar below a node, and the key at which it stands: "" of an entry of a list, and of a key."""
    if isinstance(node, yaml.ScalarNode):
        yield node, key
    elif isinstance(node, yaml.MappingNode):
        for name, value in node.value:
            yield from _scalars(name)
            yield from _scalars(value, name.value if isinstance(name, yaml.ScalarNode) else "")
    else:
        for one in node.value:
            yield from _scalars(one)


def _is_number(node: yaml.ScalarNode, key: str) -> bool:
    kind = node.tag.rpartition(":")[2]
    return kind in ("int", "float") or (kind == "str" and key in _NUMBERS)


def _is_usual(node: yaml.ScalarNode, key: str) -> bool:
    """Whether a number, or a date, is written as people and programs write it: with two zeros more than it needs at most."""
    text = node.value.lower().removeprefix("+")
    whole = text.replace("_", "") if _GROUPED.fullmatch(text) else text
    if _DATED.fullmatch(text) or (key not in _BOUNDS and re.fullmatch("-?[1-9][0-9]*", whole)):
        return True
    try:
        needed = Decimal(repr(float(whole))).normalize()
        plain, first = f"{needed:f}", needed.adjusted()
    except (ValueError, InvalidOperation):
        return False
    point = plain if "." in plain else f"{plain}."
    ways = {plain, *(point + "0" * more for more in range(3))}
    ways |= {way.replace("0.", ".", 1) for way in ways}
    if needed:
        shifted = [(f"{needed.scaleb(by - first):f}", first - by) for by in range(3)]
        ways |= {f"{digits}{dot}e{power}" for digits, power in shifted for dot in ("", ".0")}
    return re.sub(r"e\+?(-?)0?(?=[0-9])", r"e\1", whole) in ways


def _is_plain(node: yaml.ScalarNode, text: str) -> bool:
    """Whether a text stands as it is, or with the escapes that its quotes need. Spaces and line ends in it are layout."""
    raw, value = text[node.start_mark.index : node.end_mark.index], node.value
    raw = re.sub(r"\A(?:[&!]\S*\s+)+", "", raw)  # `unread_lines`
    if node.style in ("|", ">"):
        return True  # `unread_lines`
    ways = {value}
    if node.style == "'":
        ways = {value.replace("'", "''")}
    elif node.style == '"':
        ways = {json.dumps(value, ensure_ascii=ascii)[1:-1] for ascii in (True, False)}
        ways |= {
            yaml.dump(value, default_style='"', allow_unicode=wide, width=10**9).strip()[1:-1]
            for wide in (True, False)
            if "\\" in raw
        }
    raw = raw[1:-1] if node.style else raw
    return re.sub("[ \n]", "", raw) in {re.sub("[ \n]", "", way) for way in ways}
