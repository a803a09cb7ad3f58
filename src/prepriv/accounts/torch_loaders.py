"""What is read of a DataLoader of torch and of an optimizer of Opacus, by their attributes: neither library is imported.

Of the classes themselves, never of one that inherits. What is not read changes neither which rows a batch holds nor its noise:
number of workers, pinned memory, prefetching, timeouts.
"""

from __future__ import annotations

import functools
from typing import Any

from prepriv._arguments import shown
from prepriv._rounding import UP
from prepriv.accounts.library_settings import SETTINGS
from prepriv.adjacency import n_is_public
from prepriv.domain import Domain

_LOADERS = {("torch.utils.data.dataloader", "DataLoader"), ("opacus.data_loader", "DPDataLoader")}
_SAMPLERS = {("torch.utils.data.sampler", name) for name in ("RandomSampler", "SequentialSampler")}
_BATCHES = ("torch.utils.data.sampler", "BatchSampler")
_POISSON = ("opacus.utils.uniform_sampler", "UniformWithReplacementSampler")
_OPTIMIZER = ("opacus.optimizers.optimizer", "DPOptimizer")
_SUBSET, _CONCAT = (("torch.utils.data.dataset", name) for name in ("Subset", "ConcatDataset"))
_STACK, _TENSORS = (("torch.utils.data.dataset", name) for name in ("StackDataset", "TensorDataset"))
_SCHEDULER = "torch.optim.lr_scheduler"  # which counts the steps of an optimizer
_EMPTY = ("opacus.data_loader", "CollateFnWithEmpty")
_EMPTY_BEFORE = ("opacus.data_loader", "collate")  # the same in older versions
_ABSENT = object()
_COLLATE = ("torch.utils.data._utils.collate", "default_collate")


def _of(thing: Any) -> tuple[str, str]:
    """(module, name) of the class of a thing, or of a class or function itself."""
    thing = thing if isinstance(thing, type) or hasattr(thing, "__qualname__") else type(thing)
    return thing.__module__, thing.__qualname__


def check_loader(loader: Any, domain: Domain, *, poisson: bool) -> tuple[int, int]:
    """(records, batches an epoch) of a DataLoader. ValueError, one sentence, for what leaks or what no account covers."""
    if not n_is_public(domain.adjacency):
        raise ValueError(
            "Opacus takes its rate and its normaliser from the number of rows, which add-or-remove-one keeps secret: declare "
            "adjacency replace-one"
        )
    n, batches = lengths(loader)
    if domain.n is not None and n != domain.n:
        raise ValueError(
            f"the DataLoader holds {n} rows, the domain declares n={domain.n}: rows left out for what they hold change the public n"
        )
    if n < 1 or batches < 1:
        raise ValueError(
            f"the DataLoader has {batches} batches of {n} rows: with drop_last a batch must be no larger than n"
        )
    if getattr(loader, "batch_size", None) is None and not hasattr(loader, "sample_rate"):
        raise ValueError(
            "the DataLoader has a batch sampler of its own: give batch_size, and leave the drawing to Opacus"
        )
    check_sampler(loader)
    if hasattr(loader, "sample_rate"):
        if not poisson:
            raise ValueError("the DataLoader draws Poisson batches: give poisson_sampling true")
        if not check_poisson(loader, n, None) <= 1 / batches * UP:
            raise ValueError(
                f"the DataLoader draws at rate {shown(loader.sample_rate)}, above one over its {batches} batches"
            )
    elif poisson and getattr(loader, "generator", None) is not None:
        raise ValueError(_SEEDED)
    return n, batches


_SEEDED = (
    "the DataLoader has a generator of its own: whoever knows its seed knows the batches, so drawing them gains nothing; leave "
    "generator out, or use secure_mode=True and give check the optimizer, too"
)


def lengths(loader: Any) -> tuple[int, int]:
    """(records, batches an epoch). ValueError for a stream, and for a dataset that holds a row twice."""
    dataset = getattr(loader, "dataset", None)
    if dataset is None or not hasattr(dataset, "__len__") or not hasattr(loader, "__len__"):
        raise ValueError(
            "the DataLoader needs a dataset of known length: a stream has no rate to account for"
        )
    if _repeats(dataset):
        raise ValueError("the dataset holds some rows twice: each record must stand in one place")
    return len(dataset), len(loader)


