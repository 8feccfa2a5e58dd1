"""Read the output of measuring programs into typed columns with units: one module per program.

`read_log` detects the program by the content. Unknown lines are counted, and the first one is
reported; damage affects only the damaged place.
"""

from dumbbell.formats.logs.crusader import CrusaderLog
from dumbbell.formats.logs.iperf import IperfLog
from dumbbell.formats.logs.iperf3 import Iperf3Log
from dumbbell.formats.logs.irtt import IrttLog
from dumbbell.formats.logs.itgdec import ItgLog
from dumbbell.formats.logs.model import Log, LogColumn, LogFormat, LogTable, Unknown
from dumbbell.formats.logs.ndt7 import Ndt7Log
from dumbbell.formats.logs.netperf import NetperfLog
from dumbbell.formats.logs.ping import PingLog
from dumbbell.formats.logs.reading import READERS, LogReader, log_format, log_of_text, read_log
from dumbbell.formats.logs.ss import SsLog
from dumbbell.formats.logs.tc import TcLog
from dumbbell.formats.logs.text import LARGEST_LOG_BYTES, LogText
from dumbbell.formats.logs.waveform import WaveformLog

__all__ = [
    "LARGEST_LOG_BYTES",
    "READERS",
    "CrusaderLog",
    "Iperf3Log",
    "IperfLog",
    "IrttLog",
    "ItgLog",
    "Log",
    "LogColumn",
    "LogFormat",
    "LogReader",
    "LogTable",
    "LogText",
    "Ndt7Log",
    "NetperfLog",
    "PingLog",
    "SsLog",
    "TcLog",
    "Unknown",
    "WaveformLog",
    "log_format",
    "log_of_text",
    "read_log",
]
