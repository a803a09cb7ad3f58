"""Encode: one row at a time, the same bits wherever it stands, nothing that is not fixed, one sentence before a charge."""

from __future__ import annotations

import copy
import json
import pickle
import sys
from weakref import WeakValueDictionary

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper

from networks import FLOAT, convolution, layer, network, value
from prepriv import (
    Budget,
    Domain,
    Model,
    Numeric,
    PrivateClassifier,
    PrivateRegressor,
    Sensitivity,
    account,
    make_plan,
)
from prepriv import preprocessing as pre
from prepriv.audit.replay_pipeline import replay_plan
from prepriv.learners import GradientDescent, Logistic
from prepriv.ledger import Ledger
from prepriv.placed.checks import check_steps
from prepriv.plans.stored import plan_from_json
from prepriv.preprocessing import Encode, encoder
from prepriv.preprocessing import network as network_file
from prepriv.preprocessing.maps import read_map, write_map
from prepriv.release.coefficients import coefficients
from prepriv.runs.preparation import make_preparation
from prepriv.runs.public import check_public_steps
from prepriv.schemas.declared_file import BadSchema
from prepriv.schemas.schema import load_schema

D, FEATURES, N = 6, 5, 40
BOX = Domain.box(0, 1, features=D, classes=[0, 1], n=N)
LAYER = layer(D, FEATURES).SerializeToString()
LEARNER = GradientDescent(Logistic(), steps=3)
node = helper.make_node


def fitted(content, domain=BOX, **options):
    return Encode(content, **options).free(domain.space)


# ------------------------------------------------------------------------- what it makes


def test_features_are_those_of_the_network_at_norm_one(rng):
    x = rng.random((20, D))
    weights = numpy_helper.to_array(layer(D, FEATURES).graph.initializer[0]).astype(float)
    h = np.maximum(x @ weights, 0.0)
    expected = h / np.maximum(np.linalg.norm(h, axis=1, keepdims=True), 1e-300)
    np.testing.assert_allclose(fitted(LAYER).transform(x), expected, atol=1e-6)
    space = Encode(LAYER).output(BOX.space)
    assert (space.d, space.radius, space.may_miss.any()) == (FEATURES, 1.0, False)


@pytest.mark.parametrize("radius", [0.1, 100.0])
def test_with_a_radius_longer_rows_alone_are_shortened(radius, rng):
    x = rng.random((50, D))
    plain, got = fitted(LAYER, radius=1e6).transform(x), fitted(LAYER, radius=radius).transform(x)
    norms = np.linalg.norm(got, axis=1)
    assert (norms <= radius * (1 + 1e-12)).all() and Encode(LAYER, radius=radius).output(
        BOX.space
    ).radius == radius
    short = np.linalg.norm(plain, axis=1) <= radius
    assert np.array_equal(got[short], plain[short])


@pytest.mark.parametrize("last", [False, True])
def test_images_come_in_the_order_of_the_network(last, rng):
    domain = Domain.images(4, 5, 3, [0, 1])
    x = rng.random((7, 60))
    content = convolution(4, 5, 3, 8, last).SerializeToString()
    weights = numpy_helper.to_array(convolution(4, 5, 3, 8).graph.initializer[0]).astype(float)
    padded = np.pad(x.reshape(7, 4, 5, 3), ((0, 0), (1, 1), (1, 1), (0, 0)))
    windows = np.lib.stride_tricks.sliding_window_view(padded, (3, 3), axis=(1, 2))
    expected = np.einsum("bhwcij,fcij->bf", windows, weights) / 20
    got = fitted(content, domain, radius=1e6).transform(x)
    np.testing.assert_allclose(got, expected, atol=1e-5)


