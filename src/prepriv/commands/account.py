"""`prepriv account PIPELINE.yaml`: the epsilon a pipeline someone already has really costs."""

from __future__ import annotations

import dataclasses
import math
import runpy
from pathlib import Path
from typing import Annotated, Any, Literal

import typer
from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator

from prepriv import payment as pay
from prepriv._progress import waiting
from prepriv.accounts.account import account
from prepriv.accounts.from_sklearn import from_sklearn, is_sklearn
from prepriv.accounts.other_libraries import LIBRARIES, ran_elsewhere
from prepriv.accounts.ran import Ran, ReleasedStatistic
from prepriv.accounts.way_out import ways_out
from prepriv.adjacency import Adjacency
from prepriv.commands.exits import Stop, print_json
from prepriv.commands.outputs import Plot, check_plot, write_plot
from prepriv.commands.printing import AsJson, console, print_table
from prepriv.domain import Domain
from prepriv.guarantees.printed import exact, separated, up, useful
from prepriv.learners import Learner
from prepriv.release.report import TITLES
from prepriv.schemas.declared_file import BadSchema, read_yaml, sentence
from prepriv.schemas.declared_learner import build_learner, build_loss, find
from prepriv.schemas.schema import Schema, build_step, load_schema
from prepriv.tables.readers import no_file

STATISTICS = ("gaussian", "laplace", "exponential")


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid")

    @field_validator("*", mode="before")
    @classmethod
    def _no_flag(cls, value: Any) -> Any:
        if isinstance(value, bool):
            raise ValueError("true and false are not allowed here")
        return value


class DeclaredRows(_Strict):
    """The declared domain in short: a box or a ball of features (or schema: FILE beside the pipeline)."""

    features: int = Field(ge=1)
    low: float | None = None
    high: float | None = None
    radius: float | None = None
    classes: int = Field(default=2, ge=2)
    missing: Literal["impute", "midpoint"] = "midpoint"

    def domain(self) -> Domain:
        if self.radius is not None:
            if self.model_fields_set & {"low", "high", "missing"}:
                raise BadSchema("domain: give radius, or low and high (and missing), not both")
            return Domain.ball(self.features, list(range(self.classes)), radius=self.radius)
        if self.low is None or self.high is None:
            raise BadSchema("domain: give low and high, or radius")
        return Domain.box(self.low, self.high, self.features, list(range(self.classes)), missing=self.missing)


class LearnerSpec(_Strict):
    """The private learner as it ran: kind, noise_multiplier, steps or epochs, and its options as in Python."""

    model_config = ConfigDict(extra="allow")
    kind: str
    noise_multiplier: float | None = None
    epochs: float | None = Field(default=None, gt=0, le=1e9)

    @model_validator(mode="before")
    @classmethod
    def _known(cls, given: Any) -> Any:
        if isinstance(given, dict):
            if given.get("kind") not in LIBRARIES and any(isinstance(v, bool) for v in given.values()):
                raise ValueError("true and false are not allowed here")
            if "kind" in given and given["kind"] not in (*STATISTICS, *LIBRARIES):
                find(Learner, given["kind"])  # type: ignore[type-abstract]
        return given

    def ran(self, n: int) -> tuple[Learner | Ran, float | None]:
        """(what ran on n records, its noise multiplier). Raises BadSchema."""
        options = dict(self.model_extra or {})
        if self.kind in LIBRARIES:
            return self._elsewhere(options, n)
        if self.kind in STATISTICS:
            given = {"noise_multiplier": self.noise_multiplier, "epochs": self.epochs}
            return _statistic(self.kind, options | {k: v for k, v in given.items() if v is not None}), None
        if (self.epochs is None) == ("steps" not in options):
            raise BadSchema("learner: give steps or epochs" + ("" if self.epochs is None else ", not both"))
        if self.epochs is not None:
            size = options.get("batch_size", n)
            if not (isinstance(size, int) and size >= 1):
                raise BadSchema(f"learner: batch_size must be a whole number >= 1; got {size!r}")
            options["steps"] = math.ceil(self.epochs * math.ceil(n / size))
        if find(Learner, self.kind).samples and "batch_size" not in options:  # type: ignore[type-abstract]
            raise BadSchema(f"learner: {self.kind} needs batch_size")
        return build_learner({"kind": self.kind, **options}, loss="Logistic"), self.noise_multiplier

    def _elsewhere(self, options: dict[str, Any], n: int) -> tuple[Learner | Ran, float | None]:
        loss = build_loss(options) if "loss" in options else None
        options |= {
            k: v
            for k, v in (("noise_multiplier", self.noise_multiplier), ("epochs", self.epochs))
            if v is not None
        }
        try:
            return ran_elsewhere(self.kind, options, n, loss)
        except ValueError as error:
            raise BadSchema(f"learner: {error}") from None


