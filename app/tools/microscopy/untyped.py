"""Functions of scipy and scikit-image without the types inferred for them, which are often wrong.

Model process only.
"""

from __future__ import annotations

from typing import Any

import scipy.ndimage
import skimage.color
import skimage.feature
import skimage.filters
import skimage.measure
import skimage.morphology
import skimage.restoration
import skimage.segmentation
import skimage.transform

ndimage: Any = scipy.ndimage
color: Any = skimage.color
feature: Any = skimage.feature
filters: Any = skimage.filters
measure: Any = skimage.measure
morphology: Any = skimage.morphology
restoration: Any = skimage.restoration
segmentation: Any = skimage.segmentation
transform: Any = skimage.transform
