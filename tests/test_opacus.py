"""Opacus after the steps of a pipeline: one budget, and a DataLoader that is what the account says."""

from __future__ import annotations

import dataclasses
import functools
import math
from types import SimpleNamespace

import numpy as np
import pytest

from prepriv import Budget, Domain, PrivateTransformer, Public, Sensitivity, account
from prepriv import preprocessing as pre
from prepriv.accounts.other_libraries import ShuffledBatches
from prepriv.guarantees.loss_distribution import compose
from prepriv.guarantees.subsampling import PoissonReplace
from prepriv.learners import AnyModel
from prepriv.opacus import calibrate

N, DELTA = 2000, 1e-5
BOX = Domain.box(0, 1, features=3, classes=[0, 1], n=N)
RUN = {"epochs": 2, "max_grad_norm": 0.5}


def named(module, name, **attributes):
    """An object of a class that is called as one of torch or Opacus is."""
    kind = type(name, (), {"__module__": module})
    return vars(made := kind()).update(attributes) or made


def random_sampler(**attributes):
    drawn = {"replacement": False, "num_samples": N, "data_source": range(N)} | attributes
    return named("torch.utils.data.sampler", "RandomSampler", **drawn)


def poisson(rate=1 / 20, n=N, **attributes):
    """What `make_private` returns as a DataLoader."""
    drawn = {"sample_rate": rate, "num_samples": n, "generator": None} | attributes
    loader = Loader(n=n, batch=round(n * rate))
    loader.batch_size, loader.sample_rate = None, rate
    loader.batch_sampler = named("opacus.utils.uniform_sampler", "UniformWithReplacementSampler", **drawn)
    loader.length = int(1 / rate)
    return loader