def _statistic(kind: str, options: dict[str, Any]) -> ReleasedStatistic:
    unknown = sorted(set(options) - {"epsilon", "lipschitz", "sensitivity"})
    if unknown:
        raise BadSchema(f"learner: {kind} has no option {unknown[0]!r}")
    if "epsilon" not in options:
        raise BadSchema(f"learner: {kind} needs epsilon")
    for name, value in options.items():
        if not isinstance(value, int | float):
            raise BadSchema(f"learner: {name} must be a number; got {value!r}")
    return ReleasedStatistic(kind, **options)


class Pipeline(_Strict):
    """A pipeline to account for."""

    rows: int | None = Field(default=None, ge=1)
    adjacency: Adjacency = "replace-one"
    delta: float = Field(default=1e-5, gt=0, lt=1)
    domain: DeclaredRows | None = None
    schema_file: str | None = Field(default=None, alias="schema")
    steps: list[dict[str, Any]] = Field(default_factory=list)
    sklearn: str | None = None
    missing: float | None = None
    deviation: float | None = None
    learner: LearnerSpec


def load_pipeline(path: Path) -> Pipeline:
    """Read and check a pipeline file. Raises BadSchema with one line."""
    if not path.is_file():
        raise BadSchema(no_file(path) if path.is_dir() else f"no such pipeline file: {path}")
    try:
        return Pipeline.model_validate(read_yaml(path))
    except ValidationError as error:
        raise sentence(path, error) from None


def _defined(spec: Pipeline, beside: Path) -> dict[str, Any]:
    """What the Python file of sklearn: defines; nothing without one. Raises BadSchema."""
    if spec.sklearn is None:
        return {}
    path = beside / spec.sklearn
    if not path.is_file():
        raise BadSchema(f"no such Python file: {path}")
    try:
        found = runpy.run_path(str(path))
    except Exception as error:  # it is the user's own program
        raise BadSchema(f"{path} does not run: {type(error).__name__}") from None
    if "pipeline" not in found:
        raise BadSchema(f"{path} defines no `pipeline`")
    if not isinstance(found.get("domain"), Domain | None):
        raise BadSchema(f"{path}: `domain` must be a prepriv.Domain")
    return found


def _domain(spec: Pipeline, defined: dict[str, Any], pipeline: Path) -> Domain:
    """What is declared about the rows, their number included, by the file, its schema or its Python file. Raises BadSchema."""
    given = [x is not None for x in (spec.domain, spec.schema_file)]
    if all(given) or not (any(given) or defined.get("domain")):
        raise BadSchema(
            f"{pipeline}: give domain: or schema:, one of the two; or let the file of sklearn: define `domain`"
        )
    if spec.schema_file is not None:
        domain = _of_schema(load_schema(pipeline.parent / spec.schema_file), spec)
    elif spec.domain is not None:
        domain = spec.domain.domain()
    else:
        domain = defined["domain"]
        if "adjacency" in spec.model_fields_set and spec.adjacency != domain.adjacency:
            raise BadSchema(
                f"{pipeline}: its adjacency is {spec.adjacency}, that of `domain` {domain.adjacency}: declare the same"
            )
    rows = domain.n if spec.rows is None else spec.rows
    if rows is None:
        raise BadSchema(f"{pipeline}: rows: is missing, the number of records")
    if domain.n not in (None, rows):
        raise BadSchema(f"{pipeline}: rows: {rows}, and the domain declares n={domain.n}: declare the same")
    adjacency = domain.adjacency if domain is defined.get("domain") else spec.adjacency
    return dataclasses.replace(domain, n=rows, adjacency=adjacency)


