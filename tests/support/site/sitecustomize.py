"""Let Spark's Python processes find pyspark where it is installed, not in Spark's archive.

Spark puts `pyspark.zip` first on their path. Nothing compiled can be kept in there, so that each
process would compile pyspark anew, for a second. Python imports this module at its start, if its
directory is on `PYTHONPATH`.
"""

from __future__ import annotations

import sys

sys.path[:] = [place for place in sys.path if not place.endswith("pyspark.zip")]
