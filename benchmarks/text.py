"""Text: spam among short messages, replace-one, delta = 1e-5; a line for each run, a new split each time.

    python benchmarks/text.py --data FOLDER [--runs 10] [--epsilon 1] [--features 2048]

FOLDER holds sms_spam.tsv.gz (Label, SMS). "by share": a message is spam where its probability is above 0.134, the share of spam
that the collection's authors published. "balanced": a model of its own, class_weight="balanced".
"""

from __future__ import annotations

import argparse
import csv
import gzip
from pathlib import Path

import numpy as np
from sklearn.metrics import balanced_accuracy_score, roc_auc_score

import prepriv

SHARE = 747 / 5574


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--runs", type=int, default=10)
    parser.add_argument("--epsilon", type=float, default=1.0)
    parser.add_argument("--features", type=int, default=1024)
    options = parser.parse_args()
    with gzip.open(options.data / "sms_spam.tsv.gz", "rt", encoding="utf-8") as file:
        rows = [row[:2] for row in csv.reader(file, delimiter="\t", quoting=csv.QUOTE_NONE)][1:]
    x, y = [[text] for _, text in rows], np.array([label == "spam" for label, _ in rows]).astype(int)
    domain = prepriv.Domain({"SMS": prepriv.Text(options.features)}, (0, 1))
    print(
        "| run | balanced accuracy | by share | balanced | accuracy | AUC |\n|---|---|---|---|---|---|",
        flush=True,
    )
    got = []
    for run in range(options.runs):
        order = np.random.default_rng(run).permutation(len(y))
        train, test = order[: len(y) * 4 // 5], order[len(y) * 4 // 5 :]
        classifier, balanced = (
            prepriv.PrivateClassifier(domain, epsilon=options.epsilon, delta=1e-5, class_weight=weight).fit(
                [x[i] for i in train], y[train]
            )
            for weight in (None, "balanced")
        )
        spam = classifier.predict_proba([x[i] for i in test])[:, 1]
        got.append(
            (
                balanced_accuracy_score(y[test], spam > 0.5),
                balanced_accuracy_score(y[test], spam > SHARE),
                balanced_accuracy_score(y[test], balanced.predict([x[i] for i in test])),
                ((spam > 0.5) == y[test]).mean(),
                roc_auc_score(y[test], spam),
            )
        )
        print(f"| {run + 1} | " + " | ".join(f"{v:.3f}" for v in got[-1]) + " |", flush=True)
    print("| mean | " + " | ".join(f"{v:.3f}" for v in np.mean(got, axis=0)) + " |", flush=True)


if __name__ == "__main__":
    main()