def _steps(spec: Pipeline, defined: dict[str, Any]) -> Any:
    """The declared steps, or the pipeline that a Python file defines. Raises BadSchema."""
    if spec.sklearn is None:
        if not (spec.missing is None and spec.deviation is None):
            raise BadSchema("missing and deviation go with sklearn: a step has caps of its own")
        return [build_step(i, dict(s), lambda _: None) for i, s in enumerate(spec.steps, 1)]
    if spec.steps:
        raise BadSchema("give steps: or sklearn:, not both")
    return defined["pipeline"]


def _of_schema(schema: Schema, spec: Pipeline) -> Domain:
    """The domain of a schema. Raises BadSchema where the schema says another thing of the pipeline than the file does."""
    for name in ("steps", "learner", "pillar"):
        if getattr(schema, name) is not None:
            raise BadSchema(
                f"schema: it has {name}:, and the account is of the steps and the learner of the pipeline file: write them there, and "
                "leave them out of the schema"
            )
    for name in ("rows", "adjacency"):
        said, here = getattr(schema, name), getattr(spec, name)
        if said is not None and here is not None and said != here:
            raise BadSchema(f"schema: it declares {name}: {said}, the pipeline file {here}: declare the same")
    return schema.domain(rows=spec.rows)


def _show_ways_out(
    steps: Any, ran: Any, domain: Domain, spec: Pipeline, epsilon: float, delta: float
) -> None:
    with waiting("pricing"):
        found = ways_out(
            steps,
            ran,
            domain=domain,
            epsilon=epsilon,
            delta=delta,
            missing=spec.missing,
            deviation=spec.deviation,
        )
    print_table(
        f"Ways to keep ε = {epsilon:g} at δ = {exact(delta)}, least noise first",
        ("payments", "noise_multiplier", "over that of free steps", "conditions"),
        [
            (
                ", ".join(f"{step} {TITLES[way].lower()}" for step, way in out.ways) or "nothing to pay",
                up(out.noise_multiplier, 4),
                up(out.factor, 4),
                str(len(out.conditions)) if out.conditions else "none",
            )
            for out in found
        ],
        right=(1, 2),
    )
    for out in found:
        if all(way != pay.Public.way for _, way in out.ways) and not out.closed:
            console.print("\nThe cheapest without public data:\n", style="bold")
            console.print(out.code, soft_wrap=True)
            return
    console.print("\nNo choice without public data has code.", style="bold")
    for out in found[:1]:
        console.print(out.code, soft_wrap=True)


