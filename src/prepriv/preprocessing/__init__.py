"""Pre-processing steps: one file each, with the algorithm and how far one record moves it."""

from prepriv.preprocessing.base import FittedMap, ReleasedMap, Sensitivity, Step
from prepriv.preprocessing.center import Center
from prepriv.preprocessing.impute import MeanImputer
from prepriv.preprocessing.normalize import ClipNorm, Normalize, Rescale
from prepriv.preprocessing.pca import PCA

__all__ = [
    "PCA",
    "Center",
    "ClipNorm",
    "FittedMap",
    "MeanImputer",
    "Normalize",
    "ReleasedMap",
    "Rescale",
    "Sensitivity",
    "Step",
]