def _repeats(dataset: Any) -> bool:
    """Whether a Subset, a ConcatDataset, a StackDataset or a TensorDataset of torch, or what inherits from one, takes a row twice."""
    if _is(dataset, _STACK):
        return any(map(_repeats, _within(dataset)))
    if not any(_is(dataset, kind) for kind in (_SUBSET, _CONCAT, _TENSORS)):
        return False
    places = _places(dataset)
    return len(set(places)) < len(places)


def _takes_batches(dataset: Any) -> bool:
    """Whether rows are fetched by a method that sees a whole batch and is not torch's own, or that torch's own hands it to."""
    method = getattr(dataset, "__getitems__", None)
    if method is None:
        return False
    if _of(method)[0] != _SUBSET[0]:
        return True
    return any(map(_takes_batches, _within(dataset)))


def _within(dataset: Any) -> list[Any]:
    """The datasets that a Subset, or a ConcatDataset or StackDataset, takes its rows from."""
    held = getattr(dataset, "datasets", None)
    return list(held.values() if isinstance(held, dict) else held or [dataset.dataset])


def _is(thing: Any, kind: tuple[str, str]) -> bool:
    """Whether its class is, or inherits from, one of this module and name."""
    return any(_of(base) == kind for base in type(thing).__mro__)


def _places(dataset: Any) -> list[tuple[int, ...]]:
    """(dataset, index) of each row, of the datasets that hold them; of tensors where the first one of them lies in memory."""
    if _is(dataset, _CONCAT):
        return [place for part in _within(dataset) for place in _places(part)]
    if _is(dataset, _SUBSET):
        inner = _places(dataset.dataset)
        return [inner[int(i)] for i in dataset.indices]
    if _is(dataset, _TENSORS):
        rows = dataset.tensors[0]
        if rows.numel():
            start, step = rows.data_ptr(), rows.stride(0) * rows.element_size()
            return [(start + i * step,) for i in range(len(dataset))]
    return [(id(dataset), i) for i in range(len(dataset))]


def check_sampler(loader: Any) -> None:
    """ValueError unless a DataLoader draws each row once an epoch, or leaves the drawing to Opacus, and joins none."""
    if _of(type(loader)) not in _LOADERS and hasattr(type(loader), "__iter__"):
        raise ValueError(
            f"{type(loader).__name__} is not torch's DataLoader: which rows it gives is not known; a class that inherits may give others"
        )
    collate = _joined_by(getattr(loader, "collate_fn", None))
    if collate is not None and _of(collate) != _COLLATE:
        raise ValueError(
            "the DataLoader has a collate_fn of its own, which may mix records: do per record what it does, in the dataset"
        )
    by_hand = sorted(name for name in vars(loader) if callable(getattr(type(loader), name, None)))
    if by_hand:
        raise ValueError(
            f"the DataLoader has a method {by_hand[0]} that was set by hand, which may give other rows: make a new one"
        )
    if _takes_batches(loader.dataset):
        raise ValueError(
            "the dataset has a method __getitems__ of its own, which is handed the places of a whole batch and may mix records: wrap "
            "it in a Dataset that has __getitem__ alone"
        )
    if getattr(loader, "worker_init_fn", None) is not None:
        raise ValueError(
            "the DataLoader has a worker_init_fn, which may exchange the rows of a worker: leave it out"
        )
    if hasattr(loader, "sample_rate"):
        return
    n, sampler = len(loader.dataset), _drawn_by(loader)
    if sampler is not None and _of(type(sampler)) not in _SAMPLERS:
        raise ValueError(
            f"the sampler {type(sampler).__name__} has no account here: which rows it draws, how often and on which machine is not "
            "uniform; use shuffle=True"
        )
    drawn = {len(getattr(sampler, "data_source", ())), getattr(sampler, "num_samples", n)}
    if sampler is not None and (getattr(sampler, "replacement", False) or drawn != {n}):
        raise ValueError("the sampler draws some rows more than once an epoch, or not all: use shuffle=True")


def _drawn_by(loader: Any) -> Any:
    """What draws the rows of batches: the sampler, which stands within a batch sampler where there is one. ValueError for a
    batch sampler that is not torch's own or Opacus'.
    """
    batches: Any = getattr(loader, "batch_sampler", _ABSENT)
    if batches is _ABSENT or _of(type(batches)) == _POISSON:
        return getattr(loader, "sampler", None)
    if _of(type(batches)) != _BATCHES:
        raise ValueError(
            f"the batch sampler {type(batches).__name__} has no account here: which rows it puts into batches, and how often, is not "
            "known; give batch_size and shuffle=True"
        )
    return batches.sampler