def account_command(
    pipeline: Annotated[
        Path, typer.Argument(help="The pipeline (YAML): rows, domain or schema, steps, learner.")
    ],
    delta: Annotated[float | None, typer.Option(help="Replaces the delta in the file.")] = None,
    target: Annotated[
        float | None,
        typer.Option(help="Print code that pays for the steps and keeps the whole pipeline at this ε."),
    ] = None,
    plot: Plot = None,
    as_json: AsJson = False,
) -> None:
    """Print what an existing pipeline really costs, by every route and step by step. Reads no data.

    The file gives rows:, delta:, the data, steps: and learner:. The data are declared by domain: (a box or a ball of features) or by
    schema: FILE (a schema beside the file). Steps are written as in a schema. A step that was fitted on the private records
    without noise has pay: sensitivity.

    learner: gives kind:, the name of a learner in Python. The kind says how the learner samples records, and the account holds for no
    other sampler:

    \b
      GradientDescent           all records at each step
      PoissonSGD                Poisson sampling at rate batch_size/rows
      FixedBatchSGD, NoisySGD   uniform batches without replacement, drawn again
                                at each step (not passes over shuffled records)
      OnePassSGD                one pass in a fixed order, stopped at a random
                                step that stays hidden
      CyclicSGD                 several such passes, stopped in the last one
                                (weight_decay makes further passes nearly free)
      gaussian, laplace, exponential   one released statistic
      Opacus, jax-privacy, TF-Privacy, diffprivlib   a run of that library

    A run of another library is described by that library's own names: noise_multiplier, max_grad_norm, sample_rate or batch_size,
    drop_last, epochs, poisson_sampling; for diffprivlib, model and epsilon. Its model may be of any kind. You may give every other setting of
    the run, too: each is read, or refused by name.

    sklearn: FILE.py may replace steps:. The file defines `pipeline`, a Pipeline of scikit-learn, and is run. It may define `domain`, too,
    in place of domain: or schema:. rows: may be left out where the schema or that domain declares it. Two facts may be declared
    with it. missing: 0.02 is the largest share of records that miss a cell. deviation: 0.1 is the least standard deviation of a scaled
    column, as a share of its declared width. A part that rests on one of them is refused without it.
    """  # noqa: D301 the backspace of \b is meant
    if target is not None and (plot is not None or as_json):
        raise Stop("--target prints code: it has no --plot and no --json")
    check_plot(plot)
    spec = load_pipeline(pipeline)
    at = spec.delta if delta is None else delta
    if not 0 < at < 1:
        raise Stop(f"--delta must lie in (0, 1); got {at}")
    defined = _defined(spec, pipeline.parent)
    domain = _domain(spec, defined, pipeline)
    n = domain.n
    assert n is not None
    steps = _steps(spec, defined)
    if spec.sklearn is not None and not is_sklearn(steps) and (spec.missing, spec.deviation) != (None, None):
        raise BadSchema(
            "missing and deviation are for a pipeline of scikit-learn: steps have caps of their own"
        )
    ran, noise = spec.learner.ran(n)
    if target is not None:
        _show_ways_out(steps, ran, domain, spec, target, at)
        return
    if is_sklearn(steps):
        steps = from_sklearn(steps, domain, missing=spec.missing, deviation=spec.deviation)
    with waiting("pricing"):
        result = account(
            steps,
            ran,
            domain=domain,
            noise_multiplier=noise,
            delta=at,
        )
        assert result.training_alone is not None
        alone, really = float(result.training_alone.epsilon(at)), float(result.epsilon(at))
    if as_json:
        print_json(result.to_json(at))
    console.print(f"training alone claims {useful(alone)} at δ = {exact(at)}, {result.adjacency}, n = {n:,}")
    console.print(f"the pipeline really has {useful(really)}", style="bold")
    for note in result.notes:
        console.print(f"  {note}")
    for condition in result.conditions:
        console.print(f"  rests on: {separated(condition)}")
    print_table(
        "By route (each is valid; the smallest counts)",
        ("route", "ε"),
        [(name, _show(float(f.epsilon(at)))) for name, f in result.by_route.items()],
        right=(1,),
    )
    rows = [("training alone", _show(alone), "", "", "")]
    for name, epsilon, shift in result.steps:
        rows.append(
            (
                f"+ {name}",
                _show(epsilon),
                up(shift.total_shift, 4),
                up(shift.rows_moved),
                up(shift.rows_dropped),
            )
        )
    print_table(
        "What each step adds (direct route)",
        ("", "ε", "total shift", "rows moved", "rows dropped"),
        rows,
        right=(1, 2, 3, 4),
    )
    if result.alternatives:
        print_table(
            "What the other payments would cost instead, at the same noise",
            ("step", "way to pay", "ε of the pipeline", ""),
            [
                (s, TITLES[w], _show(e) if e is not None else "not available", note)
                for s, w, e, note in result.alternatives
            ],
            right=(2,),
        )
    steps_add = [(f"+ {name}", float(epsilon)) for name, epsilon, _ in result.steps]
    drawn = [("training alone", alone), *steps_add, ("the pipeline really has", result.epsilon(at))]
    write_plot(plot, f"ε at δ = {exact(at)}", [(n, e) for n, e in drawn if not math.isnan(e)])


def _show(epsilon: float) -> str:
    """An epsilon for a table; what promises nothing says so."""
    if math.isnan(epsilon):
        return "–"
    return useful(epsilon, "")
