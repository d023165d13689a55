"""What kernels call the arrays that they are given."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]
Rows = npt.NDArray[np.int32]
Signs = npt.NDArray[np.int8]
Floats = npt.NDArray[np.float64]
Words = npt.NDArray[np.uint64]
Bytes = npt.NDArray[np.uint8]
Flags = npt.NDArray[np.bool_]
