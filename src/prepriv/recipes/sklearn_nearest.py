"""Estimators of scikit-learn without a private learner: what is nearest to each, and how its answer differs.

docs/your-pipeline.md lists them; tests/recipes/test_nearest.py compares, and fits each choice.
"""

from __future__ import annotations

from collections.abc import Mapping

_CURVES = 'prepriv.{default}(domain, steps="additive")'
_DEFAULT = "prepriv.{default}(domain)"
_BENT = 'prepriv.{default}(domain, steps="curves")'
_TREES = (_CURVES, "one function of each column, drawn as a curve; no interactions of columns")
_SMOOTH = (
    _DEFAULT,
    "random features in place of stored rows: records that are alike get answers that are alike, and no record is kept",
)
_SMOOTH_REG = (
    _BENT,
    "random features and bins beside the columns, in place of stored rows: records that are alike get answers that are alike, and no record "
    "is kept. With few records or a small ε there is no signal for them, and the model is a line",
)
_NETWORK_REG = (
    _BENT,
    "random features, bins and one layer of weights, the only layer that is learned. With few records or a small ε there is no signal for "
    "them, and the model is a line",
)
_NETWORK = (_DEFAULT, "random features and one layer of weights, the only layer that is learned")
_SEARCH = (
    "the pipeline inside of it, or prepriv.choose, which compares several settings at one price",
    "settings are fixed before or on public rows. No search reads records that nobody pays for (docs/your-pipeline.md)",
)
_KERNEL = (
    "RBFSampler(gamma='scale', n_components=200), then LinearSVC()",
    "a margin on random features, which stand for the RBF kernel. No record is kept as a support vector. For kernel='linear', LinearSVC() alone. With more than two classes, LogisticRegression() in its place",
)
_KERNEL_REG = (
    _BENT,
    "random features beside the columns stand for the RBF kernel, where there is signal for them; small errors count, too. For kernel='linear', "
    "HuberRegressor() alone. In a pipeline of your own, RBFSampler(gamma='scale') before HuberRegressor() keeps its transformers",
)
_BAYES = (
    "LogisticRegression()",
    "a line between the classes, learned from labels rather than from means and variances within each class; with PolynomialFeatures(2) before it, a quadric as of GaussianNB",
)
_MEMBERS = (
    _DEFAULT,
    "one model with the whole ε; each member of a vote would get a part of it, and more noise",
)
_STACK = (_CURVES, "one model of all columns; no second model is fitted on predictions of the first")
_LINES = (
    "LogisticRegression()",
    "several classes are learned together, with one weight for each column and class, and one guarantee",
)
_SPARSE = (
    "Ridge()",
    "no weight is exactly 0, since noise moves each one. To leave columns out, drop them yourself, or put SelectKBest(f_regression) before Ridge, by a sketch",
)
_ROBUST = (
    "HuberRegressor()",
    "large errors count by their size, not their square; errors of any size count, and none is ignored",
)
_COUNTS = (
    "LinearRegression()",
    "it learns a mean by squares of errors, cut at the declared bounds; no logarithm of a mean",
)
_RIDGE = ("Ridge()", "one fit; its strength is not chosen by the records")
_CURVES_REG = (
    _CURVES,
    "one function of each column, which need not be monotone; no interactions of columns",
)
_ONE_TARGET = ("one private fit for each target", "each is paid for; give each its part of ε")
_COMPONENTS = (
    "PCA(n_components), then LinearRegression()",
    "directions of the largest variance, which do not look at the target",
)
_TRUSTED = ("LogisticRegression()", "only declared labels are learned; rows without one count as nothing")
_PLAIN = ("HuberRegressor()", "found by a few noisy gradient steps")

