"""Transformers of scikit-learn that are compiled, each with a domain, and rows of one."""

from __future__ import annotations

import re

import numpy as np
from sklearn.cluster import BisectingKMeans, KMeans, MiniBatchKMeans
from sklearn.cross_decomposition import CCA, PLSSVD, PLSCanonical, PLSRegression
from sklearn.decomposition import (
    NMF,
    PCA,
    FactorAnalysis,
    FastICA,
    IncrementalPCA,
    MiniBatchSparsePCA,
    SparsePCA,
    TruncatedSVD,
)
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.experimental import enable_iterative_imputer  # noqa: F401
from sklearn.feature_selection import (
    RFE,
    RFECV,
    GenericUnivariateSelect,
    SelectFdr,
    SelectFpr,
    SelectFromModel,
    SelectFwe,
    SelectKBest,
    SelectPercentile,
    SequentialFeatureSelector,
    VarianceThreshold,
    chi2,
    mutual_info_classif,
)
from sklearn.impute import IterativeImputer, KNNImputer, MissingIndicator, SimpleImputer
from sklearn.kernel_approximation import Nystroem, RBFSampler
from sklearn.neighbors import NeighborhoodComponentsAnalysis
from sklearn.preprocessing import (
    Binarizer,
    FunctionTransformer,
    KBinsDiscretizer,
    MaxAbsScaler,
    MinMaxScaler,
    Normalizer,
    OneHotEncoder,
    OrdinalEncoder,
    PolynomialFeatures,
    PowerTransformer,
    QuantileTransformer,
    RobustScaler,
    SplineTransformer,
    StandardScaler,
    TargetEncoder,
)
from sklearn.random_projection import GaussianRandomProjection, SparseRandomProjection
from sklearn.tree import DecisionTreeClassifier

from prepriv import Categorical, Domain, Numeric

NUMBERS = Domain.box(0, [1, 10, 3, 5], features=4, classes=[0, 1, 2], n=2000)
GAPS = Domain.box(0, [1, 10, 3, 5], features=4, classes=[0, 1, 2], n=2000, missing="impute")
WORDS = Domain({"a": Categorical(["u", "v", "w"]), "b": Categorical(["x", "y"])}, classes=[0, 1, 2], n=2000)
FEW = DecisionTreeClassifier(max_depth=3, random_state=0)
NUMERIC = (
    Binarizer(threshold=0.4),
    BisectingKMeans(3, n_init=1),
    CCA(1),
    NeighborhoodComponentsAnalysis(2, max_iter=2, random_state=0),
    PLSCanonical(1),
    PLSSVD(1),
    FactorAnalysis(2),
    FastICA(2),
    FunctionTransformer(np.log1p),
    FunctionTransformer(),
    GaussianRandomProjection(3),
    GenericUnivariateSelect(mode="k_best", param=2),
    IncrementalPCA(2),
    KBinsDiscretizer(encode="onehot-dense", quantile_method="averaged_inverted_cdf"),
    KBinsDiscretizer(4, encode="ordinal", strategy="uniform"),
    KMeans(3, n_init=1, max_iter=10),
    MiniBatchKMeans(3, n_init=1, max_iter=5),
    LinearDiscriminantAnalysis(),
    MaxAbsScaler(),
    MinMaxScaler(clip=True, feature_range=(-1, 2)),
    MiniBatchSparsePCA(2, max_iter=5),
    *(Normalizer(norm=kind) for kind in ("l1", "l2", "max")),
    NMF(2, init="nndsvda", max_iter=400),
    NMF(3, alpha_W=0.01, l1_ratio=0.5, init="nndsvda", max_iter=30, tol=1e-3),
    Nystroem(n_components=8),
    PCA(2),
    PCA(0.9, whiten=True),
    PLSRegression(2),
    PolynomialFeatures(2),
    PolynomialFeatures(3, interaction_only=True, include_bias=False),
    PowerTransformer(),
    QuantileTransformer(n_quantiles=50),
    QuantileTransformer(n_quantiles=30, output_distribution="normal"),
    RBFSampler(n_components=10),
    RFE(FEW, n_features_to_select=2),
    RFECV(FEW, cv=2),
    RobustScaler(with_centering=False, unit_variance=True),
    SelectFdr(alpha=0.99),
    SelectFpr(alpha=0.99),
    SelectFromModel(FEW),
    SelectFwe(alpha=0.999),
    SelectKBest(k=2),
    SelectKBest(chi2, k=2),
    SelectKBest(mutual_info_classif, k=2),
    SelectPercentile(percentile=50),
    SequentialFeatureSelector(FEW, n_features_to_select=2, cv=2),
    SparsePCA(2, max_iter=5),
    SparseRandomProjection(3),
    SplineTransformer(),
    SplineTransformer(4, degree=2, knots="quantile", include_bias=False),
    StandardScaler(with_mean=False),
    TruncatedSVD(2),
    VarianceThreshold(0.5),
)
WITH_GAPS = (
    IterativeImputer(max_iter=3),
    IterativeImputer(add_indicator=True, max_iter=2, imputation_order="random"),
    KNNImputer(n_neighbors=3),
    KNNImputer(weights="distance", add_indicator=True),
    MinMaxScaler(),
    MissingIndicator(),
    QuantileTransformer(n_quantiles=20),
    RobustScaler(),
    SimpleImputer(),
    SimpleImputer(strategy="median", add_indicator=True),
    StandardScaler(),
)
OF_WORDS = (
    MissingIndicator(features="all"),
    OneHotEncoder(),
    OneHotEncoder(drop="first", handle_unknown="ignore"),
    OneHotEncoder(min_frequency=0.25),
    OrdinalEncoder(),
    OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1, encoded_missing_value=-2),
    SimpleImputer(strategy="most_frequent"),
    SimpleImputer(strategy="constant", fill_value="none"),
    TargetEncoder(),
)
CASES = [(t, NUMBERS) for t in NUMERIC] + [(t, GAPS) for t in WITH_GAPS] + [(t, WORDS) for t in OF_WORDS]


def name_of(case):
    """The name of a case in test ids: the same in every process."""
    return re.sub(r" at 0x\w+", "", re.sub(r"\s+", " ", str(case[0])))[:80]


def rows_of(domain, n, seed=0):
    """Encoded rows of a domain, gaps among them, and labels."""
    rng, parts = np.random.default_rng(seed), []
    for column in domain.columns.values():
        if isinstance(column, Numeric):
            u = rng.choice([0.0, 1.0, 0.25], n)
            u = np.where(rng.random(n) < 0.8, rng.beta(2, 3, n), u)
            gap = (rng.random(n) < 0.1) & (column.missing == "impute")
            parts.append(np.where(gap, np.nan, u)[:, None])
        else:
            parts.append(np.eye(column.width)[rng.integers(0, column.width, n)])
    first = np.nan_to_num(parts[0][:, 0])
    return np.hstack(parts), np.clip((first * 3).astype(int), 0, 2) % len(domain.classes)
