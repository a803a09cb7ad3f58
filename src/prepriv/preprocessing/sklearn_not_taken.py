"""Transformers of scikit-learn that a sketch does not pay for: the reason of each, and what to write instead.

This file states no bound: docs/proofs/fitted.md proves what the transformers that are taken may do.
"""

from __future__ import annotations

_WHOLE = "its transform is fitted to the rows that it is given together, so one row changes others"
_NONE = "it has no transform for new rows"
_STORED = "its map keeps rows or neighbours of them, and has no form as plain operations here"
_WORDS = "a sketch has no table of texts or of other objects"
_LABELS = "it changes labels, not rows"
_MODEL = "it is a model, not a transformer"
_OTHER = "it has no form as plain operations here"
NOT_TAKEN: dict[str, tuple[str, str, str]] = {
    "AdditiveChi2Sampler": (
        _OTHER,
        "RBFSampler or Nystroem",
        "random features of an RBF kernel, not of the chi-squared one",
    ),
    "BernoulliRBM": (_OTHER, "PCA or KMeans", "directions or distances, not units that are on or off"),
    "Birch": (_STORED, "KMeans", "distances to k centres, without a tree"),
    "CountVectorizer": (
        _WORDS,
        "Text in the domain, and PrivateClassifier(domain)",
        "words are hashed to declared places, so no vocabulary leaves",
    ),
    "DictVectorizer": (_WORDS, "one declared column for each key", "a key that is not declared is dropped"),
    "DictionaryLearning": (
        _WHOLE,
        "PCA or SparsePCA",
        "components that fit all rows by least squares; SparsePCA keeps few columns in each",
    ),
    "FeatureAgglomeration": (
        "its pooling is a function that has no form as plain data",
        "PCA",
        "each component has all columns, not the mean of a group of them",
    ),
    "FeatureHasher": (
        _WORDS,
        "declared categories and OneHotEncoder",
        "one place for each category, so none share one",
    ),
    "HashingVectorizer": (
        _WORDS,
        "Text in the domain, and PrivateClassifier(domain)",
        "the same hashing, in the recipe for texts",
    ),
    "Isomap": (
        _STORED,
        "PCA or Nystroem",
        "straight directions, or an RBF kernel on drawn rows; no paths along neighbours",
    ),
    "IsotonicRegression": (
        _MODEL,
        "QuantileTransformer or SplineTransformer",
        "monotone in the column, not in the label",
    ),
    "KNeighborsTransformer": (_STORED, "KMeans", "distances to k centres, not to rows"),
    "KernelCenterer": (_STORED, "Nystroem", "kernel features, which the learner centres"),
    "KernelPCA": (
        _STORED,
        "Nystroem, then PCA",
        "the same for an RBF kernel, on drawn rows: an approximation with n_components of them",
    ),
    "LabelBinarizer": (_LABELS, "classes= in the domain", "classes are learned as they are declared"),
    "LabelEncoder": (
        _LABELS,
        "classes= in the domain; OrdinalEncoder for columns",
        "codes in the order that you declare",
    ),
    "LatentDirichletAllocation": (
        _WHOLE,
        "PCA or TruncatedSVD",
        "directions of the counts, not shares of topics",
    ),
    "LocallyLinearEmbedding": (
        _STORED,
        "PCA or Nystroem",
        "straight directions, or an RBF kernel on drawn rows; no neighbourhoods",
    ),
    "MiniBatchDictionaryLearning": (
        _WHOLE,
        "MiniBatchSparsePCA",
        "the same components, found in small batches; a row's code is linear in the row",
    ),
    "MiniBatchNMF": (
        _WHOLE,
        "PCA or TruncatedSVD",
        "components with signs; NMF(solver='cd') is taken, one row at a time",
    ),
    "MultiLabelBinarizer": (_LABELS, "one yes-or-no column for each label", "one fit for each label"),
    "PatchExtractor": (
        "it makes several rows of one",
        "Domain.images, and PrivateClassifier(domain)",
        "wavelets of whole images",
    ),
    "PolynomialCountSketch": (
        _OTHER,
        "PolynomialFeatures",
        "all products of a small degree, not a random mixture of them",
    ),
    "RadiusNeighborsTransformer": (_STORED, "KMeans", "distances to k centres, not to rows"),
    "RandomTreesEmbedding": (_OTHER, "KBinsDiscretizer", "bins of each column, not of several columns"),
    "SkewedChi2Sampler": (
        _OTHER,
        "RBFSampler or Nystroem",
        "random features of an RBF kernel, not of the skewed chi-squared one",
    ),
    "SparseCoder": (_WHOLE, "PCA", "a code that is linear in the row, and not sparse"),
    "StackingClassifier": (_MODEL, "PrivateClassifier(domain, steps='additive')", "one model of all columns"),
    "StackingRegressor": (_MODEL, "PrivateRegressor(domain, steps='additive')", "one model of all columns"),
    "TSNE": (_NONE, "PCA", "straight directions, which keep large distances rather than neighbours"),
    "TfidfTransformer": (
        _WORDS,
        "Text in the domain, and PrivateClassifier(domain)",
        "counts of words without weights by their rareness",
    ),
    "TfidfVectorizer": (
        _WORDS,
        "Text in the domain, and PrivateClassifier(domain)",
        "words are hashed and count alike, without weights by their rareness",
    ),
    "VotingClassifier": (_MODEL, "PrivateClassifier(domain)", "one model with the whole ε"),
    "VotingRegressor": (_MODEL, "PrivateRegressor(domain)", "one model with the whole ε"),
}
"""By name: (reason, what to write instead, how the answer differs). docs/your-pipeline.md lists them (tests/preprocessing/test_not_taken.py compares)."""
