"""Transformers of scikit-learn that a sketch does not pay for: the reason of each, and what to write instead."""

from __future__ import annotations

_WHOLE = "its transform is fitted to the rows that it is given together, so one row changes others"
_NONE = "it has no transform for new rows"
_STORED = "its map keeps rows or neighbours of them, and has no form as plain operations here"
_WORDS = "a sketch has no table of texts or of other objects"
_LABELS = "it changes labels, not rows"
_MODEL = "it is a model, not a transformer"
_OTHER = "it has no form as plain operations here"
NOT_TAKEN: dict[str, tuple[str, str]] = {
    "AdditiveChi2Sampler": (_OTHER, "RBFSampler or Nystroem"),
    "BernoulliRBM": (_OTHER, "PCA or KMeans"),
    "Birch": (_STORED, "KMeans"),
    "CountVectorizer": (_WORDS, "Text in the domain, and PrivateClassifier(domain)"),
    "DictVectorizer": (_WORDS, "one declared column for each key"),
    "DictionaryLearning": (_WHOLE, "PCA or SparsePCA"),
    "FeatureAgglomeration": ("its pooling is a function that has no form as plain data", "PCA"),
    "FeatureHasher": (_WORDS, "declared categories and OneHotEncoder"),
    "HashingVectorizer": (_WORDS, "Text in the domain, and PrivateClassifier(domain)"),
    "Isomap": (_STORED, "PCA or Nystroem"),
    "IsotonicRegression": (_MODEL, "QuantileTransformer or SplineTransformer"),
    "KNeighborsTransformer": (_STORED, "KMeans"),
    "KernelCenterer": (_STORED, "Nystroem"),
    "KernelPCA": (_STORED, "Nystroem, then PCA"),
    "LabelBinarizer": (_LABELS, "classes= in the domain"),
    "LabelEncoder": (_LABELS, "classes= in the domain; OrdinalEncoder for columns"),
    "LatentDirichletAllocation": (_WHOLE, "PCA or TruncatedSVD"),
    "LocallyLinearEmbedding": (_STORED, "PCA or Nystroem"),
    "MiniBatchDictionaryLearning": (_WHOLE, "MiniBatchSparsePCA"),
    "MiniBatchNMF": (_WHOLE, "PCA or TruncatedSVD"),
    "MultiLabelBinarizer": (_LABELS, "one yes-or-no column for each label"),
    "PatchExtractor": ("it makes several rows of one", "Domain.images, and PrivateClassifier(domain)"),
    "PolynomialCountSketch": (_OTHER, "PolynomialFeatures"),
    "RadiusNeighborsTransformer": (_STORED, "KMeans"),
    "RandomTreesEmbedding": (_OTHER, "KBinsDiscretizer"),
    "SkewedChi2Sampler": (_OTHER, "RBFSampler or Nystroem"),
    "SparseCoder": (_WHOLE, "PCA"),
    "StackingClassifier": (_MODEL, "PrivateClassifier(domain, steps='additive')"),
    "StackingRegressor": (_MODEL, "PrivateRegressor(domain, steps='additive')"),
    "TSNE": (_NONE, "PCA"),
    "TfidfTransformer": (_WORDS, "Text in the domain, and PrivateClassifier(domain)"),
    "TfidfVectorizer": (_WORDS, "Text in the domain, and PrivateClassifier(domain)"),
    "VotingClassifier": (_MODEL, "PrivateClassifier(domain)"),
    "VotingRegressor": (_MODEL, "PrivateRegressor(domain)"),
}
"""By name: (reason, what to write instead). docs/your-pipeline.md lists them (tests/preprocessing/test_not_taken.py compares)."""
