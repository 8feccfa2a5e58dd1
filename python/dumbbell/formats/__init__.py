"""Files that others read and write. `ping` is iputils' text and the CSV made from it."""

from dumbbell.formats.errors import FormatError
from dumbbell.formats.ping import (
    PingStyle,
    ping_text,
    pingtimes_csv,
    pingtimes_file_name,
)
from dumbbell.formats.ping_reader import read_ping, read_pingtimes_csv

__all__ = [
    "FormatError",
    "PingStyle",
    "ping_text",
    "pingtimes_csv",
    "pingtimes_file_name",
    "read_ping",
    "read_pingtimes_csv",
]
