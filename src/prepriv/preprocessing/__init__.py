"""Pre-processing steps: one file each, with the algorithm and how far one record moves it."""

from typing import TYPE_CHECKING

from prepriv._asked import when_asked

if TYPE_CHECKING:
    from prepriv.preprocessing.augment_by_distance import AugmentByDistance
    from prepriv.preprocessing.base import FittedMap, ReleasedMap, RowShift, Step
    from prepriv.preprocessing.bins import Bins, QuantileBins
    from prepriv.preprocessing.center import Center
    from prepriv.preprocessing.class_counts import ClassCounts
    from prepriv.preprocessing.deduplicate import Deduplicate, DeduplicateCells
    from prepriv.preprocessing.encode import ClipFeatures, OneHot
    from prepriv.preprocessing.encoder import Encode
    from prepriv.preprocessing.fitted import Fitted
    from prepriv.preprocessing.homogenize import Homogenize
    from prepriv.preprocessing.impute import MeanImputer
    from prepriv.preprocessing.impute_constant import ConstantImputer
    from prepriv.preprocessing.impute_median import MedianImputer
    from prepriv.preprocessing.impute_regression import RegressionImputer
    from prepriv.preprocessing.impute_trimmed_mean import TrimmedMeanImputer
    from prepriv.preprocessing.instance_optimal_center import InstanceOptimalCenter
    from prepriv.preprocessing.normalize import ClipNorm, Normalize, Rescale
    from prepriv.preprocessing.pca import PCA, RankReduction
    from prepriv.preprocessing.quantile_transform import QuantileTransform
    from prepriv.preprocessing.quantize import Quantize, QuantizeCells
    from prepriv.preprocessing.random_features import RandomFeatures
    from prepriv.preprocessing.root_columns import RootColumns
    from prepriv.preprocessing.scale import StandardScaler
    from prepriv.preprocessing.scale_min_max import MinMaxScaler
    from prepriv.preprocessing.scattering import Scattering
    from prepriv.preprocessing.shrunk_center import ShrunkCenter
    from prepriv.preprocessing.soft_pca import SoftPCA
    from prepriv.preprocessing.square_root import SquareRoot

__all__ = [
    "PCA",
    "AugmentByDistance",
    "Bins",
    "Center",
    "ClassCounts",
    "ClipFeatures",
    "ClipNorm",
    "ConstantImputer",
    "Deduplicate",
    "DeduplicateCells",
    "Encode",
    "Fitted",
    "FittedMap",
    "Homogenize",
    "InstanceOptimalCenter",
    "MeanImputer",
    "MedianImputer",
    "MinMaxScaler",
    "Normalize",
    "OneHot",
    "QuantileBins",
    "QuantileTransform",
    "Quantize",
    "QuantizeCells",
    "RandomFeatures",
    "RankReduction",
    "RegressionImputer",
    "ReleasedMap",
    "Rescale",
    "RootColumns",
    "RowShift",
    "Scattering",
    "ShrunkCenter",
    "SoftPCA",
    "SquareRoot",
    "StandardScaler",
    "Step",
    "TrimmedMeanImputer",
]

__getattr__, __dir__ = when_asked(
    __name__,
    {
        "AugmentByDistance": "augment_by_distance",
        "Bins": "bins",
        "Center": "center",
        "ClassCounts": "class_counts",
        "ClipFeatures": "encode",
        "ClipNorm": "normalize",
        "ConstantImputer": "impute_constant",
        "Deduplicate": "deduplicate",
        "DeduplicateCells": "deduplicate",
        "Encode": "encoder",
        "Fitted": "fitted",
        "FittedMap": "base",
        "Homogenize": "homogenize",
        "InstanceOptimalCenter": "instance_optimal_center",
        "MeanImputer": "impute",
        "MedianImputer": "impute_median",
        "MinMaxScaler": "scale_min_max",
        "Normalize": "normalize",
        "OneHot": "encode",
        "PCA": "pca",
        "QuantileBins": "bins",
        "QuantileTransform": "quantile_transform",
        "Quantize": "quantize",
        "QuantizeCells": "quantize",
        "RandomFeatures": "random_features",
        "RankReduction": "pca",
        "RegressionImputer": "impute_regression",
        "ReleasedMap": "base",
        "Rescale": "normalize",
        "RootColumns": "root_columns",
        "RowShift": "base",
        "Scattering": "scattering",
        "ShrunkCenter": "shrunk_center",
        "SoftPCA": "soft_pca",
        "SquareRoot": "square_root",
        "StandardScaler": "scale",
        "Step": "base",
        "TrimmedMeanImputer": "impute_trimmed_mean",
    },
)
