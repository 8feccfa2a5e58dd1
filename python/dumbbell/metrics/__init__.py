"""Pure functions from a run to numbers. The docstring of each function is its definition.

A module exports its metrics by ``__all__``; the order of imports is the order of
``docs/metrics.md``.
"""

from dumbbell.metrics import ccperf, flow, load, ping, program, queue, series, sharing, transfer
from dumbbell.metrics.ccperf import network as _network
from dumbbell.metrics.ccperf.flow import *
from dumbbell.metrics.ccperf.link import *
from dumbbell.metrics.ccperf.network import *
from dumbbell.metrics.ccperf.trace import *
from dumbbell.metrics.flow import *
from dumbbell.metrics.load import *
from dumbbell.metrics.ping import *
from dumbbell.metrics.program import *
from dumbbell.metrics.queue import *
from dumbbell.metrics.registry import METRICS, Metric, metrics_markdown
from dumbbell.metrics.series import *
from dumbbell.metrics.sharing import *
from dumbbell.metrics.transfer import *

__all__ = ["METRICS", "Metric", "metrics_markdown"]
__all__ += ccperf.flow.__all__
__all__ += ccperf.link.__all__
__all__ += _network.__all__
__all__ += ccperf.trace.__all__
__all__ += flow.__all__
__all__ += load.__all__
__all__ += ping.__all__
__all__ += program.__all__
__all__ += queue.__all__
__all__ += series.__all__
__all__ += sharing.__all__
__all__ += transfer.__all__
