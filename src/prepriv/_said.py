"""What a class says about code, and of which: the word of a parent about code that a subclass replaces is not its word.

A word is a method or an attribute that a claim rests on: a sensitivity, a Lipschitz constant, an account. It holds for the
code of the class that gives it. A class that replaces that code has to give the word again; the default of the root class
(`Step`, `Learner`, `Premise`) has to be one that claims nothing.
"""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Sequence
from typing import Any

from prepriv._kinds import is_ours

_OF_DATACLASSES = (
    *("__init__", "__post_init__", "__repr__", "__str__", "__eq__", "__hash__", "__setattr__", "__delattr__"),
    *("__replace__", "__dict__", "__weakref__", "__annotate__", "__annotate_func__"),
)
"""What is made again for each class, or says what its fields may be."""

_PLAIN = (bool, int, float, complex, str, bytes, type(None))


def check_said(cls: type[Any], root: type[Any], words: Sequence[str], code: Sequence[str]) -> None:
    """ValueError unless each word of `cls` comes from a class that knows the code it describes, or from the root.

    code: names of the root's methods that the words name. With them counts every other function that a class replaces, but
    the root's words themselves (`_words`), and every constant that a parent gave (no option of a dataclass): any may be used
    from anywhere. Classes of this package are the code that was proved and attacked as it is.
    """
    above = [c for c in cls.__mro__ if c not in root.__mro__]
    for word in words:
        speaker = next((c for c in above if word in vars(c)), None)
        for c in above:
            if speaker is None:
                break
            name = None if is_ours(c) or issubclass(speaker, c) else _replaced(c, above, root, code)
            if name is not None:
                raise ValueError(
                    f"{cls.__name__} takes {word} from {speaker.__name__}, which does not know the {name} of {c.__name__}: say "
                    f"{word} in {c.__name__} itself (where the old one is still true: {word} = {speaker.__name__}.{word})"
                )


def says(cls: type[Any], root: type[Any], word: str, code: Sequence[str]) -> bool:
    """Whether the class gives that word itself, of the code it has: not the root's default, and not a parent's."""
    try:
        check_said(cls, root, (word,), code)
    except ValueError:
        return False
    return any(word in vars(c) for c in cls.__mro__ if c not in root.__mro__)


def _replaced(c: type[Any], above: Sequence[type[Any]], root: type[Any], code: Sequence[str]) -> str | None:
    """The first piece of code that `c` has in place of another class's, or None."""
    parents = above[above.index(c) + 1 :]
    for name, value in vars(c).items():
        if name in code:
            return name
        if name in ("__getattr__", "__getattribute__"):
            return name
        if name in root._words or name in _OF_DATACLASSES:
            continue
        if _is_code(value):
            old = next((vars(p)[name] for p in (*parents, *root.__mro__) if name in vars(p)), None)
            if old is not None and not getattr(old, "__isabstractmethod__", False):
                return name
        elif any(_is_constant(name, p, root) and not _are_same(vars(p)[name], value) for p in parents):
            return name
    return None


def _is_constant(name: str, cls: type[Any], root: type[Any]) -> bool:
    """Whether the class gives that itself, for its code to use: not an option, and nothing that the root leaves to each class."""
    if name not in vars(cls) or name.startswith(("__", "_abc_")):
        return False
    left = any(name in vars(c) or name in inspect.get_annotations(c) for c in root.__mro__)
    return not left and not (
        dataclasses.is_dataclass(cls) and name in {f.name for f in dataclasses.fields(cls)}
    )


def _are_same(old: Any, new: Any) -> bool:
    """Whether a class gives a number or a text again."""
    return type(old) is type(new) and isinstance(old, _PLAIN) and bool(old == new)


def _is_code(value: Any) -> bool:
    return callable(value) or inspect.isdatadescriptor(value) or hasattr(value, "__get__")
