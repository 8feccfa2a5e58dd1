"""File formats of other programs: readers and writers.

`ping` writes iputils' output and the CSV made from it, `tc` that of ``tc -s qdisc show``, `ss` that
of ``ss -tin``. `dumbbell.formats.logs` reads the output of a testbed's programs. `sqlite` stores
metrics, `dumbbell.formats.flent` reads and writes Flent's data files, `capture` reads pcapng and
pcap, `tshark` reads tshark's fields. `kinds` detects a file's format, `unpacking` decompresses it.
"""

from dumbbell.formats.capture import read_capture, write_view
from dumbbell.formats.errors import FormatError
from dumbbell.formats.ping import (
    PingStyle,
    ping_text,
    pingtimes_csv,
    pingtimes_file_name,
)
from dumbbell.formats.ping_reader import read_ping, read_pingtimes_csv
from dumbbell.formats.sqlite import MetricRow, read_sqlite, write_sqlite
from dumbbell.formats.ss import ss_hosts, ss_iterate_text
from dumbbell.formats.tc import tc_iterate_text, tc_json, tc_text
from dumbbell.formats.tc_reader import read_tc
from dumbbell.formats.tshark import read_tshark_csv

__all__ = [
    "FormatError",
    "MetricRow",
    "PingStyle",
    "ping_text",
    "pingtimes_csv",
    "pingtimes_file_name",
    "read_capture",
    "read_ping",
    "read_pingtimes_csv",
    "read_sqlite",
    "read_tc",
    "read_tshark_csv",
    "ss_hosts",
    "ss_iterate_text",
    "tc_iterate_text",
    "tc_json",
    "tc_text",
    "write_sqlite",
    "write_view",
]
