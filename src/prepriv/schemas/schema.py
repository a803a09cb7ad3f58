"""The declared schema: a YAML file that says what is public about a table, and optionally the pipeline.

```yaml
label: {name: income, classes: ["<=50K", ">50K"]}   # or a number to predict: {name: income, low: 0, high: 200000}
#                                 with classes also class_weight: balanced, or {">50K": 3}; or threshold: 0.2 (docs/imbalance.md)
adjacency: replace-one          # or add-or-remove-one, which needs rows:
rows: 39073                     # public: counted before any record is left out for what it holds (no dropna first)
unit: patient_id                # optional: whose row it is, where a person can have several; rows: then counts units
rows_per_unit: 10               # with unit: how many rows of each are read
declared_by: J. Doe, data office   # optional: who answers for this file; the report names them
periods: {column: visited, by: month}  # optional: what `train --period 2026-11` reads by (docs/ledger.md); or by: year
columns:
  age: {type: numeric, low: 17, high: 90, missing: impute}
  workclass: {type: categorical, categories: [Private, State-gov]}
  note: {type: text, features: 1024}   # hashed words and pieces of words; or {type: text, encoder: sentences} (docs/text.md)
steps:                           # optional; the recipe otherwise ("steps: linear": the one without random features; "steps: additive": docs/additive.md; "steps: curves" of a numeric target: docs/regression.md)
  - {step: MeanImputer, pay: sensitivity, missing: {age: 0.03}, test: 0.1}   # test: see payment.Sensitivity
  - {step: Center, pay: budget, share: 0.02}
  - {step: Rescale, radius: 5}   # the last entry may be the name of a recipe for what free steps before it make: [{step: Encode, network: encoder.onnx}, auto]
#                                  and before that name {public: public.csv}, unlabelled public rows whose directions it learns in (docs/pillar.md)
learner: {kind: PoissonSGD, batch_size: 256, steps: 500, loss: Softmax}   # optional: prepriv.learners; the recipe's otherwise
draft: true                      # written by `schema init`: refused until this line is removed
drafted: [{epsilon: 0.2, ...}]   # written by `schema init --epsilon`: what the draft cost, which every model of it claims, too; leave it
pillar: {public: public.csv, standardize: true}   # in place of steps: public PCA and its learner (recipes/pillar.py)
```
"""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable, Sequence
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationError,
    field_validator,
    model_validator,
)

from prepriv import payment as pay
from prepriv import preprocessing as pre
from prepriv.adjacency import ADJACENCIES, Adjacency
from prepriv.columns import Categorical, Column, Numeric, Text
from prepriv.domain import Domain
from prepriv.drafted import Drafted
from prepriv.learners.learner import Learner
from prepriv.periods import Periods
from prepriv.plans.decision import decision
from prepriv.preprocessing.base import Step
from prepriv.recipes.automatic import NAMED
from prepriv.recipes.regression import OF_A_TARGET
from prepriv.schemas.declared_file import BadSchema, parse_yaml, read_yaml, sentence
from prepriv.schemas.declared_learner import build_learner
from prepriv.tables.readers import no_file
from prepriv.tables.written import WAYS_WRITTEN, Written, bound_written


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid")


def _no_truth(value: Any) -> Any:
    if isinstance(value, bool):
        raise ValueError(f"must be a number; got {str(value).lower()}")
    return value


_Bound = Annotated[float, BeforeValidator(_no_truth)]
Count = Annotated[int, BeforeValidator(_no_truth)]


def _bounds_as_written(data: Any) -> Any:
    """The bounds of a column of dates or times are written as its cells are."""
    if not isinstance(data, dict) or data.get("written", "number") not in WAYS_WRITTEN:
        return data
    ends = {end: data[end] for end in ("low", "high") if isinstance(data.get(end), str)}
    return data | {end: bound_written(bound, data.get("written", "number")) for end, bound in ends.items()}


class NumericColumn(_Strict):
    """A numeric column with declared bounds."""

    type: Literal["numeric"]
    low: _Bound
    high: _Bound
    missing: Literal["impute", "midpoint"] = "midpoint"
    written: Written = "number"

    _read_bounds = model_validator(mode="before")(_bounds_as_written)


class CategoricalColumn(_Strict):
    """A categorical column with declared categories; "other" and "missing" are always there."""

    type: Literal["categorical"]
    categories: list[str | int | float | bool] = Field(min_length=1)


class TextColumn(_Strict):
    """A column of texts, hashed into so many features, or through a fixed network."""

    type: Literal["text"]
    features: Count = 1024
    encoder: Literal["sentences"] | None = None