def _joined_by(collate: Any) -> Any:
    """What joins the rows of a batch, without what Opacus puts around it; a partial of any other function is its own.

    ValueError where what Opacus puts around it takes another axis for that of the records, or makes a record up.
    """
    if _of(type(collate)) == _EMPTY:
        said, inner = (
            vars(collate),
            _joined_by(collate.wrapped_collator_fn),
        )  # twice around a loader made private twice
    elif isinstance(collate, functools.partial) and _of(collate.func) == _EMPTY_BEFORE and not collate.args:
        said, inner = collate.keywords, collate.keywords.get("collate_fn", collate)
    else:
        return collate
    for name in ("batch_first", "rand_on_empty"):
        allowed = SETTINGS["Opacus"][name]
        if name in said and not allowed.ok(said[name]):
            raise ValueError(
                f"the DataLoader that make_private returned: {allowed.sentence(name, said[name])}"
            )
    return inner


def check_poisson(loader: Any, n: int, secure: Any) -> float:
    """The rate of Opacus' sampler. ValueError for another one, other rows or coins that may be known.

    secure: a generator whose draws nobody knows, if there is one.
    """
    sampler: Any = getattr(loader, "batch_sampler", None)
    if _of(type(sampler)) != _POISSON:
        raise ValueError(
            f"the sampler {type(sampler).__name__} is not Opacus' {_POISSON[1]}: no account here covers it"
        )
    if sampler.num_samples != n:
        raise ValueError(f"the sampler draws from {sampler.num_samples} places; the dataset holds {n}")
    if sampler.generator is not None and sampler.generator is not secure:
        raise ValueError(_SEEDED)
    return float(sampler.sample_rate)


def secure_generator(optimizer: Any) -> Any:
    """The generator of secure_mode; None without it."""
    return optimizer.generator if getattr(optimizer, "secure_mode", False) is True else None


def counted(batches: int) -> int:
    """The length of Opacus' DataLoader at a rate of one over so many batches: floats lose one of 93, of 99 and of some others."""
    return int(1 / (1 / batches))


def check_optimizer(
    optimizer: Any, noise_multiplier: float, max_grad_norm: float, *, n: int, batches: int
) -> None:
    """ValueError unless an optimizer is Opacus' with flat clipping, this clip, this noise or more, no generator with a seed, and
    divides by what `make_private` sets for n rows in so many batches an epoch (or as many as its DataLoader says: 92 of 93).
    """
    for name, wanted in (("noise_multiplier", noise_multiplier), ("max_grad_norm", max_grad_norm)):
        got = getattr(optimizer, name, None)
        if not isinstance(got, int | float) or isinstance(got, bool):
            raise ValueError(
                f"the optimizer has no {name} to check, one number: give the one that make_private returned"
            )
        if not (got >= wanted if name == "noise_multiplier" else got == wanted):
            raise ValueError(f"the optimizer has {name} {got}; the guarantee is of {wanted}")
    if _of(type(optimizer)) != _OPTIMIZER:
        raise ValueError(
            f"the optimizer is {type(optimizer).__name__}; only Opacus' {_OPTIMIZER[1]} clips and adds noise as the account says: "
            'leave out clipping= and distributed training, and use grad_sample_mode="hooks"'
        )
    by_hand = sorted(name for name in vars(optimizer) if callable(getattr(type(optimizer), name, None)))
    for name in by_hand:
        if name != "step" or getattr(optimizer.step, "__globals__", {}).get("__name__") != _SCHEDULER:
            raise ValueError(
                f"the optimizer has a method {name} that was set by hand, which may clip or add noise differently: make a new one"
            )
    if optimizer.loss_reduction not in ("mean", "sum"):
        raise ValueError(
            f"the optimizer has loss_reduction {shown(optimizer.loss_reduction)}; it must be 'mean' or 'sum'"
        )
    sizes = {int(n * (1 / length)) for length in (batches, counted(batches))}
    if getattr(optimizer, "expected_batch_size", None) not in sizes:
        raise ValueError(
            f"the optimizer divides by expected_batch_size {shown(getattr(optimizer, 'expected_batch_size', None))}, and the guarantee is "
            f"of {n // batches}, which is fixed: the size of the batch that was drawn tells who was in it"
        )
    if optimizer.generator is not None and optimizer.secure_mode is not True:
        raise ValueError(
            "the optimizer has a generator of its own: whoever knows its seed knows the noise; leave noise_generator out, or use "
            "secure_mode=True"
        )
