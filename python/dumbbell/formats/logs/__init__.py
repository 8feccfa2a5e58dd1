"""What measuring programs print, read into typed columns with units: a file a program.

`read_log` finds out by the content whose output a file is. Lines that it does not understand are
counted and the first is named; damage in one place costs that place.
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
