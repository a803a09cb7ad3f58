"""A learner declared in a file, by the names it has in Python: `{kind: PoissonSGD, batch_size: 256, loss: Logistic}`."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any, TypeVar

from prepriv import learners
from prepriv.learners import Learner, Loss
from prepriv.learners.names import OLD_NAMES
from prepriv.schemas.declared_file import BadSchema

_Kind = TypeVar("_Kind")


def kinds(base: type[_Kind]) -> dict[str, type[_Kind]]:
    """Every learner, or every loss, of `prepriv.learners` by name."""
    found = (getattr(learners, name) for name in learners.__all__)
    return {k.__name__: k for k in found if issubclass(k, base) and not inspect.isabstract(k)}


def find(base: type[_Kind], name: Any) -> type[_Kind]:
    """The learner or loss of this name. Raises BadSchema."""
    named = kinds(base)
    found = named.get(OLD_NAMES.get(name, name)) if isinstance(name, str) else None
    if found is None:
        what = "loss" if issubclass(base, Loss) else "kind"
        raise BadSchema(f"learner: {what} must be one of {', '.join(sorted(named))}; got {name!r}")
    return found


def build_loss(options: dict[str, Any], default: str = "Softmax") -> Loss:
    """The loss that `options` name, with its own options, all taken out of them. Raises BadSchema."""
    named = options.pop("loss", default)
    if isinstance(named, Mapping):
        name = next((named[key] for key in ("kind", "name", "loss") if key in named), "NAME")
        raise BadSchema(
            f"learner: loss is a name, and its options stand beside it: {{..., loss: {name}, ...}}"
        )
    kind = find(Loss, named)  # type: ignore[type-abstract]
    fields = inspect.signature(kind).parameters
    given = {name: options.pop(name) for name in list(options) if name in fields}
    try:
        return kind(**given)
    except TypeError:
        needed = next((n for n, p in fields.items() if p.default is p.empty and n not in given), "")
        raise BadSchema(f"learner: {kind.__name__} needs {needed}") from None
    except ValueError as error:
        raise BadSchema(f"learner: {error}") from None


def build_learner(declared: Mapping[str, Any], loss: str = "Softmax") -> Learner:
    """The learner of a mapping: kind, loss (a name, `loss` without one), and the options of both by name.

    Raises BadSchema with the reason.
    """
    options = dict(declared)
    kind = find(Learner, options.pop("kind", None))  # type: ignore[type-abstract]
    with_loss = build_loss(options, loss)
    unknown = sorted(set(options) - set(inspect.signature(kind).parameters))
    if unknown:
        raise BadSchema(
            f"learner: {kind.__name__} with {type(with_loss).__name__} has no option {unknown[0]!r}"
        )
    try:
        return kind(loss=with_loss, **options)  # type: ignore[call-arg]
    except (TypeError, ValueError) as error:
        raise BadSchema(f"learner: {error}") from None