NEAREST: Mapping[str, tuple[str, str]] = {
    **dict.fromkeys(
        [
            "AdaBoostClassifier",
            "BaggingClassifier",
            "DecisionTreeClassifier",
            "ExtraTreeClassifier",
            "ExtraTreesClassifier",
            "GradientBoostingClassifier",
            "HistGradientBoostingClassifier",
            "RandomForestClassifier",
            "AdaBoostRegressor",
            "BaggingRegressor",
            "DecisionTreeRegressor",
            "ExtraTreeRegressor",
            "ExtraTreesRegressor",
            "GradientBoostingRegressor",
            "HistGradientBoostingRegressor",
            "RandomForestRegressor",
        ],
        _TREES,
    ),
    **dict.fromkeys(
        [
            "KNeighborsClassifier",
            "RadiusNeighborsClassifier",
            "NearestCentroid",
            "GaussianProcessClassifier",
        ],
        _SMOOTH,
    ),
    **dict.fromkeys(
        ["KNeighborsRegressor", "RadiusNeighborsRegressor", "GaussianProcessRegressor", "KernelRidge"],
        _SMOOTH_REG,
    ),
    "MLPClassifier": _NETWORK,
    "MLPRegressor": _NETWORK_REG,
    **dict.fromkeys(
        [
            "GridSearchCV",
            "RandomizedSearchCV",
            "HalvingGridSearchCV",
            "HalvingRandomSearchCV",
            "TunedThresholdClassifierCV",
        ],
        _SEARCH,
    ),
    "CalibratedClassifierCV": (
        "its estimator alone, such as LogisticRegression()",
        "probabilities are those of the private model, without a second fit; holdout= measures their calibration",
    ),
    "FixedThresholdClassifier": (
        "its estimator alone, and model.set_params(threshold=0.3) before fit",
        "the threshold that you name, on the probabilities of the private model",
    ),
    **dict.fromkeys(("SVC", "NuSVC"), _KERNEL),
    **dict.fromkeys(
        [
            "GaussianNB",
            "BernoulliNB",
            "CategoricalNB",
            "ComplementNB",
            "MultinomialNB",
            "LinearDiscriminantAnalysis",
            "QuadraticDiscriminantAnalysis",
        ],
        _BAYES,
    ),
    **dict.fromkeys(("VotingClassifier", "VotingRegressor"), _MEMBERS),
    **dict.fromkeys(("StackingClassifier", "StackingRegressor"), _STACK),
    **dict.fromkeys(
        [
            "OneVsOneClassifier",
            "OneVsRestClassifier",
            "OutputCodeClassifier",
            "PassiveAggressiveClassifier",
            "Perceptron",
        ],
        _LINES,
    ),
    **dict.fromkeys(("LabelPropagation", "LabelSpreading", "SelfTrainingClassifier"), _TRUSTED),
    **dict.fromkeys(
        ["ClassifierChain", "MultiOutputClassifier", "MultiOutputRegressor", "RegressorChain"], _ONE_TARGET
    ),
    "DummyClassifier": ("prepriv.ask for counts of the classes", "counts with intervals, not a model"),
    "DummyRegressor": ("prepriv.ask for a mean or a quantile", "a number with its interval, not a model"),
    **dict.fromkeys(
        [
            "Lasso",
            "LassoCV",
            "ElasticNet",
            "ElasticNetCV",
            "Lars",
            "LarsCV",
            "LassoLars",
            "LassoLarsCV",
            "LassoLarsIC",
            "OrthogonalMatchingPursuit",
            "OrthogonalMatchingPursuitCV",
            "MultiTaskLasso",
            "MultiTaskLassoCV",
            "MultiTaskElasticNet",
            "MultiTaskElasticNetCV",
        ],
        _SPARSE,
    ),
    **dict.fromkeys(["ARDRegression", "BayesianRidge"], _RIDGE),
    **dict.fromkeys(["LinearSVR", "QuantileRegressor", "RANSACRegressor", "TheilSenRegressor"], _ROBUST),
    **dict.fromkeys(("SGDRegressor", "PassiveAggressiveRegressor"), _PLAIN),
    **dict.fromkeys(("SVR", "NuSVR"), _KERNEL_REG),
    **dict.fromkeys(("GammaRegressor", "PoissonRegressor", "TweedieRegressor"), _COUNTS),
    "IsotonicRegression": _CURVES_REG,
    **dict.fromkeys(("CCA", "PLSCanonical", "PLSRegression"), _COMPONENTS),
    "TransformedTargetRegressor": (
        "its regressor alone. For a logarithm, Numeric(low, high, log=True) as the target of the domain; for another function, the target "
        "transformed record by record before the declared bounds",
        "predictions after log=True are in the units of the target; after your own function, in those of what it gives. A transformation that is "
        "fitted on the records is not taken",
    ),
}
"""By name: (what to write instead, how its answer differs). {default} is PrivateClassifier or PrivateRegressor."""


def nearest_to(name: str, default: str) -> tuple[str, str] | None:
    """(instead, how it differs) of an estimator of scikit-learn, where there is a line for it."""
    found = NEAREST.get(name)
    return None if found is None else (found[0].format(default=default), found[1])
