"""Records of every event of a C controller in the simulator, with its result.

The record format is that of ``dumbbell_cc_record.h``, which the kernel modules write too.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

import numpy as np
import numpy.typing as npt

from dumbbell.backends.native.building import BuildError, compile_object
from dumbbell.backends.native.isolated import IsolatedJob, IsolatedProcesses
from dumbbell.errors import RunError
from dumbbell.folders.temporary import TemporaryFolder
from dumbbell.spec.native import source_of

Records = npt.NDArray[np.void]

EVENTS: Final = (
    *("init", "on_ack", "on_loss", "on_rtt", "on_rto", "on_enter_loss", "on_ecn"),
    *("on_exit_recovery", "on_undo", "on_transmit_start", "on_idle_restart"),
)
"""Event names, indexed by ``enum dumbbell_cc_event``."""
MOST_RECORDS: Final = 200_000

_RECORDING = Path(__file__).with_name("recording.c")
_PREFIX = "dumbbell-recording-"
_WINDOW = np.dtype(
    [
        ("pacing_rate_bytes_per_s", "u8"),
        *((f"{name}_pkts", "u4") for name in ("cwnd", "ssthresh", "cwnd_clamp")),
        *((f"{name}_pkts", "u4") for name in ("acked_since_growth", "prior_cwnd")),
        ("mss_bytes", "u4"),
    ],
    align=True,
)
_RATE = np.dtype(
    [
        ("delivered_pkts", "i8"),
        *((name, "u8") for name in ("prior_delivered_pkts", "prior_time_ns", "interval_ns")),
        ("rtt_ns", "u8"),
        *((name, "u4") for name in ("losses_pkts", "prior_in_flight_pkts", "acked_sacked_pkts")),
        *((name, "?") for name in ("is_app_limited", "is_ack_delayed")),
    ],
    align=True,
)
ACK: Final = np.dtype(
    [
        *((name, "u8") for name in ("now_ns", "rtt_ns", "srtt_ns", "min_rtt_ns", "una_pkts")),
        *((name, "u8") for name in ("next_pkts", "delivered_pkts", "delivered_time_ns")),
        *((name, "u8") for name in ("lost_pkts", "earliest_departure_ns")),
        *((name, "u4") for name in ("acked_pkts", "newly_delivered_pkts", "in_flight_pkts")),
        ("state", "u4"),
        ("is_cwnd_limited", "?"),
        ("rate", _RATE),
    ],
    align=True,
)
RTT: Final = np.dtype(
    [
        *((name, "u8") for name in ("now_ns", "rtt_ns", "una_pkts", "next_pkts")),
        ("is_echo", "?"),
    ],
    align=True,
)
SNAPSHOT: Final = np.dtype(
    [
        *((name, "u8") for name in ("now_ns", "srtt_ns", "min_rtt_ns", "delivered_pkts")),
        *((name, "u8") for name in ("delivered_time_ns", "lost_pkts")),
        *((name, "u4") for name in ("in_flight_pkts", "flight_size_pkts")),
        ("is_app_limited", "?"),
    ],
    align=True,
)
RECORD: Final = np.dtype(
    [
        *(("event", "u4"), ("connection", "u4")),
        *(("before", _WINDOW), ("after", _WINDOW)),
        ("told", f"V{ACK.itemsize}"),
    ]
)


def read_records(content: bytes) -> Records:
    """Parse records into an array of `RECORD`.

    Raises:
        RunError: The length is not a multiple of the record size.
    """
    if len(content) % RECORD.itemsize:
        raise RunError(f"the records of a controller's events have {len(content)} bytes")
    return np.frombuffer(content, RECORD)


def simulated_records(resolved_json: str, replication: int, sha256: str) -> Records:
    """Run a description in the simulator and return the events of its C controller.

    Args:
        resolved_json: Canonical description.
        replication: Number of the replication (its random streams).
        sha256: Hash of the controller's source, the only one of the description.

    Returns:
        The first `MOST_RECORDS`.

    Raises:
        BuildError: It does not compile.
        RunError: The run failed.
    """
    source = source_of(sha256)
    if source is None:
        raise BuildError("it was not allowed")
    folder = TemporaryFolder(_PREFIX)
    runner = IsolatedProcesses(1)
    try:
        records = folder.path / "records"
        definitions = {
            "DUMBBELL_SOURCE": f'"{source}"',
            "DUMBBELL_RECORDS": f'"{records}"',
            "DUMBBELL_MOST_RECORDS": str(MOST_RECORDS),
        }
        words = [f"-D{name}={value}" for name, value in definitions.items()]
        compile_object(_RECORDING, folder.path / "controller.so", words)
        objects = {sha256: str(folder.path / "controller.so")}
        runner.submit(IsolatedJob(0, resolved_json, replication, None, objects))
        while (outcome := runner.next(1.0)) is None:
            pass
        if outcome.error is not None:
            raise RunError(f"the simulator: {outcome.error}")
        return read_records(records.read_bytes() if records.exists() else b"")
    finally:
        runner.stop()
        folder.remove()
