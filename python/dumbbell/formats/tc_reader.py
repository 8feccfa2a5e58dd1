"""Read the output of ``tc -s qdisc show`` as an imported `Run`; parsed by
`dumbbell.formats.logs.tc`.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from dumbbell.formats.errors import FormatError, UnreadableError
from dumbbell.formats.logs.tc import TcLog, read_tc_log
from dumbbell.formats.logs.text import LogText
from dumbbell.tables import SCHEMA, Run

LARGEST_FILE_BYTES = 256 << 20
_COLUMNS = {
    "system_pkts": "backlog_pkts",
    "backlog_pkts": "backlog_pkts",
    "backlog_bytes": "backlog_bytes",
    "departed_pkts": "sent_pkts",
    "departed_bytes": "sent_bytes",
    "dropped_pkts": "dropped_pkts",
    "marked_pkts": "marked_pkts",
    "drop_probability": "drop_probability",
    "delay_estimate_ns": "delay_ns",
}
"""Columns of ``queue_samples`` and of the log; unknown values are -1 or NaN in both."""


def read_tc(source: str | Path) -> Run:
    """Read the output of ``tc -s qdisc show``, with or without ``-j``, once or many times.

    Flent's ``tc_iterate`` and similar loops write many calls, with a time for each. Text of tc
    before version 6 rounds a backlog above 1 kB to whole kilobytes, JSON does not.

    Args:
        source: Path of the file.

    Returns:
        An imported run with the table ``queue_samples``: one queue for each discipline with a line
        ``Sent``, named by its device (if known), kind and handle (``eth0 tbf 1:``). Times count
        from the first call's, which is ``meta["t0_epoch_ns"]``; a single call without a time is at
        0. Unknown values are -1, or NaN in columns of floats; ``system_pkts`` is the discipline's
        backlog.

    Raises:
        FormatError: It is not tc's output, is too large, or has several calls without times.
    """
    path = Path(source)
    text = LogText.of_file(path, LARGEST_FILE_BYTES)
    try:
        log = read_tc_log(text)
    except UnreadableError:
        allowed = "the output of tc -s qdisc show is expected"
        raise FormatError(str(path), text.text[:40], allowed) from None
    if log.calls > 1 and not log.has_times:
        raise FormatError(str(path), f"{log.calls} calls", "a line 'Time: SECONDS' in each")
    return _imported(log, path.name)


def _imported(log: TcLog, source: str) -> Run:
    table = log.tables["queues"]
    queues = table["queue"].tolist()
    names = list(dict.fromkeys(queues))
    numbers = {name: number for number, name in enumerate(names)}
    t0 = int(table["epoch_ns"][0]) if log.has_times else 0
    meta: dict[str, object] = {"queue_names": names, "source": source}
    if log.has_times:
        meta["t0_epoch_ns"] = t0
    values = {ours: table[theirs] for ours, theirs in _COLUMNS.items()}
    values["t_ns"] = table["epoch_ns"] - t0 if log.has_times else np.zeros(len(table))
    values["queue"] = np.array([numbers[name] for name in queues])
    columns = {}
    for column in SCHEMA["queue_samples"]:
        unknown: float = -1 if np.issubdtype(column.numpy, np.integer) else float("nan")
        found = values.get(column.name, np.full(len(table), unknown))
        columns[column.name] = found.astype(column.numpy)
    return Run("imported", 0, None, {"queue_samples": columns}, meta)
