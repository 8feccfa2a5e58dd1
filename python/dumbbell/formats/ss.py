"""Write a run's TCP senders as ``ss -tin`` prints them, one block per sample.

Layout, order and rounding are those of iproute2 6.1 (``misc/ss.c``: ``tcp_stats_print``), compared
with the program's own output in ``tests/formats``. Values that a run does not record are left out
(``unacked``, ``rto``, ``bytes_acked``, ``segs_out``) or, if ss always prints them, 0: the socket's
queues and the first number of ``retrans``. Derived values are computed as in ss: ``send`` is one
window per round-trip time.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from dumbbell.errors import DumbbellError
from dumbbell.spec import Resolved
from dumbbell.spec.resolved import Flow
from dumbbell.spec.source_forms import FORMS
from dumbbell.tables import Run

FIRST_LOCAL_PORT = 32_768
"""Port of a host's first connection, as in a capture of the run (Linux: ``ip_local_port_range``).
"""
FIRST_FLOW_PORT = 10_000
"""Flow i has this port plus i at the receiver."""
_IP_AND_TCP_BYTES = 40
_TIMESTAMPS_BYTES = 12
_HEADING = (
    "State Recv-Q Send-Q              Local Address:Port               Peer Address:PortProcess"
)
_COLUMNS = (
    "cwnd_pkts",
    "ssthresh_pkts",
    "srtt_ns",
    "rttvar_ns",
    "min_rtt_ns",
    "retransmitted_pkts",
    "pacing_rate_bps",
    "delivery_rate_bps",
)


@dataclass(frozen=True, slots=True)
class _Connection:
    """A flow with a single connection."""

    ends: str
    controller: str
    mss_bytes: int
    samples: Mapping[int, Mapping[str, int]]


def ss_hosts(run: Run) -> list[str]:
    """Hosts with a sender that `ss_iterate_text` shows, in the order of their first flows.

    Senders with many connections (sources of transfers) are not shown, because a run samples flows.
    """
    if run.spec is None:
        raise DumbbellError("an imported run does not say who its senders are")
    described = Resolved(run.spec)
    return list(dict.fromkeys(flow.from_ for flow in described.flows if has_one_connection(flow)))


def ss_iterate_text(run: Run, host: str, *, t0_epoch_ns: int = 0) -> str:
    """The output of a loop of ``date +%s.%N; ss -tin`` on a host.

    Args:
        run: A run with a description and samples.
        host: A host that sends over TCP.
        t0_epoch_ns: Unix time of the run's start.

    Returns:
        One block per sample: the time, ss's heading, and two lines for each open connection.

    Raises:
        DumbbellError: The run was imported, has no samples, or no TCP flow from that host.
    """
    if host not in ss_hosts(run):
        raise DumbbellError(f"no flow over TCP with one connection begins at {host!r}")
    described = Resolved(run.spec or {})
    connections = [
        _connection(run, described, index)
        for index, flow in enumerate(described.flows)
        if flow.from_ == host and has_one_connection(flow)
    ]
    instants = np.unique(run.column("flow_samples", "t_ns")).tolist()
    if not instants:
        raise DumbbellError("the run has no samples of its flows; set sample_interval")
    blocks = []
    for t_ns in instants:
        at_ns = t0_epoch_ns + t_ns
        lines = [f"{at_ns // 10**9}.{at_ns % 10**9:09}", _HEADING]
        for each in connections:
            lines += _lines(each, each.samples.get(t_ns, {}))
        blocks.append("\n".join(lines) + "\n")
    return "".join(blocks)


def has_one_connection(flow: Flow) -> bool:
    """Whether a flow is a single TCP connection from its beginning to its end."""
    return flow.transport == "tcp" and FORMS[flow.source.kind].sends != "transfers"


def _connection(run: Run, described: Resolved, index: int) -> _Connection:
    flow = described.flows[index]
    settings = flow.tcp
    assert settings is not None
    out, back = described.route(flow.from_, flow.to), described.route(flow.to, flow.from_)
    topology = described.topology
    local = topology.interfaces[out[0].index].address
    peer = topology.interfaces[out[-1].index].peer_address
    mtu_bytes = min(queue.mtu_bytes for queue in (*out, *back))
    options = _TIMESTAMPS_BYTES if settings.timestamps else 0
    ends = f"{local}:{FIRST_LOCAL_PORT}", f"{peer}:{FIRST_FLOW_PORT + index}"
    columns = [run.column("flow_samples", name, flow=index).tolist() for name in _COLUMNS]
    instants = run.column("flow_samples", "t_ns", flow=index).tolist()
    return _Connection(
        f"{ends[0]:>32} {ends[1]:>30}",
        settings.congestion_control,
        mtu_bytes - _IP_AND_TCP_BYTES - options,
        {
            at: dict(zip(_COLUMNS, values, strict=True))
            for at, *values in zip(instants, *columns, strict=True)
        },
    )


def _lines(connection: _Connection, sample: Mapping[str, int]) -> Iterator[str]:
    if sample.get("cwnd_pkts", -1) < 0:
        return
    yield f"ESTAB 0      0      {connection.ends}"
    yield f"\t {' '.join(_words(connection, sample))}"


def _words(connection: _Connection, sample: Mapping[str, int]) -> Iterator[str]:
    cwnd, mss = sample["cwnd_pkts"], connection.mss_bytes
    rtt_us = sample["srtt_ns"] // 1000
    yield connection.controller
    if rtt_us > 0:
        yield f"rtt:{rtt_us / 1000:g}/{max(0, sample['rttvar_ns']) // 1000 / 1000:g}"
    yield f"mss:{mss}"
    yield f"cwnd:{cwnd}"
    if sample["ssthresh_pkts"] >= 0:
        yield f"ssthresh:{sample['ssthresh_pkts']}"
    if rtt_us > 0:
        yield f"send {cwnd * mss * 8 * 1_000_000 // rtt_us}bps"
    for name, word in (("pacing_rate_bps", "pacing_rate"), ("delivery_rate_bps", "delivery_rate")):
        if sample[name] > 0:
            yield f"{word} {sample[name]}bps"
    if sample["retransmitted_pkts"] > 0:
        yield f"retrans:0/{sample['retransmitted_pkts']}"
    if sample["min_rtt_ns"] >= 0:
        yield f"minrtt:{sample['min_rtt_ns'] // 1000 / 1000:g}"