class Label(_Strict):
    """The label column and its declared classes, or the declared bounds of the number it holds."""

    name: str
    classes: list[str | int | float | bool] | None = Field(default=None, min_length=2)
    low: _Bound | None = None
    high: _Bound | None = None
    written: Written = "number"
    log: bool = False
    class_weight: Any = None
    threshold: _Bound | None = None

    _read_bounds = model_validator(mode="before")(_bounds_as_written)

    @model_validator(mode="after")
    def _classes_or_bounds(self) -> Label:
        bounds = sum(bound is not None for bound in (self.low, self.high))
        if bounds != (2 if self.classes is None else 0):
            raise ValueError("needs classes:, or low: and high: for regression")
        if self.classes is not None and self.written != "number":
            raise ValueError("classes are texts, each as it stands: leave out written:")
        if self.classes is not None and self.log:
            raise ValueError("log: is for a number that is learned: leave it out beside classes")
        return self

    @property
    def target(self) -> Numeric | None:
        """What is declared about a numeric target."""
        if self.low is None or self.high is None:
            return None
        return Numeric(self.low, self.high, written=self.written, log=self.log)


AnyColumn = Annotated[NumericColumn | CategoricalColumn | TextColumn, Field(discriminator="type")]


class PeriodOptions(_Strict):
    """The column of dates by whose months or years a training can read."""

    column: str
    by: Literal["month", "year"]


class PillarOptions(_Strict):
    """The PILLAR recipe on a public table; the other options are those of `prepriv.recipes.pillar.pillar`."""

    public: str
    k: int | None = Field(default=None, ge=1)
    loss: str = "Softmax"
    learner: str = "GradientDescent"
    zeta: float = 0.1
    standardize: bool = False


