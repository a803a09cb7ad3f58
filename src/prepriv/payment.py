"""The ways to pay for a pre-processing step that depends on data: three for the steps of prepriv, a fourth for those of scikit-learn.

A step that does not depend on data (clip, one-hot by declared categories, a fixed grid) is free and takes
no payment.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields
from numbers import Number
from os import PathLike
from types import MappingProxyType
from typing import Any, ClassVar, Protocol, TypeAlias, TypeVar

from prepriv._arguments import Frozen, number, real, settle, shown
from prepriv._kinds import is_ours
from prepriv.adjacency import Adjacency, n_is_public
from prepriv.guarantees.printed import percent
from prepriv.sketches.signal import check_of
from prepriv.sketches.sketch_plan import Needs, SketchPlan


class Access(Protocol):
    """What a fit may see. Each payment gives access to what it pays for, and to nothing else.

    Notes
    -----
    A protocol: the runner of a plan hands one to `Way.fit`.

    Examples
    --------
    >>> from prepriv.payment import Access
    >>> [name for name in vars(Access) if not name.startswith("_")]
    ['n', 'public', 'private', 'mechanisms', 'sketch']
    """

    @property
    def n(self) -> int:
        """The declared number of private records."""

    def public(self, data: Any) -> tuple[Any, int]:
        """(rows, their number) of a public table, after the released maps of the earlier steps."""

    def private(self) -> Any:
        """The private rows as they reach the step."""

    def mechanisms(self) -> Any:
        """The mechanisms that its share pays for (`mechanisms.handle.Mechanisms`)."""

    def sketch(self) -> Any:
        """The sketch of the raw table that its share pays for (`sketches.tablesketch.TableSketch`)."""


__all__ = ["Access", "Budget", "Caps", "Payment", "Public", "Sensitivity", "Sketch", "Way", "check_payment"]

C = TypeVar("C", bound="Caps")


@dataclass(frozen=True, eq=False)
class Caps(Mapping[str, Any]):
    """What is declared about the data for one step, checked when it is made: a mapping of the caps that are declared.

    Notes
    -----
    A subclass names its caps as fields, each with a default, and says their units. This class has none, for a step
    that needs none. A cap by column name is copied, and the copy cannot be changed. The class attribute `renamed`
    maps old names of caps to new ones.

    Examples
    --------
    >>> from prepriv.preprocessing import MeanImputer
    >>> dict(MeanImputer.Caps(missing=0.02))
    {'missing': 0.02}
    """

    renamed: ClassVar[Mapping[str, str]] = MappingProxyType({})
    _words: ClassVar[tuple[str, ...]] = ("of_part",)

    def __post_init__(self) -> None:
        for f in fields(self):
            if isinstance(getattr(self, f.name), Mapping):
                settle(self, **{f.name: Frozen.of(getattr(self, f.name))})

    def of_part(self, whole: int) -> Caps:
        """The same caps for a part of the records that coins choose, with so many records in it. A share of all records becomes a number.

        This is not assumed for the caps of a subclass, which has to define it.
        """
        return self

    def _declared(self) -> dict[str, Any]:
        said = {f.name: getattr(self, f.name) for f in fields(self)}
        return {f.name: said[f.name] for f in fields(self) if said[f.name] != f.default}

    def __getitem__(self, name: str) -> Any:
        return self._declared()[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._declared())

    def __len__(self) -> int:
        return len(self._declared())

    @classmethod
    def of(cls: type[C], step: str, payment: Way) -> C:
        """The caps of a payment, or the defaults if it declares none.

        ValueError for a name that the step does not have (a typo would cap nothing), and for the caps of another
        step.
        """
        declared, known = payment.caps, [f.name for f in fields(cls)]
        if isinstance(declared, Caps):
            if type(declared) is not cls:
                raise ValueError(
                    f"{step} takes {cls.__qualname__}, or a mapping; got {type(declared).__qualname__}"
                )
            return declared
        for name in sorted(set(declared) - set(known)):
            if name in cls.renamed:
                raise ValueError(f"the cap {name!r} is called {cls.renamed[name]!r} since 0.2.0")
            has = f"it has {', '.join(known)}" if known else "it needs none"
            raise ValueError(f"{step} has no cap {name!r}; {has}")
        return cls(**declared)


class Way:
    """How a step is paid for: what it may be fitted on, what may be released, and how far apart neighbours are after it.

    Attributes
    ----------
    way : str
        A class attribute: the name of the way, "free", "public", "budget", "sensitivity" or "sketch".
    private : bool
        A class attribute: whether private rows are read.
    leaves : bool
        A class attribute: whether the fitted map may be released.
    share, test : float
        Shares of the whole budget, in mu squared, that a mechanism of the step and a test of its caps take.
    caps : mapping
        What is declared about the data.
    data : table or None
        The public table.

    Examples
    --------
    >>> import prepriv
    >>> prepriv.Budget(0.1).leaves, prepriv.Sensitivity().leaves
    (True, False)
    """

    way: ClassVar[str] = "free"
    private: ClassVar[bool] = False
    leaves: ClassVar[bool] = True
    share: float = 0.0
    test: float = 0.0
    caps: Mapping[str, Any] = MappingProxyType({})
    data: Any = None

    @property
    def left_open(self) -> bool:
        """Whether the plan chooses the share, since it knows how much is enough."""
        return False

    def terms(self) -> str:
        """What the step costs, in words."""
        return "nothing"

    def check(self, step: Any, adjacency: Adjacency, release: bool) -> None:
        """ValueError if the step cannot be paid for in this way. release: whether a model will be released."""

    def sketch_of(self, step: Any, domain: Any, mu: float, first: bool) -> Any:
        """The plan of the sketch that it pays for (`sketches.sketch_plan.SketchPlan`). None for every other way."""
        return None

    def outgoing(self, step: Any, space: Any, n: int, incoming: Any) -> Any:
        """The shift of the common rows after the step. Here the map is the same for both neighbours."""
        return step.propagate(space, incoming)

    def fit(self, step: Any, space: Any, access: Access) -> tuple[Any, Any]:
        """(map of the training rows, map that may be released)."""
        fitted = step.free(space)
        return fitted, fitted


FREE = Way()
"""Of a step that depends on no data."""

_LEAST_SHARE = 1e-12  # of the budget: less buys noise that fits no 64 bits


@dataclass(frozen=True, eq=False)
class Public(Way):
    """Fit a step on public records, which costs nothing.

    Parameters
    ----------
    data : matrix or table, (rows, columns)
        A table with the columns of the private one: a NumPy matrix, or a pandas, polars or Arrow table. None is
        enough for an account or a price, where nothing is fitted. A plan that is carried out refuses None.

    Raises
    ------
    ValueError
        If `data` is a path, a text, a number, a mapping or a class, since none of these is a table. Also, before a
        run is charged, if it is the private table, its memory (a view, a slice, a frame over it) or its file.

    Notes
    -----
    You claim that the table is public and holds no private record. A copy of private rows is not found, because no
    cell is compared. Proof: docs/proofs/chaining.md.

    Examples
    --------
    >>> import numpy as np, prepriv
    >>> from prepriv.preprocessing import StandardScaler
    >>> survey = np.array([[0.1, 0.7], [0.4, 0.9], [0.2, 0.3]])  # published elsewhere
    >>> StandardScaler(payment=prepriv.Public(survey)).way
    'public'
    """

    way: ClassVar[str] = "public"
    data: Any = None

    def __post_init__(self) -> None:
        if isinstance(self.data, str | bytes | PathLike | Number | Mapping | type):
            raise ValueError(
                f"data must be the public table itself, a matrix or a frame; got {shown(self.data)}"
            )

    def __copy__(self) -> Public:
        return self

    def __deepcopy__(self, _memo: Any) -> Public:
        return self  # the table it was declared with: a copy of it could be one of the private rows, unseen

    def terms(self) -> str:
        return "a public table with the same columns"

    def fit(self, step: Any, space: Any, access: Access) -> tuple[Any, Any]:
        rows, n = access.public(self.data)
        fitted = step.fit_public(rows, space, n)
        return fitted, fitted


@dataclass(frozen=True)
class Budget(Way):
    """Fit a step by a differentially private mechanism. The result may be released.

    Parameters
    ----------
    share : float, default 0.02
        Share of the whole budget, in mu squared, which is the quantity that adds up under composition. At least
        1e-12, below 1.

    Raises
    ------
    ValueError
        If `share` is outside these bounds.

    Notes
    -----
    The shares of all steps and tests of a plan must add up to less than 1. Training gets the rest. Proof:
    docs/proofs/composition.md.

    Examples
    --------
    >>> import prepriv
    >>> from prepriv.preprocessing import Center
    >>> prepriv.Budget(share=0.05).terms()
    '5% of the budget; may be released'
    >>> Center(payment=prepriv.Budget()).way
    'budget'
    """

    way: ClassVar[str] = "budget"
    private: ClassVar[bool] = True
    share: float = 0.02

    def __post_init__(self) -> None:
        settle(self, share=number("share", self.share, at_least=_LEAST_SHARE, below=1.0))

    def terms(self) -> str:
        return f"{percent(self.share)} of the budget; may be released"

    def fit(self, step: Any, space: Any, access: Access) -> tuple[Any, Any]:
        fitted = step.fit_budget(access.private(), space, access.n, access.mechanisms())
        return fitted, fitted


@dataclass(frozen=True)
class Sensitivity(Way):
    """Fit a step on the private records without noise. Every later mechanism adds more noise instead.

    Parameters
    ----------
    caps : mapping or Caps, default {}
        What is declared about the data to bound the sensitivity: the step's own object, such as
        `MeanImputer.Caps(missing=0.02)`, or a mapping such as `{"missing": 0.02}`, which the step checks when it is
        made. The page of the step has the units.
    test : float, default 0.0
        Share of the budget, in mu squared, for a propose-test-release of the caps. The guarantee is then
        unconditional. A data set too close to breaking the caps is refused, and the run is still charged in full. At
        0 there is no test, and the guarantee is conditional on the caps. Otherwise at least 1e-12, below 1.

    Raises
    ------
    ValueError
        If `caps` is not a mapping of names, or `test` is outside its bounds. When the step is made: for a cap that
        the step does not have.

    Notes
    -----
    The fitted state is never released, and it is deleted when the run ends. It needs replace-one. Proofs:
    docs/proofs/chaining.md, docs/proofs/propose_test_release.md.

    Examples
    --------
    >>> import prepriv
    >>> from prepriv.preprocessing import MeanImputer
    >>> payment = prepriv.Sensitivity(MeanImputer.Caps(missing=0.02), test=0.1)
    >>> payment.terms()
    'missing 0.02, tested with 10% of the budget; never released'
    >>> MeanImputer(payment=payment).way
    'sensitivity'
    """

    way: ClassVar[str] = "sensitivity"
    private: ClassVar[bool] = True
    leaves: ClassVar[bool] = False
    caps: Mapping[str, Any] = field(default_factory=dict)
    test: float = 0.0

    def __post_init__(self) -> None:
        if not isinstance(self.caps, Mapping) or not all(isinstance(name, str) for name in self.caps):
            raise ValueError(
                f"caps must be a mapping of names, such as {{'missing': 0.02}}; got {shown(self.caps)}"
            )
        if not isinstance(self.caps, Caps):
            settle(self, caps=Frozen.of(self.caps))
        if real(self.test) != 0.0:
            number("test, a share of the budget,", self.test, at_least=_LEAST_SHARE, below=1.0)
        settle(self, test=real(self.test))

    def terms(self) -> str:
        test = f", tested with {percent(self.test)} of the budget" if self.test else ""
        return (
            ", ".join(f"{k} {v}" for k, v in self.caps.items()) or "default caps"
        ) + f"{test}; never released"

    def check(self, step: Any, adjacency: Adjacency, release: bool) -> None:
        if not n_is_public(adjacency):
            raise ValueError(f"{step.name} is paid for by sensitivity, which needs adjacency replace-one")
        if step.at_prediction and release:
            raise ValueError(
                f"{step.name} is paid for by sensitivity, but the model needs it on new rows and its fitted "
                "state may not leave; pay for it by public data or by budget"
            )

    def outgoing(self, step: Any, space: Any, n: int, incoming: Any) -> Any:
        return step.sensitivity(space, n, incoming)

    def fit(self, step: Any, space: Any, access: Access) -> tuple[Any, Any]:
        leaves = step.prediction_map(space)  # asked before the step has seen a record
        return step.fit_confidential(access.private(), space, access.n), leaves


@dataclass(frozen=True)
class Sketch(Way):
    """Fit transformers of scikit-learn on rows drawn from a private sketch of the table: noisy counts of each column with the label.

    Parameters
    ----------
    share : float or "auto", default "auto"
        Share of the whole budget, in mu squared, that the sketch takes: at least 1e-12, below 1. "auto" takes what is
        enough by the rule of docs/sketch.md, between 1 % and 25 %.

    Raises
    ------
    ValueError
        If `share` is outside these bounds. Later, when a plan is made, if the sketch would carry too little. The
        message then says what would be enough.

    Notes
    -----
    Everything that is fitted on such rows is post-processing. It may be released, and new rows go through the same
    map. This way keeps a pipeline as it is. It is not the most accurate way. Proof: docs/proofs/sketch.md.

    Examples
    --------
    >>> import prepriv
    >>> prepriv.Sketch(share=0.1).terms()
    '10% of the budget; may be released'
    >>> prepriv.Sketch().leaves
    True
    """

    way: ClassVar[str] = "sketch"
    private: ClassVar[bool] = True
    share: Any = "auto"

    def __post_init__(self) -> None:
        if not (isinstance(self.share, str) and self.share == "auto"):
            settle(self, share=number("share", self.share, at_least=_LEAST_SHARE, below=1.0))

    @property
    def left_open(self) -> bool:
        return isinstance(self.share, str)

    def terms(self) -> str:
        share = "what is enough" if self.share == "auto" else percent(self.share)
        return f"{share} of the budget; may be released"

    def sketch_of(self, step: Any, domain: Any, mu: float, first: bool) -> SketchPlan:
        if not is_ours(type(step)):
            raise ValueError(
                f"{step.name} is a step of a third party, and a sketch pays for the transformers of scikit-learn: Fitted.of(pipeline, domain)"
            )
        if not first:
            raise ValueError(
                f"{step.name} is fitted on rows drawn from a sketch of the raw table, so it must be the first step; put all "
                "transformers of scikit-learn into one Pipeline or ColumnTransformer: one sketch pays for all of them"
            )
        # a target is one more column: without pairs it would be drawn apart from the others
        needs: Needs = "pairs" if domain.target is not None and step.needs == "labels" else step.needs
        return SketchPlan(domain, mu, needs, step.relating(needs))

    def fit(self, step: Any, space: Any, access: Access) -> tuple[Any, Any]:
        sketch = access.sketch()
        rows = sketch.encoded(step.rows_wanted(sketch.shape.n))
        fitted = step.fit_drawn(*rows, check_of(sketch.shape))
        return fitted, fitted


Payment: TypeAlias = Public | Budget | Sensitivity | Sketch
_KINDS: tuple[type[Payment], ...] = (Public, Budget, Sensitivity)
WAYS: tuple[str, ...] = tuple(kind.way for kind in _KINDS)
"""Those that each step of prepriv has, or says why not; `Sketch` is for the transformers of scikit-learn."""


def default_payment(way: str) -> Payment:
    """A payment of that way with its defaults. KeyError for a way that there is not.

    >>> default_payment("budget"), default_payment("sketch")
    (Budget(share=0.02), Sketch(share='auto'))
    """
    return {kind.way: kind for kind in (*_KINDS, Sketch)}[way]()


def check_payment(step: str, payment: Any) -> None:
    """Refuse a payment that is neither None nor exactly of one of the four classes. A subclass could claim anything.

    Parameters
    ----------
    step : str
        The name of the step, for the message.
    payment : object
        What was given.

    Raises
    ------
    ValueError
        For anything else.

    Examples
    --------
    >>> import prepriv
    >>> from prepriv.payment import check_payment
    >>> check_payment("Center", prepriv.Budget())
    """
    if payment is None or type(payment) in (Public, Budget, Sensitivity, Sketch):
        return
    if isinstance(payment, type):
        got = f"the class {payment.__name__}: call it, as in {payment.__name__}()"
    else:
        got = type(payment).__name__
    raise ValueError(
        f"payment of {step} must be Public(data), Budget(share), Sensitivity(caps) or Sketch(share), from prepriv; got {got}"
    )


def public_of(value: Any) -> Public | None:
    """`value` where it is a public table, declared as `Public` and not as the payment of a step; None for all others."""
    return value if type(value) is Public else None


def check_fraction(name: str, value: float) -> float:
    """A number in [0, 1], or ValueError."""
    return number(name, value, at_least=0.0, at_most=1.0)