def test_a_row_has_the_same_bits_in_any_batch_order_and_process(rng):
    content = convolution(4, 5, 3, 8).SerializeToString()
    domain, x = Domain.images(4, 5, 3, [0, 1]), rng.random((9, 60))
    whole = fitted(content, domain).transform(x)
    by_one = np.concatenate([fitted(content, domain).transform(x[i : i + 1]) for i in range(9)])
    turned = fitted(content, domain).transform(np.asfortranarray(x[::-1]))[::-1]
    beside_wild = fitted(content, domain).transform(np.concatenate([x[:1], np.full((3, 60), 1e30)]))[:1]
    assert (
        np.array_equal(whole, by_one)
        and np.array_equal(whole, turned)
        and np.array_equal(whole[:1], beside_wild)
    )


# ------------------------------------------------------------------------- odd rows


def test_a_row_that_the_network_cannot_take_is_a_row_of_zeros_and_nothing_is_printed(capfd):
    """Numbers that overflow, roots of negative ones and an index out of range, all decided by one row."""
    nodes = [
        node("Cast", ["x"], ["i"], to=TensorProto.INT64),
        node("Gather", ["table", "i"], ["g"]),
        node("Sqrt", ["x"], ["r"]),
        node("Add", ["g", "r"], ["y"]),
    ]
    model = network(nodes, (2,), (2,), [("table", np.arange(1, 5, dtype=np.float32))])
    m = fitted(model.SerializeToString(), Domain.ball(2, [0, 1]), radius=100.0)
    x = np.array([[1.0, 2.0], [9.0, 1.0], [-1.0, 1.0], [np.inf, 0.0], [1e300, 1.0], [1.0, 2.0]])
    got = m.transform(x)
    assert np.array_equal(
        got[[0, 5]], np.tile([[3.0, 3.0 + np.float32(2) ** 0.5]], (2, 1)).astype(np.float32)
    )
    assert not got[1:5].any()
    assert capfd.readouterr() == ("", "")


# ------------------------------------------------------------------------- what is refused, one sentence each


def external():
    model = layer(D, FEATURES)
    tensor = model.graph.initializer[0]
    tensor.ClearField("raw_data")
    tensor.data_location = TensorProto.EXTERNAL
    entry = tensor.external_data.add()
    entry.key, entry.value = "location", "weights.bin"
    return model


def in_constant():
    """The same in a constant in place of a weight."""
    model = external()
    held = node("Constant", [], ["w"], value=model.graph.initializer[0])
    model.graph.node.insert(0, held)
    del model.graph.initializer[:]
    return model