def optimizer_of(found, name="DPOptimizer", **attributes):
    """What it returns as an optimizer."""
    set_ = {"noise_multiplier": found.noise_multiplier, "max_grad_norm": 0.5, "loss_reduction": "mean"}
    set_ |= {"generator": None, "secure_mode": False, "expected_batch_size": N // 20} | attributes
    made = named("opacus.optimizers.optimizer", name, **set_)
    type(made).add_noise = type(made).step = print
    return made


class WeightedRandomSampler(list):
    pass


class Loader:
    """What is read of a DataLoader of torch."""

    def __init__(self, n=N, batch=100, sampler=None, drop_last=False, dataset=None):
        self.dataset = range(n) if dataset is None else dataset
        self.batch_size, self.drop_last = batch, drop_last
        self.sampler = random_sampler() if sampler is None else sampler
        self.length = None

    def __len__(self):
        return self.length or (
            len(self.dataset) // self.batch_size
            if self.drop_last
            else -(-len(self.dataset) // self.batch_size)
        )


class OwnRows(Loader):
    def __iter__(self):
        return iter([0] * N)


def seeded():
    loader = Loader()
    loader.generator = object()
    return loader


def with_(**attributes):
    vars(loader := Loader()).update(attributes)
    return loader


def mix(rows, alpha=0.5, collate_fn=None):
    return sum(rows) * alpha


def default(rows):
    return rows


default.__module__, default.__qualname__ = "torch.utils.data._utils.collate", "default_collate"


def collate(rows, collate_fn=None):
    """As older versions of Opacus join rows."""


collate.__module__ = "opacus.data_loader"
JOINED = {  # by functions of one's own, whatever they are wrapped in
    "a function": mix,
    "with arguments": functools.partial(mix, alpha=0.2),
    "with the keyword of another": functools.partial(mix, collate_fn=default),
    "with the attribute of another": named("mine", "Mix", wrapped_collator_fn=None),
    "within Opacus' own": named("opacus.data_loader", "CollateFnWithEmpty", wrapped_collator_fn=functools.partial(mix)),
    "within an older one": functools.partial(collate, collate_fn=mix),
    "an older one without": functools.partial(collate),
}  # fmt: skip


@pytest.mark.parametrize("how", JOINED)
def test_a_function_that_joins_rows_is_refused_however_it_is_wrapped(how):
    with pytest.raises(ValueError, match="collate_fn of its own"):
        made(loader=with_(collate_fn=JOINED[how]))


@pytest.mark.parametrize(
    "flag", [{"batch_first": False}, {"rand_on_empty": True}, {"batch_first": 1}, {"rand_on_empty": None}]
)
def test_flags_that_an_account_refuses_are_refused_where_they_stand_on_the_loader(flag):
    """Clipped by time steps one record moved a sum by 100 clips, claimed 2."""
    found, loader = plain(), poisson()
    for wrapped in (
        named("opacus.data_loader", "CollateFnWithEmpty", wrapped_collator_fn=default, **flag),
        functools.partial(collate, collate_fn=default, **flag),
    ):
        loader.collate_fn = wrapped
        with pytest.raises(ValueError, match=f"make_private returned: {next(iter(flag))} must be"):
            found.check(None, loader)
    honest = {"batch_first": True, "rand_on_empty": False}
    loader.collate_fn = named(
        "opacus.data_loader", "CollateFnWithEmpty", wrapped_collator_fn=default, **honest
    )
    found.check(None, loader)


def batches(sampler, name="BatchSampler", module="torch.utils.data.sampler"):
    """A DataLoader whose rows a batch sampler draws, beside the sampler in order that torch then gives it."""
    order = named("torch.utils.data.sampler", "SequentialSampler", data_source=range(N))
    loader = Loader(sampler=order)
    loader.batch_sampler = named(module, name, sampler=sampler)
    return loader


@pytest.mark.parametrize(
    "loader, says",
    [
        (with_(batch_sampler=[list(range(N))] * 20), "batch sampler list has no account"),
        (with_(batch_sampler=None), "batch sampler NoneType has no account"),
        (batches(random_sampler(), "Mine"), "batch sampler Mine has no account"),
        (batches(random_sampler(), module="mine"), "batch sampler BatchSampler has no account"),
        (batches(WeightedRandomSampler()), "WeightedRandomSampler has no account"),
        (batches(random_sampler(replacement=True)), "more than once"),
        (batches(random_sampler(data_source=range(N // 2))), "or not all"),
    ],
)
def test_what_cuts_shuffled_rows_into_batches_is_held_against_what_was_claimed(loader, says):
    """Torch gives such a loader a sampler in order, which alone was judged: a record was in 400 places of an epoch."""
    found = made(run=RUN | {"poisson_sampling": False})
    found.check(None, batches(random_sampler()))
    found.check(None, Loader())
    with pytest.raises(ValueError, match=says):
        found.check(None, loader)
    with pytest.raises(ValueError, match=says):
        made(loader=loader)


def test_what_opacus_joins_rows_with_is_taken():
    around = named("opacus.data_loader", "CollateFnWithEmpty", wrapped_collator_fn=default)
    twice_around = named("opacus.data_loader", "CollateFnWithEmpty", wrapped_collator_fn=around)
    for ours in (None, default, around, twice_around, functools.partial(collate, collate_fn=default)):
        made(loader=with_(collate_fn=ours))


class ConcatDataset(list):
    __module__ = "torch.utils.data.dataset"


class Subset(list):
    __module__ = "torch.utils.data.dataset"


def twice():
    rows, made = range(N // 2), ConcatDataset(range(N))
    made.datasets = [rows, rows]
    return made


def picked(places):
    made = Subset(places)
    made.dataset, made.indices = range(N), places
    return made


class StackDataset(list):
    __module__ = "torch.utils.data.dataset"


def stacked(*parts, by_name=False):
    made = StackDataset(range(N))
    made.datasets = dict(enumerate(parts)) if by_name else parts
    return made


class Picked(Subset):
    __module__ = "mine"

    @classmethod
    def of(cls, places):
        made = cls(places)
        made.dataset, made.indices = range(N), places
        return made


class Mixing(list):
    def __getitems__(self, places):
        return [self[0] for _ in places]


class Delegating(Subset):
    """As torch's own Subset hands a batch to what it is of."""

    def __getitems__(self, places):
        return self.dataset.__getitems__([self.indices[i] for i in places])

    __getitems__.__module__ = "torch.utils.data.dataset"


def delegating(dataset):
    rows = Delegating(range(N))
    rows.dataset, rows.indices = dataset, range(N)
    return rows


class OwnBatches(Loader):
    def __init__(self):
        super().__init__(batch=None)

    def __len__(self):
        return 20


def made(steps=(), loader=None, run=RUN, domain=BOX, epsilon=2.0):
    loader = Loader() if loader is None else loader
    return calibrate(list(steps), loader, run, domain=domain, epsilon=epsilon, delta=DELTA)


plain = functools.cache(made)


def test_training_alone_meets_the_target_by_an_account_of_its_own():
    found = plain()
    assert found.sample_rate == 1 / 20 and found.steps == 40 and found.transformer is None
    truth = compose([(PoissonReplace(1 / found.noise_multiplier, 1 / 20), 40)]).symmetrized().epsilon(DELTA)
    assert truth <= float(found.guarantee.epsilon(DELTA)) <= 2.0
    assert truth > 1.95  # and not by noise that nobody needs
    assert found.opacus == {
        "noise_multiplier": found.noise_multiplier,
        "max_grad_norm": 0.5,
        "poisson_sampling": True,
        "batch_first": True,
    }


def test_budget_steps_and_training_share_one_budget():
    steps = [pre.StandardScaler(payment=Budget(0.2)), pre.PCA(2, payment=Budget(0.2))]
    found = made(steps, run=RUN | {"epochs": 1})
    assert float(found.guarantee.epsilon(DELTA)) <= 2.0
    transformer = found.transformer
    assert isinstance(transformer, PrivateTransformer)
    prepared = transformer.plan().guarantee
    rate = math.ceil(N * (1 / 20 + 2.0**-24)) / N
    whole = compose(
        [(prepared.tradeoff, 1), (PoissonReplace(1 / found.noise_multiplier, rate), 20)]
    ).symmetrized()
    assert 1.95 < whole.epsilon(DELTA) <= 2.0
    assert transformer.fit_transform(np.random.default_rng(0).random((N, 3))).shape == (N, 2)


def test_a_step_fitted_without_noise_is_paid_by_the_noise_of_training():
    domain = Domain.box(0, 1, features=3, classes=[0, 1], n=N, missing="impute")
    step = pre.MeanImputer(payment=Sensitivity({"missing": 2 / N}))
    found = made([step], domain=domain, epsilon=8.0, run=RUN | {"poisson_sampling": False})
    assert found.transformer is None
    ran = ShuffledBatches(AnyModel(), steps=2, clip_norm=0.5)
    real = account([step], ran, domain=domain, noise_multiplier=found.noise_multiplier, delta=DELTA)
    assert float(real.epsilon(DELTA)) <= 8.0 * (1 + 1e-6)
    assert any("stay secret" in note for note in found.guarantee.notes) and found.guarantee.conditions


def test_shuffled_batches_pay_one_release_an_epoch():
    found = made(run=RUN | {"poisson_sampling": False})
    assert found.sample_rate is None and found.noise_multiplier > 2 * plain().noise_multiplier
    with pytest.raises(ValueError, match="Poisson"):
        found.jax_privacy  # noqa: B018


def test_what_hands_a_batch_on_and_mixes_none_is_taken():
    assert made(loader=Loader(dataset=delegating(list(range(N))))).n == N


@pytest.mark.parametrize("batches", [92, 93, 99, 100])
def test_what_opacus_makes_of_93_batches_is_taken(batches):
    """Its DataLoader says 92, its accountant 1/92 and its optimizer n/92; the batches are drawn at 1/93."""
    n = 100 * batches
    found = made(
        loader=Loader(n=n, sampler=random_sampler(num_samples=n, data_source=range(n))),
        domain=dataclasses.replace(BOX, n=n),
        run={"epochs": 1, "max_grad_norm": 0.5},
    )
    said = int(1 / (1 / batches))
    optimizer, loader = optimizer_of(found, expected_batch_size=n // said), poisson(1 / batches, n)
    ran = [(found.noise_multiplier, 1 / said, said)]
    found.check(optimizer, loader, ran)
    optimizer.expected_batch_size += 2
    with pytest.raises(ValueError, match="expected_batch_size"):
        found.check(optimizer, loader, ran)
    if said < batches:  # without the DataLoader nothing says at what rate they were drawn
        with pytest.raises(ValueError, match="rate above"):
            found.check(history=ran)
        with pytest.raises(ValueError, match="draws at rate"):
            found.check(None, poisson(1 / said, n), ran)


def test_drop_last_raises_the_rate_that_opacus_uses():
    """299 rows to a batch: 7 batches, or 6 and a rate of 1/6, not 299/2000."""
    kept, dropped = made(loader=Loader(batch=299)), made(loader=Loader(batch=299, drop_last=True))
    assert (kept.sample_rate, dropped.sample_rate) == (1 / 7, 1 / 6)
    assert dropped.noise_multiplier / math.sqrt(dropped.steps) > kept.noise_multiplier / math.sqrt(kept.steps)


def test_jax_privacy_has_the_same_numbers():
    found = plain()
    assert found.jax_privacy["CyclicPoissonSampling"] == {"sampling_prob": 1 / 20, "iterations": 40}
    deviation = found.jax_privacy["gaussian_privatizer"]["stddev"]
    assert found.noise_multiplier * 0.5 <= deviation <= found.noise_multiplier * 0.5 * (1 + 1e-5)


REFUSED = {
    "the number of rows is private": (
        {"domain": dataclasses.replace(BOX, adjacency="add-or-remove-one")},
        "normaliser from the number of rows",
    ),
    "rows were dropped": ({"loader": Loader(n=1900)}, "holds 1900 rows, the domain declares n=2000"),
    "weights": ({"loader": Loader(sampler=WeightedRandomSampler())}, "WeightedRandomSampler has no account"),
    "with replacement": ({"loader": Loader(sampler=random_sampler(replacement=True))}, "more than once"),
    "some rows": ({"loader": Loader(sampler=random_sampler(num_samples=10))}, "or not all"),
    "a sampler that inherits": ({"loader": Loader(sampler=named("mine", "RandomSampler"))}, "RandomSampler has no account"),
    "a loader that inherits": ({"loader": OwnRows()}, "OwnRows is not torch's DataLoader"),
    "a seed for the batches": ({"loader": seeded()}, "knows its seed knows the batches"),
    "rows of half the dataset": ({"loader": Loader(sampler=random_sampler(data_source=range(N // 2)))}, "or not all"),
    "rows of workers": ({"loader": with_(worker_init_fn=print)}, "worker_init_fn"),
    "a row twice, in a class that inherits": ({"loader": Loader(batch=100, dataset=Picked.of([0] * N))}, "holds some rows twice"),
    "a row twice": ({"loader": Loader(batch=100, dataset=twice())}, "holds some rows twice"),
    "a row twice, within": ({"loader": Loader(batch=100, dataset=picked([0, *range(N - 1)]))}, "holds some rows twice"),
    "a row twice, beside its labels": ({"loader": Loader(dataset=stacked(range(N), picked([0] * N)))}, "holds some rows twice"),
    "a row twice, by name": ({"loader": Loader(dataset=stacked(range(N), picked([0] * N), by_name=True))}, "holds some rows twice"),
    "rows of a whole batch": ({"loader": Loader(dataset=Mixing(range(N)))}, "__getitems__ of its own"),
    "rows of a whole batch, within": ({"loader": Loader(dataset=delegating(Mixing(range(N))))}, "__getitems__ of its own"),
    "rows by hand": ({"loader": with_(__len__=lambda: 20)}, "method __len__ that was set by hand"),
    "a stream": ({"loader": SimpleNamespace(dataset=iter(()))}, "known length"),
    "own batches": ({"loader": OwnBatches()}, "batch sampler of its own"),
    "no batch": ({"loader": Loader(batch=5000, drop_last=True)}, "0 batches of 2000 rows"),
    "epochs": ({"run": {"max_grad_norm": 1.0}}, "must give epochs"),
    "unknown": ({"run": RUN | {"sample_rate": 0.1}}, "must give epochs, and may give"),
    "no noise": ({"epsilon": math.inf}, "must be finite"),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_what_no_account_covers_is_refused_with_a_sentence(name):
    options, said = REFUSED[name]
    with pytest.raises(ValueError, match=said):
        made(**options)


def twice_but_once():
    """Parts of one dataset that share no row."""
    first, second = picked(range(N // 2)), picked(range(N // 2, N))
    rows, loader = ConcatDataset(range(N)), poisson()
    rows.datasets, loader.dataset = [first, second], rows
    return loader


def other_sampler():
    loader = poisson()
    loader.batch_sampler = named(
        "opacus.utils.uniform_sampler", "DistributedUniformWithReplacementSampler", sample_rate=1 / 20
    )
    return loader


def test_what_ran_is_held_against_what_was_claimed():
    found = plain()
    assert found.n == N
    honest = optimizer_of(found)
    found.check(honest, poisson(), [(found.noise_multiplier, 1 / 20, 40)])
    coins = object()
    secure = optimizer_of(found, secure_mode=True, generator=coins)
    found.check(secure, poisson(generator=coins))
    found.check(None, twice_but_once())
    for optimizer, loader, history, said in (
        (SimpleNamespace(noise_multiplier=0.1, max_grad_norm=0.5), None, (), "noise_multiplier 0.1"),
        (SimpleNamespace(noise_multiplier=found.noise_multiplier, max_grad_norm=1.0), None, (), "max_grad_norm 1.0"),
        (SimpleNamespace(), None, (), "no noise_multiplier to check"),
        (optimizer_of(found, max_grad_norm=[0.5, 0.5]), None, (), "no max_grad_norm to check, one number"),
        (optimizer_of(found, "AdaClipDPOptimizer"), None, (), "AdaClipDPOptimizer; only Opacus' DPOptimizer"),
        (optimizer_of(found, loss_reduction="none"), None, (), "loss_reduction 'none'"),
        (optimizer_of(found, add_noise=print), None, (), "method add_noise that was set by hand"),
        (optimizer_of(found, step=print), None, (), "method step that was set by hand"),
        (optimizer_of(found, generator=coins), None, (), "knows its seed knows the noise"),
        (secure, poisson(generator=object()), (), "knows its seed knows the batches"),
        (optimizer_of(found, expected_batch_size=97), None, (), "expected_batch_size 97, and the guarantee is of 100"),
        (optimizer_of(found, expected_batch_size=None), None, (), "expected_batch_size None"),
        (honest, poisson(generator=coins), (), "knows its seed knows the batches"),
        (None, poisson(1 / 16), (), "rate 0.0625"),
        (None, poisson(1 / 40), (), "40 batches per epoch; the guarantee is of 20"),
        (None, poisson(n=2 * N), (), "holds 4,000 rows; the guarantee is of 2,000"),
        (None, poisson(num_samples=2 * N), (), "draws from 4000 places"),
        (None, other_sampler(), (), "DistributedUniformWithReplacementSampler is not Opacus'"),
        (None, Loader(), (), "give the DataLoader that make_private"),
        (None, None, [(found.noise_multiplier, 1 / 20)], "that of Opacus' accountant"),
        (None, None, [("a", 1 / 20, 1)], "numbers .noise, rate, batches."),
        (None, None, [(found.noise_multiplier, 1 / 20, 0.5)], "batches a whole number"),
        (None, None, [(found.noise_multiplier, 1 / 20, 41)], "41 batches ran"),
        (None, None, [(0.1, 1 / 20, 4)], "less noise"),
        (None, None, [(found.noise_multiplier, 0.06, 4)], "rate above"),
    ):  # fmt: skip
        with pytest.raises(ValueError, match=said):
            found.check(optimizer, loader, history)


def test_shuffled_batches_that_are_larger_are_more_epochs_in_as_many_steps():
    found, nan = made(run=RUN | {"poisson_sampling": False}), math.nan
    found.check(None, Loader(), [(found.noise_multiplier, 1 / 20, 40)])
    for loader, history, said in (
        (Loader(batch=N), (), "draws at rate 1"),
        (Loader(sampler=WeightedRandomSampler()), (), "WeightedRandomSampler has no account"),
        (SimpleNamespace(), (), "known length"),
        (None, [(found.noise_multiplier, 1.0, 40)], "rate above 0.05"),
        (None, [(found.noise_multiplier, nan, 1)], "rate above"),
        (None, [(nan, 1 / 20, 1)], "less noise"),
        (None, [(found.noise_multiplier, 1 / 20, 60), (found.noise_multiplier, 1 / 20, -30)], "batches ran"),
    ):
        with pytest.raises(ValueError, match=said):
            found.check(None, loader, history)


def test_with_torch_and_opacus_themselves():
    torch = pytest.importorskip("torch", reason="torch is not installed: pip install 'prepriv[opacus]'")
    opacus = pytest.importorskip("opacus", reason="Opacus is not installed: pip install 'prepriv[opacus]'")
    rows = torch.utils.data.TensorDataset(torch.rand(N, 3), torch.randint(0, 2, (N,)))
    loader = torch.utils.data.DataLoader(rows, batch_size=100, shuffle=True)
    found = calibrate(
        [pre.PCA(2, payment=Public(np.eye(3)))], loader, RUN, domain=BOX, epsilon=2.0, delta=DELTA
    )
    model = torch.nn.Linear(3, 2)
    engine = opacus.PrivacyEngine()
    model, optimizer, loader = engine.make_private(
        module=model,
        optimizer=torch.optim.SGD(model.parameters(), lr=0.1),
        data_loader=loader,
        **found.opacus,
    )
    torch.optim.lr_scheduler.StepLR(optimizer, 1)
    found.check(optimizer, loader)
    for _ in range(RUN["epochs"]):
        for x, y in loader:
            optimizer.zero_grad()
            torch.nn.functional.cross_entropy(model(x), y).backward()
            optimizer.step()
    found.check(history=engine.accountant.history)
    half = rows.tensors[0][: N // 2], rows.tensors[1][: N // 2]
    tensors = torch.utils.data.TensorDataset
    for twice_ in (
        torch.utils.data.ConcatDataset([tensors(*half), tensors(*half)]),
        tensors(rows.tensors[0][:1].expand(N, 3), rows.tensors[1]),
    ):
        with pytest.raises(ValueError, match="holds some rows twice"):
            calibrate(
                [],
                torch.utils.data.DataLoader(twice_, batch_size=100),
                RUN,
                domain=BOX,
                epsilon=2.0,
                delta=DELTA,
            )
    weighted = torch.utils.data.WeightedRandomSampler(torch.ones(N), N)
    bad = torch.utils.data.DataLoader(rows, batch_size=100, sampler=weighted)
    with pytest.raises(ValueError, match="WeightedRandomSampler"):
        calibrate([], bad, RUN, domain=BOX, epsilon=2.0, delta=DELTA)


def test_batches_and_flags_of_torch_and_opacus_themselves():
    torch = pytest.importorskip("torch", reason="torch is not installed: pip install 'prepriv[opacus]'")
    opacus = pytest.importorskip("opacus", reason="Opacus is not installed: pip install 'prepriv[opacus]'")
    data = torch.utils.data
    rows = data.TensorDataset(torch.rand(N, 3), torch.randint(0, 2, (N,)))
    plain_loader = functools.partial(data.DataLoader, rows, batch_size=100, shuffle=True)

    def privately(loader, found, **options):
        model = torch.nn.Linear(3, 2)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        given = found.opacus | options
        return opacus.PrivacyEngine().make_private(
            module=model, optimizer=optimizer, data_loader=loader, **given
        )[1:]

    shuffled = made(run=RUN | {"poisson_sampling": False})
    shuffled.check(*privately(plain_loader(), shuffled))
    own = data.BatchSampler(data.RandomSampler(rows), 100, False)
    shuffled.check(*privately(data.DataLoader(rows, batch_sampler=own), shuffled))
    weighted = data.WeightedRandomSampler([1.0] + [1e-9] * (N - 1), N)
    for bad in ([list(range(N))] * 20, [[0] * N] * 20, data.BatchSampler(weighted, 100, False)):
        with pytest.raises(ValueError, match="has no account"):
            shuffled.check(*privately(data.DataLoader(rows, batch_sampler=bad), shuffled))
    found = plain()
    found.check(*privately(plain_loader(), found))
    for flag in ({"batch_first": False}, {"rand_on_empty": True}):
        with pytest.raises(ValueError, match=next(iter(flag))):
            found.check(*privately(plain_loader(), found, **flag))
    with pytest.raises(TypeError, match="batch_first"):
        opacus.PrivacyEngine().make_private(**found.opacus, **{"batch_first": False})


def test_a_check_of_nothing_does_not_pass():
    for nothing in ({}, {"history": ()}, {"history": iter(())}):
        with pytest.raises(ValueError, match="nothing was given to check"):
            plain().check(**nothing)
    plain().check(history=[(plain().noise_multiplier, 1 / 20, 40)])


def test_the_names_of_jax_privacy_are_those_of_the_library():
    """Where it is installed they are asked for; so they were with jax_privacy 2.0.0."""
    jax_privacy = pytest.importorskip("jax_privacy")
    from jax_privacy import batch_selection, noise_addition

    names = plain().jax_privacy
    drawn = batch_selection.CyclicPoissonSampling(**names["CyclicPoissonSampling"]).batch_iterator(N)
    assert len(list(drawn)) == plain().steps
    noise_addition.gaussian_privatizer(**names["gaussian_privatizer"])
    jax_privacy.clipped_grad(lambda w, x: w @ x, **names["clipped_grad"])
