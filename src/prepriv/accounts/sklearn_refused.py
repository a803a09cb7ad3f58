"""Transformers of scikit-learn without a price: the reason of each, and what to use instead."""

from __future__ import annotations

_PICKS = "which columns stay depends on every record: one more or less can change every row; choose them by public data"
_EXTREMES = (
    "one record can move the least or greatest value of a column, and every row with it; scale by declared bounds, which "
    "is free, by prepriv's MinMaxScaler on public rows or by budget"
)
_DIRECTIONS = "one record can turn its directions, and every row with them; use prepriv's PCA on public rows or by budget, or SoftPCA"
_WORDS = (
    "its vocabulary is made of private words, and a word of one record alone gives that record away; hash words "
    "(HashingVectorizer), which is free"
)
_RANKS = (
    "one record can move a quantile as far as the gap beside it, and every row with it; use declared bounds, or "
    "prepriv's QuantileTransform on public rows"
)
_LABELS = "it looks at the labels of all records; no bound is known; fit it on public data"
REFUSED = {
    "MinMaxScaler": _EXTREMES,
    "MaxAbsScaler": _EXTREMES,
    "RobustScaler": "its median and quartiles jump where the data have gaps; use prepriv's StandardScaler",
    "QuantileTransformer": _RANKS,
    "PowerTransformer": "its exponents are fitted by likelihood, of which no bound is known; use SquareRoot, which is free",
    "KBinsDiscretizer": _RANKS,
    "SplineTransformer": _RANKS,
    "KNNImputer": "each filled cell copies other records, and no bound is known; use MeanImputer or RegressionImputer",
    "IterativeImputer": "no bound of its regressions is known; use prepriv's RegressionImputer",
    "PCA": _DIRECTIONS,
    "IncrementalPCA": _DIRECTIONS,
    "KernelPCA": _DIRECTIONS,
    "SparsePCA": _DIRECTIONS,
    "MiniBatchSparsePCA": _DIRECTIONS,
    "TruncatedSVD": _DIRECTIONS,
    "FastICA": _DIRECTIONS,
    "FactorAnalysis": _DIRECTIONS,
    "VarianceThreshold": _PICKS,
    "SelectKBest": _PICKS,
    "SelectPercentile": _PICKS,
    "SelectFpr": _PICKS,
    "SelectFdr": _PICKS,
    "SelectFwe": _PICKS,
    "SelectFromModel": _PICKS,
    "GenericUnivariateSelect": _PICKS,
    "SequentialFeatureSelector": _PICKS,
    "RFE": _PICKS,
    "RFECV": _PICKS,
    "CountVectorizer": _WORDS,
    "TfidfVectorizer": _WORDS,
    "TfidfTransformer": "its weights count the records that hold a word; leave them out, or fit them on public text",
    "DictVectorizer": _WORDS,
    "TargetEncoder": _LABELS,
    "PolynomialFeatures": "it depends on no data, but how far it moves rows is not bounded here: make the products part of "
    "the table, and declare their bounds",
    "FunctionTransformer": "what its function reads cannot be seen: apply it record by record, before the declared domain, which is free where its constants come from other records",
    "FeatureUnion": "it hands rows to several maps side by side: account for a ColumnTransformer, or for each alone",
    "MissingIndicator": "which columns it adds depends on the records; declare missing cells as a category",
}