class Schema(_Strict):
    """Everything declared about one table."""

    columns: dict[str, AnyColumn] = Field(min_length=1)
    label: Label
    adjacency: Adjacency = "replace-one"
    rows: Count | None = Field(default=None, ge=1)
    unit: str | None = None
    rows_per_unit: Count | None = None
    declared_by: str | None = None
    periods: PeriodOptions | None = None
    steps: list[dict[str, Any] | str] | str | None = None
    learner: dict[str, Any] | None = None
    pillar: PillarOptions | None = None
    draft: bool = False
    drafted: list[dict[str, Any]] = Field(default_factory=list)

    @field_validator("steps", mode="before")
    @classmethod
    def _steps_or_a_recipe(cls, steps: Any) -> Any:
        if steps is not None and not isinstance(steps, list) and steps not in (*NAMED, *OF_A_TARGET):
            alone = ", ".join(name for name in OF_A_TARGET if name not in NAMED)
            raise ValueError(
                f"must be {', '.join(NAMED)} or a list of steps; got {steps!r}. Of a numeric target it may be {alone}, too"
            )
        for i, step in enumerate(steps if isinstance(steps, list) else (), 1):
            if not isinstance(step, dict) and not (i == len(steps) > 1 and step in NAMED):
                raise ValueError(f"step {i} {not_a_step(step)}")
            if isinstance(step, dict) and "public" in step and "step" not in step:
                if not (set(step) == {"public"} and isinstance(step["public"], str)):
                    raise ValueError(f"step {i} must be written as - public: PATH; got {step!r}")
                if i != len(steps) - 1 or steps[i] not in NAMED:
                    raise ValueError(
                        f"step {i}: public: PATH stands right before the name of a recipe, the last step"
                    )
        return steps

    @model_validator(mode="after")
    def _one_recipe(self) -> Schema:
        if self.pillar is not None and not (self.steps is None and self.learner is None):
            raise ValueError("give pillar:, or steps: and learner:, not both")
        if isinstance(self.steps, str) and self.steps not in NAMED and self.label.target is None:
            raise ValueError(f"steps: {self.steps} is for a numeric target, and the label declares classes")
        return self

    def domain(
        self,
        *,
        rows: int | None = None,
        adjacency: str | None = None,
        read: Sequence[str] = (),
        source: str | None = None,
    ) -> Domain:
        """The domain this schema declares; rows and adjacency given on the command line win. read: periods, all rows without.
        source: as that of a `Domain`.
        """
        if read and self.periods is None:
            raise BadSchema("--period needs periods: in the schema, the column of dates and month or year")
        columns: dict[str, Column] = {}
        for name, c in self.columns.items():
            try:
                if isinstance(c, NumericColumn):
                    columns[name] = Numeric(c.low, c.high, c.missing, c.written)
                elif isinstance(c, TextColumn):
                    columns[name] = Text(c.features, c.encoder or "")
                else:
                    columns[name] = Categorical(tuple(str(v) for v in c.categories))
            except ValueError as error:
                raise BadSchema(f"columns.{name}: {error}") from None
        chosen = self.adjacency if adjacency is None else adjacency
        if chosen not in ADJACENCIES:
            raise BadSchema(f"adjacency must be one of {', '.join(ADJACENCIES)}; got {chosen!r}")
        try:
            target = self.label.target
        except ValueError as error:
            raise BadSchema(f"label: {error}") from None
        return Domain(
            columns,
            tuple(self.label.classes or ()),
            rows or self.rows,
            chosen,
            self.label.name,
            target=target,
            unit=self.unit,
            rows_per_unit=self.rows_per_unit,
            drafts=self._drafts,
            periods=Periods(self.periods.column, self.periods.by, tuple(read))
            if self.periods and read
            else None,
            source=source,
            declared_by=self.declared_by,
        )

    @property
    def _drafts(self) -> tuple[Drafted, ...]:
        try:
            return tuple(Drafted.from_json(one) for one in self.drafted)
        except ValueError as error:
            raise BadSchema(str(error)) from None

    def decision(self, domain: Domain) -> tuple[tuple[Step, ...], tuple[float, ...]]:
        """What the label declares of how classes are weighed in predictions (`plans.decision`). Raises BadSchema."""
        try:
            return decision(domain, self.label.class_weight, self.label.threshold)
        except ValueError as error:
            raise BadSchema(f"label: {error}") from None

    def with_options(self, learner: str | None, class_weight: str | None, threshold: float | None) -> Schema:
        """The same with what a command line gives in their place, in YAML; a name alone is that of a learner."""
        given = {"learner": learner, "class_weight": class_weight}
        said = {k: parse_yaml(v, f"--{k.replace('_', '-')}") for k, v in given.items() if v is not None}
        if "learner" in said:
            kind = said.pop("learner")
            said["learner"] = {"kind": kind} if isinstance(kind, str) else kind
        data = self.model_dump(exclude_none=True) | {k: v for k, v in said.items() if k == "learner"}
        if threshold is not None or "class_weight" in said:
            rest = {k: v for k, v in data["label"].items() if k not in ("class_weight", "threshold")}
            chosen = {"class_weight": said.get("class_weight"), "threshold": threshold}
            data["label"] = rest | {k: v for k, v in chosen.items() if v is not None}
        try:
            return Schema.model_validate(data)
        except ValidationError as error:
            raise sentence(Path("the command line"), error) from None

    def build_steps(self, read_public: Callable[[str], Any]) -> list[Step | pay.Public | str] | str:
        """The declared steps, or the name of the recipe's; the last one may be such a name, with public rows before it. read_public: reads
        a public table by its path."""
        if self.steps is None or isinstance(self.steps, str):
            return self.steps or "auto"
        return [
            spec
            if isinstance(spec, str)
            else pay.Public(read_public(spec["public"]))
            if set(spec) == {"public"}
            else build_step(i, dict(spec), read_public)
            for i, spec in enumerate(self.steps, 1)
        ]

    def build_learner(self) -> Learner | Literal["auto", "fast"]:
        """The declared learner, or that of the recipe."""
        if self.learner is None:
            return "auto"
        if self.learner == {"kind": "fast"}:
            return "fast"
        return build_learner(self.learner, "Softmax" if self.label.classes else "SquaredError")


def step_kinds() -> dict[str, type[Step]]:
    """Every step by name."""
    kinds = (getattr(pre, name) for name in pre.__all__)
    return {
        k.__name__: k
        for k in kinds
        if isinstance(k, type) and issubclass(k, Step) and not inspect.isabstract(k)
    }


def not_a_step(given: Any) -> str:
    """How the step that was written as `given` must be written."""
    kind = step_kinds().get(given) if isinstance(given, str) else None
    name, ways = (kind.__name__, kind.ways) if kind else ("NAME", pay.WAYS)
    paid = f", pay: {' or '.join(ways)}" if ways else ""
    return f"must be written as - {{step: {name}{paid}}}; got {given!r}"


def _somebody_else_s(name: Any) -> type[Step] | None:
    """The step at an import path, module.Class. A schema is written by who runs it: its module is imported."""
    module, _, attribute = name.rpartition(".") if isinstance(name, str) else ("", "", "")
    if not module or module.partition(".")[0] == "prepriv":
        return None
    try:
        found = getattr(import_module(module), attribute, None)
    except ImportError:
        return None
    return (
        found
        if isinstance(found, type) and issubclass(found, Step) and not inspect.isabstract(found)
        else None
    )