NORMAL = [(name, np.ones(4, np.float32)) for name in ("s", "b", "m", "v")]
BATCH_NORM = ["x", "s", "b", "m", "v"]
TRUE = ("t", np.array(True))
SHAPE = ("shape", np.array([-1], np.int64))
BRANCH = helper.make_graph([node("Relu", ["x"], ["z"])], "branch", [], [value("z", "batch", 4)])
FUNCTION = helper.make_function(
    "", "Relu", ["a"], ["b"], [node("RandomNormalLike", ["a"], ["b"])], [helper.make_opsetid("", 18)]
)
REFUSED = {
    "training batch norm": (
        network([node("BatchNormalization", BATCH_NORM, ["y", "a", "c"], training_mode=1)], (4,), (4,), NORMAL),
        "batch normalisation in training mode",
    ),
    "batch norm that learns": (
        network([node("BatchNormalization", BATCH_NORM, ["y", "a", "c"])], (4,), (4,), NORMAL),
        "batch normalisation in training mode",
    ),
    "noise": (network([node("RandomNormalLike", ["x"], ["y"])], (4,), (4,)), r"draws random numbers \(RandomNormalLike\)"),
    "constant noise": (
        network([node("RandomUniform", [], ["r"], shape=[1, 4]), node("Add", ["x", "r"], ["y"])], (4,), (4,)),
        "draws random numbers",
    ),
    "coins": (network([node("Bernoulli", ["x"], ["y"])], (4,), (4,)), "draws random numbers"),
    "dropout": (network([node("Dropout", ["x", "", "t"], ["y"])], (4,), (4,), [TRUE]), "dropout in training mode"),
    "dropout that a row decides": (
        network(
            [
                node("ReduceMax", ["x"], ["m"], keepdims=0),
                node("Cast", ["m"], ["t"], to=TensorProto.BOOL),
                node("Dropout", ["x", "", "t"], ["y"]),
            ],
            (4,),
            (4,),
        ),
        "dropout in training mode",
    ),
    "size of a row": (network([node("Relu", ["x"], ["y"])], ("width",), ("width",)), "size that is not fixed"),
    "size by the row": (
        network([node("NonZero", ["x"], ["i"]), node("Cast", ["i"], ["y"], to=FLOAT)], (4,), ("k",)),
        "operator 'NonZero'",
    ),
    "size by its numbers": (
        network(
            [
                node("Cast", ["x"], ["i"], to=TensorProto.INT64),
                node("ReduceMax", ["i"], ["k"], keepdims=0),
                node("Reshape", ["k", "shape"], ["n"]),
                node("ConstantOfShape", ["n"], ["y"]),
            ],
            (4,),
            ("k",),
            [SHAPE],
        ),
        "size is not fixed",
    ),
    "a batch of eight": (network([node("Relu", ["x"], ["y"])], [value("x", 8, 4)], [value("y", 8, 4)]), "several rows at once"),
    "mixes its batch": (network([node("Reshape", ["x", "shape"], ["y"])], (4,), (4,), [SHAPE]), "one row of at most"),
    "a function in the place of an operator": (
        network([node("Relu", ["x"], ["y"])], (4,), (4,), functions=[FUNCTION]),
        "defines operators of its own",
    ),
    "own operator": (network([node("Mine", ["x"], ["y"], domain="of.my.own")], (4,), (4,)), "custom operator 'Mine'"),
    "unknown operator": (network([node("Mine", ["x"], ["y"])], (4,), (4,)), "operator 'Mine'"),
    "a branch": (
        network([node("If", ["t"], ["y"], then_branch=BRANCH, else_branch=BRANCH)], (4,), (4,), [TRUE]),
        "operator 'If'",
    ),
    "two inputs": (
        network([node("Add", ["x", "z"], ["y"])], [value("x", "b", 4), value("z", "b", 4)], (4,)),
        "2 inputs and 1 outputs",
    ),
    "two outputs": (
        network([node("Relu", ["x"], ["y"]), node("Abs", ["x"], ["z"])], (4,), [value("y", "b", 4), value("z", "b", 4)]),
        "1 inputs and 2 outputs",
    ),
    "texts": (
        network([node("Identity", ["x"], ["y"])], [value("x", "b", 4, kind=TensorProto.STRING)], [value("y", "b", 4, kind=TensorProto.STRING)]),
        "single or double precision",
    ),
    "whole numbers out": (network([node("Shape", ["x"], ["y"])], (4,), [value("y", 2, kind=TensorProto.INT64)]), "must make numbers"),
    "whole division": (
        network(
            [
                node("Cast", ["x"], ["i"], to=TensorProto.INT32),
                node("Div", ["i", "i"], ["q"]),
                node("Cast", ["q"], ["y"], to=FLOAT),
            ],
            (4,),
            (4,),
        ),
        "divides whole numbers",
    ),
    "weights elsewhere": (external(), "weights in another file"),
    "constants elsewhere": (in_constant(), "weights in another file"),
    "parts that do not fit": (network([node("MatMul", ["x", "w"], ["y"])], (4,), (4,), [("w", np.ones((5, 4), np.float32))]), "not valid"),
    "a missing part": (network([node("Add", ["x", "nowhere"], ["y"])], (4,), (4,)), "not valid"),
    "never finite": (network([node("Div", ["x", "z"], ["y"])], (4,), (4,), [("z", np.zeros(4, np.float32))]), "no finite numbers"),
    "too much on its way": (
        network([node("Expand", ["x", "s"], ["h"]), node("ReduceMax", ["h"], ["y"], keepdims=1)], (4,), (1,), [("s", np.array([2**13, 2**13, 4]))]),
        "numbers of one row on its way",
    ),
    "an old version": (network([node("Relu", ["x"], ["y"])], (4,), (4,), opset=8), "version 8 of the ONNX operators"),
    "a coming version": (network([node("Relu", ["x"], ["y"])], (4,), (4,), opset=99), "version 99 of the ONNX operators"),
    "no network": (helper.make_model(helper.make_graph([], "nothing", [value("x", 1, 4)], [value("x", 1, 4)])), "not a file in the ONNX format"),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_not_fixed_is_refused_with_a_sentence(name, tmp_path, capfd):
    model, match = REFUSED[name]
    content = model if isinstance(model, bytes) else model.SerializeToString()
    (tmp_path / "weights.bin").write_bytes(np.zeros(D * FEATURES, np.float32).tobytes())
    (tmp_path / "network.onnx").write_bytes(content)
    for given in (content, tmp_path / "network.onnx"):
        with pytest.raises(ValueError, match=match) as error:
            Encode(given)
        assert "\n" not in str(error.value) and str(error.value).startswith("the network ")
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize(
    "content", [b"", b"\x00", b"no network", LAYER[: len(LAYER) // 2], LAYER + b"\xff\xff"]
)
def test_a_damaged_file_is_refused(content, tmp_path):
    (tmp_path / "network.onnx").write_bytes(content)
    with pytest.raises(ValueError, match="the network "):
        Encode(tmp_path / "network.onnx")


def test_paths_that_cannot_be_read(tmp_path):
    for path in (tmp_path / "not there.onnx", tmp_path, "nowhere.onnx", "a\0b"):
        with pytest.raises(ValueError, match="cannot be read"):
            Encode(path)


def test_a_network_that_no_model_file_could_hold_is_not_even_read(tmp_path):
    with (tmp_path / "large.onnx").open("wb") as file:
        file.truncate(2**31 + 1)  # no byte of it is on the disk
    with pytest.raises(ValueError, match="has 2,147,483,649 bytes, above 41,943,040"):
        Encode(tmp_path / "large.onnx")
    with pytest.raises(ValueError, match="bytes, above"):
        Encode(bytes(network_file.LARGEST_NETWORK + 1))


def test_a_network_that_makes_other_bits_elsewhere_is_refused(monkeypatch):
    run = network_file.Network.run
    monkeypatch.setattr(
        network_file.Network, "run", lambda net, rows: run(net, rows) + np.arange(len(rows))[:, None]
    )
    with pytest.raises(ValueError, match="other numbers of the same"):
        Encode(layer(3, 2, seed=11).SerializeToString())


def test_options_are_refused_by_name():
    for options, match in (
        ({"radius": 0}, "radius must be"),
        ({"licence": "a\nb"}, "licence must be"),
        ({"licence": 3}, "licence must be"),
        ({"inputs": (7,)}, "inputs="),
        ({"features": 4}, "features=4"),
        ({"payment": Budget(0.1)}, "depends on no data and is free"),
    ):
        with pytest.raises(ValueError, match=match):
            Encode(LAYER, **options)
    with pytest.raises(ValueError, match="network must be the path"):
        Encode(3)


# ------------------------------------------------------------------------- its place in a plan


def test_rows_of_another_size_are_refused_when_planned():
    for domain, match in (
        (Domain.box(0, 1, D + 1, [0, 1], n=N), "takes 6 numbers, and rows of 7 numbers reach it"),
        (Domain.images(3, 3, 1, [0, 1], n=N), "images of 3 x 3 x 1"),
        (Domain.box(0, 1, D, [0, 1], n=N, missing="impute"), "needs every cell"),
    ):
        with pytest.raises(ValueError, match=match):
            make_plan(domain, [Encode(LAYER)], LEARNER, epsilon=1.0, delta=1e-5)
    grey = Encode(convolution(4, 5, 1, 8).SerializeToString())
    with pytest.raises(ValueError, match="rows of 20 numbers"):
        make_plan(Domain.box(0, 1, 20, [0, 1], n=N), [grey], LEARNER, epsilon=1.0, delta=1e-5)


def test_it_cannot_follow_a_step_that_moves_rows():
    few = pre.Quantize(0.01, payment=Sensitivity({"max_neighbors": 3}))
    with pytest.raises(ValueError, match="not a Lipschitz map"):
        make_plan(BOX, [few, Encode(LAYER)], LEARNER, epsilon=1.0, delta=1e-5)


def test_the_plan_says_hash_licence_and_premise_and_reads_back(tmp_path):
    (tmp_path / "e.onnx").write_bytes(LAYER)
    step = Encode(tmp_path / "e.onnx", "MIT")
    plan = make_plan(BOX, [step], LEARNER, epsilon=1.0, delta=1e-5)
    said = plan.to_json()["steps"][0]
    assert said["network"] == step.network and len(step.network) == 64 and said["licence"] == "MIT"
    assert str(tmp_path) not in json.dumps(plan.to_json())
    assert plan.hash == make_plan(BOX, [Encode(LAYER, "MIT")], LEARNER, epsilon=1.0, delta=1e-5).hash
    assert plan.hash != make_plan(BOX, [Encode(LAYER, "CC0")], LEARNER, epsilon=1.0, delta=1e-5).hash
    (premise,) = plan.guarantee.premises
    assert premise.startswith("holds only if no private record had a part in the network of Encode")
    assert step.network[:16] in premise and "MIT" in premise and premise in str(plan.guarantee)
    assert plan_from_json(json.loads(json.dumps(plan.to_json()))).hash == plan.hash
    without = make_plan(BOX, [pre.Normalize()], LEARNER, epsilon=1.0, delta=1e-5)
    assert plan.guarantee.mu == without.guarantee.mu and not without.guarantee.premises


def test_the_premise_stands_in_every_claim():
    step, tested = Encode(LAYER), pre.Deduplicate(0.01, payment=Sensitivity({"max_neighbors": 3}, test=0.1))
    centre = pre.Center(payment=Budget(0.1))
    claims = [
        make_preparation(BOX, [step, centre], epsilon=1.0, delta=1e-5).guarantee,
        account([step], LEARNER, domain=BOX, noise_multiplier=30.0, delta=1e-5),
        account(
            [step, pre.Quantize(0.01, payment=Sensitivity({"max_neighbors": 3}))],
            LEARNER,
            domain=BOX,
            noise_multiplier=30.0,
            delta=1e-5,
        ),
        make_plan(BOX, [step, tested], LEARNER, epsilon=4.0, delta=1e-5).guarantee,
    ]
    assert all(any("no private record had a part" in p for p in claim.premises) for claim in claims)
    assert "caps tested by propose-test-release" in " ".join(claims[-1].notes)


def test_the_licence_of_the_file_is_taken_where_none_is_given():
    model = layer(D, FEATURES)
    helper.set_model_props(model, {"License": "Apache-2.0"})
    assert Encode(model.SerializeToString()).licence == "Apache-2.0"
    assert Encode(model.SerializeToString(), "MIT").licence == "MIT"
    assert Encode(LAYER).licence == "not stated"


def test_a_file_that_changes_or_goes_after_planning_changes_nothing(tmp_path, rng):
    path = tmp_path / "e.onnx"
    path.write_bytes(LAYER)
    step, x = Encode(path), rng.random((4, D))
    path.write_bytes(layer(D, FEATURES, seed=5).SerializeToString())
    assert np.array_equal(step.free(BOX.space).transform(x), fitted(LAYER).transform(x))
    assert Encode(path).network != step.network
    path.unlink()
    plan = make_plan(BOX, [step], LEARNER, epsilon=1.0, delta=1e-5)
    for same in (copy.deepcopy(step), pickle.loads(pickle.dumps(step)), plan.pipeline[0]):
        assert same == step and np.array_equal(same.free(BOX.space).transform(x), fitted(LAYER).transform(x))


def test_a_plan_whose_network_is_not_here_is_refused_before_a_charge():
    """A hash alone, of no file that this process has read: first in the chain, and behind a private step."""
    unread = Encode("0" * 64, inputs=(D,), features=FEATURES)
    centre = pre.Center(payment=Budget(0.1))
    for steps in ([unread], [centre, unread]):
        check_steps(steps)
        with pytest.raises(ValueError, match=r"SHA-256 0{16}\.\.\. is not here"):
            check_public_steps(BOX, steps)
    with pytest.raises(ValueError, match="is not here"):
        Encode("0" * 64)


def test_nothing_is_charged_where_the_network_is_not_here(tmp_path, rng):
    ledger = Ledger.create(tmp_path / "book", "people", epsilon=3.0, delta=1e-4)
    steps = [pre.Center(payment=Budget(0.1)), Encode("0" * 64, inputs=(D,), features=FEATURES)]
    clf = PrivateClassifier(
        BOX, epsilon=1.0, delta=1e-6, steps=steps, learner=LEARNER, ledger=tmp_path / "book"
    )
    with pytest.raises(ValueError, match="is not here"):
        clf.fit(rng.random((N, D)), np.arange(N) % 2)
    assert not ledger.entries()


# ------------------------------------------------------------------------- model, recipe, regression


def test_the_model_holds_the_network_and_predicts_where_nobody_has_read_it(tmp_path, rng, monkeypatch):
    domain = Domain.box(0, 1, features=D, classes=["a", "b"], n=N)
    x, y = rng.random((N, D)), np.where(np.arange(N) % 2, "a", "b")
    clf = PrivateClassifier(domain, epsilon=1.0, delta=1e-6, steps=[Encode(LAYER, "MIT"), "linear"]).fit(x, y)
    file = clf.model_.save(tmp_path)
    monkeypatch.setattr(encoder, "_KNOWN", WeakValueDictionary())
    read = Model.load(file)
    assert read.maps[0].network is not clf.model_.maps[0].network
    assert np.array_equal(read.scores(x), clf.model_.scores(x)) and read.text() == file.read_text()
    for claim in (str(read.guarantee), clf.report_.to_html()):
        assert "holds only if no private record had a part" in claim
    with pytest.raises(ValueError, match="those of a network"):
        coefficients(clf.model_)
    with pytest.raises(ValueError, match=r"no form .* map Encoded"):
        clf.model_.to_onnx()


@pytest.mark.parametrize("key, value", [("network", "AAAA"), ("network", "no base64 §"), ("channels_first", 1), ("channels_first", True), ("factor", 0.0), ("floor", -1.0), ("factor", "1")])  # fmt: skip
def test_a_forged_map_is_refused(key, value, tmp_path, rng):
    data = write_map(fitted(LAYER))
    assert read_map(data).network is fitted(LAYER).network
    with pytest.raises((ValueError, TypeError)):
        read_map(data | {key: value})
    model = PrivateClassifier(BOX, epsilon=1.0, delta=1e-6, steps=[Encode(LAYER)], learner=LEARNER)
    model = model.fit(rng.random((N, D)), np.arange(N) % 2).model_
    forged = json.loads(model.text())
    forged["maps"][0][key] = value
    (tmp_path / "model.json").write_text(json.dumps(forged))
    with pytest.raises(ValueError, match=r"not a model of .*damaged"):
        Model.load(tmp_path)


def test_the_recipe_behind_free_steps_is_that_of_a_ball():
    from prepriv.recipes.automatic import recipe

    budget = {"n": 500, "epsilon": 1.0, "delta": 1e-5}
    domain, ball = Domain.box(0, 1, D, [0, 1, 2]), Domain.ball(FEATURES, [0, 1, 2])
    for name in ("auto", "linear"):
        steps, learner = recipe(domain, steps=[Encode(LAYER), name], **budget)
        assert steps[0] == Encode(LAYER) and (steps[1:], learner) == recipe(ball, steps=name, **budget)
    for steps, match in (
        ([pre.Center(payment=Budget(0.1)), "auto"], "Center is paid for by budget: before a recipe"),
        ([Encode(LAYER), "other"], "steps must be one of auto"),
        (["auto", Encode(LAYER)], r"steps\[0\] must be a step"),
        ([7, "auto"], r"steps\[0\] must be a step"),
    ):
        with pytest.raises(ValueError, match=match):
            recipe(domain, steps=steps, **budget)
    holes = Domain.box(0, 1, D, [0, 1], missing="impute")
    with pytest.raises(ValueError, match="needs every cell"):
        recipe(holes, steps=[pre.Rescale(2.0), "auto"], **budget)
    filled = [pre.ConstantImputer(0.5), "auto"]
    assert recipe(holes, steps=filled, **budget)[0][0].name == "ConstantImputer"


def test_a_number_behind_a_network(rng):
    n = 400
    domain = Domain.box(0, 1, D, target=Numeric(0, 1), n=n)
    x = rng.random((n, D))
    reg = PrivateRegressor(domain, epsilon=8.0, delta=1e-6, steps=[Encode(LAYER), "auto"]).fit(x, x[:, 0])
    assert reg.plan_.steps[0].step.name == "Encode" and np.isfinite(reg.predict(x)).all()


def test_without_the_extra_one_sentence(monkeypatch):
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    with pytest.raises(ImportError, match=r"pip install 'prepriv\[onnx\]'"):
        Encode(layer(2, 2, seed=9).SerializeToString())


def schema(folder, steps):
    text = "label: {name: y, classes: [a, b]}\nrows: 40\ncolumns:\n"
    text += "".join(f"  c{j}: {{type: numeric, low: 0, high: 1}}\n" for j in range(D))
    (folder / "schema.yaml").write_text(f"{text}steps: {steps}\n")
    return load_schema(folder / "schema.yaml")


def test_a_schema_names_the_file_and_may_end_in_a_recipe(tmp_path):
    path = tmp_path / "e.onnx"
    path.write_bytes(LAYER)
    step = f"{{step: Encode, network: {path}, licence: MIT}}"
    assert schema(tmp_path, f"[{step}]").build_steps(None) == [Encode(LAYER, "MIT")]
    assert schema(tmp_path, f"[{step}, linear]").build_steps(None) == [Encode(LAYER, "MIT"), "linear"]
    path.write_bytes(b"no network")
    with pytest.raises(BadSchema, match=r"steps\[1\]: .* ONNX format"):
        schema(tmp_path, f"[{step}]").build_steps(None)
    for steps in (f"[linear, {step}]", "[linear]", f"[{step}, other]"):
        with pytest.raises(BadSchema, match="must be written as"):
            schema(tmp_path, steps)


def test_a_model_with_a_network_is_replayed_from_its_file_alone(tmp_path, rng, monkeypatch):
    steps = [Encode(LAYER, "MIT"), pre.Center(payment=Budget(0.1))]
    clf = PrivateClassifier(BOX, epsilon=1.0, delta=1e-6, steps=steps, learner=LEARNER)
    file = clf.fit(rng.random((N, D)), np.arange(N) % 2).model_.save(tmp_path)
    monkeypatch.setattr(encoder, "_KNOWN", WeakValueDictionary())
    model = Model.load(file)
    found = replay_plan(model.declared, pairs=3, seed=1)
    assert found.pairs == 3 and not found.findings and not found.failed
