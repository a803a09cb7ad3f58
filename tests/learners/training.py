"""Train a learner on quantised rows, with the few declared facts a test needs."""

from prepriv.learners.learner import Run, Setting


def train(learner, rows, outputs, *, n, radius=1.0, adjacency="replace-one", **run):
    """Weights of `learner`; run: session, noise_multiplier and what else a `Run` takes."""
    setting = Setting(radius, rows.shape[1] - 1, outputs, n, adjacency)
    return learner.train(rows, setting, Run(**run))