def build_step(position: int, spec: dict[str, Any], read_public: Callable[[str], Any]) -> Step:
    """One step from its YAML mapping. Raises BadSchema with the position and the reason."""
    kinds = step_kinds()
    name = spec.pop("step", None)
    kind = kinds.get(name) if isinstance(name, str) else None
    if kind is None:
        kind = _somebody_else_s(name)
    if kind is None:
        raise BadSchema(
            f"steps[{position}]: step must be one of {', '.join(sorted(kinds))}, or the import path of a step of your "
            f"own; got {name!r}"
        )
    way = spec.pop("pay", None)
    options = {
        k: spec.pop(k) for k in list(spec) if k in inspect.signature(kind).parameters and k != "payment"
    }
    try:
        payment: pay.Payment | None = None
        if way == pay.Public.way:
            payment = pay.Public(read_public(str(spec.pop("data"))))
        elif way == pay.Budget.way:
            payment = pay.Budget(**({"share": float(spec.pop("share"))} if "share" in spec else {}))
        elif way == pay.Sketch.way:
            share = spec.pop("share", "auto")
            payment = pay.Sketch(share if share == "auto" else float(share))
        elif way == pay.Sensitivity.way:
            test = float(spec.pop("test", 0.0))
            payment, spec = pay.Sensitivity(dict(spec), test), {}
        elif way is not None:
            raise BadSchema(
                f"steps[{position}]: pay must be one of {', '.join((*pay.WAYS, pay.Sketch.way))}; got {way!r}"
            )
        if spec:
            known = ", ".join(k for k in inspect.signature(kind).parameters if k != "payment") or "none"
            raise BadSchema(
                f"steps[{position}] ({name}): unknown option {sorted(spec)[0]!r}. Its options are {known}; pay: has options of its own"
            )
        if payment is None and kind.ways and kind.depends_on_data is Step.depends_on_data:
            raise BadSchema(
                f"steps[{position}]: {name} depends on data and needs pay:, one of {', '.join(kind.ways)}"
            )
        return kind(payment=payment, **options)
    except KeyError:
        raise BadSchema(
            f"steps[{position}] ({name}): pay: public needs data: PATH of the public table"
        ) from None
    except (TypeError, OverflowError):
        raise BadSchema(f"steps[{position}] ({name}): an option has the wrong type") from None
    except BadSchema:
        raise
    except (ValueError, ImportError) as error:
        raise BadSchema(f"steps[{position}]: {error}") from None


def load_schema(path: str | Path, *, drafts: bool = False) -> Schema:
    """Read and check a schema file.

    Parameters
    ----------
    path : path
        A YAML file that says what is public about a table, and optionally the pipeline (docs/command-line.md).
    drafts : bool, default False
        Whether to accept a file that `prepriv schema init` wrote and nobody has edited. Its bounds are those of the
        data, so nothing that is released may depend on them.

    Returns
    -------
    Schema
        The schema, with `domain()`, `build_steps()` and `build_learner()`.

    Raises
    ------
    BadSchema
        A ValueError with one line, for anything that is wrong.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from prepriv.schemas.schema import load_schema
    >>> path = pathlib.Path(tempfile.mkdtemp(), "schema.yaml")
    >>> size = path.write_text('''
    ... label: {name: income, classes: ["<=50K", ">50K"]}
    ... columns:
    ...   age: {type: numeric, low: 17, high: 90}
    ... ''')
    >>> load_schema(path).domain()
    Domain(1 columns, classes <=50K, >50K; n not declared, replace-one)
    """
    if not isinstance(path, str | os.PathLike):
        raise BadSchema(
            f"path must be the path of a schema file; got {type(path).__name__} "
            "(Schema.model_validate takes what such a file says)"
        )
    path = Path(path)
    if not path.is_file():
        raise BadSchema(no_file(path) if path.is_dir() else f"no such schema file: {path}")
    data = read_yaml(path)
    if not isinstance(data, dict):
        raise BadSchema(
            f"{path} must hold a mapping with columns: and label:, as `prepriv schema init` drafts it"
        )
    try:
        schema = Schema.model_validate(data)
        schema.domain()
    except ValidationError as error:
        wrong = sentence(path, error)
        if data.get("draft") is True:
            wrong = BadSchema(
                f"{wrong}. The file is a draft that you have to complete: its first lines say how"
            )
        raise wrong from None
    except ValueError as error:
        raise BadSchema(f"{path}: {error}") from None
    if schema.draft and schema.drafted and not drafts:
        raise BadSchema(
            f"{path} is a draft that was made privately and lacks classes or columns that its noise did not show. Add what is "
            "missing as you know it without looking at the data, then remove the line `draft: true`"
        )
    if schema.draft and not drafts:
        raise BadSchema(
            f"{path} is a draft, with bounds, categories and classes read off the data. Replace each with what you know "
            "without looking at the data, then remove the line `draft: true`"
        )
    return schema
