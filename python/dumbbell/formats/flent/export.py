"""Export a run of a Flent test as a data file."""

from __future__ import annotations

import math
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

import numpy as np

from dumbbell.errors import SpecError
from dumbbell.formats.flent.file import FlentFile
from dumbbell.spec import Resolved
from dumbbell.spec.flent import FlentTest, Probe, Stream
from dumbbell.tables import NO_INSTANT, Run

EPOCH_S = 946_684_800
"""Unix time of a run's start: 2000-01-01. A simulated run has no date, but the format needs one."""
FLENT_VERSION = "2.1.1"
"""Version of Flent whose test and series names are used; Flent shows it as the file's origin."""
_MBIT = 1e6
_NS_PER_MS = 1e6
_NS_PER_S = 1e9
_RUNNERS = {"ping": "PingRunner", "udp": "UdpRttRunner"}
Series = list[float | None]


def flent_file(
    run: Run,
    test: FlentTest,
    *,
    title: str = "",
    note: str = "",
    queues: Sequence[str] = (),
) -> FlentFile:
    """Make the data file of a run.

    Every value is placed at the end of the step that it describes: throughput counts the bytes
    received during the step, latency is that of the probe sent during it, drops occurred during it.

    Args:
        run: A run of the test's experiment, with the needed samples.
        test: The test.
        title: ``-t``; becomes part of the file's name.
        note: Any text.
        queues: Queues whose statistics are written, such as ``router->server``. By default the
            bottleneck queues of the built-in network: both ends of the link between the router and
            its far side. They are named by the test's parameters ``qdisc_stats_hosts``, in order,
            or else by their hosts.

    Raises:
        SpecError: The run is not of this test, or there is no such queue.
    """
    return _Export(run, test).file(title, note, list(queues))


class _Export:
    """Collects series, samples and their metadata."""

    def __init__(self, run: Run, test: FlentTest) -> None:
        self.run, self.test = run, test
        self.step_ns = round(test.step_s * _NS_PER_S)
        self.steps = math.ceil(test.total_s * _NS_PER_S / self.step_ns - 1e-9)
        self.x_values = [round(k * test.step_s, 6) for k in range(1, self.steps + 1)]
        self.results: dict[str, Series] = {}
        self.raw: dict[str, list[dict[str, Any]]] = {}
        self.meta: dict[str, dict[str, Any]] = {}
        self._resolved = Resolved(run.spec or {})
        self._check()

    def _check(self) -> None:
        spec = self.run.spec
        step_ns = None if spec is None else self._resolved.sample_interval_ns
        if step_ns != self.step_ns:
            found = "none" if step_ns is None else f"{step_ns / _NS_PER_S:g}s"
            raise SpecError("sample_interval", found, f"{self.test.step_s:g}s, the test's step")
        for kind, wanted, there in (
            ("flow", [s.flow for s in self.test.streams], self.run.flow_names),
            ("probe", [p.probe for p in self.test.probes], self.run.probe_names),
        ):
            for name in wanted:
                if name not in there:
                    allowed = f"a run of {self.test.name}; this one has no such {kind}"
                    raise SpecError(kind, name, allowed)

    def file(self, title: str, note: str, queues: list[str]) -> FlentFile:
        for stream in self.test.streams:
            if stream.series:
                self._stream(stream)
        for probe in self.test.probes:
            self._probe(probe)
        for computed in self.test.computed:
            values = combined(computed.how, [self.results[name] for name in computed.of])
            runner = f"{computed.how.capitalize()}Runner"
            units = "ms" if computed.series.startswith("Ping") else "Mbits/s"
            units = "Idx" if computed.how == "fairness" else units
            self._add(computed.series, values, [], runner, units, COMPUTED_LATE=False)
        parameters = dict(self.test.parameters) | self._queues(queues)
        return FlentFile(
            self.x_values, self.results, self.raw, self._metadata(title, note, parameters)
        )

    def _add(
        self,
        series: str,
        values: Series,
        raw: list[dict[str, Any]],
        runner: str,
        units: str,
        **more: Any,
    ) -> None:
        there = [value for value in values if value is not None]
        self.results[series] = values
        self.raw[series] = raw
        self.meta[series] = {
            "RUNNER": runner,
            "IDX": len(self.meta),
            "COMMAND": "dumbbell",
            "UNITS": units,
            "MEAN_VALUE": math.fsum(there) / len(there) if there else None,
            **more,
        }

    def _at(self, seconds: float) -> float:
        return EPOCH_S + seconds

    # --- throughput -----------------------------------------------------------------------

    def _stream(self, stream: Stream) -> None:
        run, flow = self.run, stream.flow
        delivered = self._sampled("flow_samples", "delivered_payload_bytes", flow=flow)
        got = np.diff(delivered, prepend=0.0)
        ends = stream.start_s + stream.length_s
        loaded = [stream.start_s < x <= ends for x in self.x_values]
        rates = (8.0 * got / (self.test.step_s * _MBIT)).tolist()
        values = [rate if on else None for rate, on in zip(rates, loaded, strict=True)]
        raw: list[dict[str, Any]] = []
        socket = self._socket(flow) if stream.udp is None else {}
        for place, (x, on) in enumerate(zip(self.x_values, loaded, strict=True)):
            if not on:
                continue
            raw.append({"t": self._at(x), "val": rates[place], "dur": self.test.step_s})
            known = {key: of[place] for key, of in socket.items() if not math.isnan(of[place])}
            if known:
                raw.append({"t": self._at(x), **known})
        octet = stream.dscp << 2
        more: dict[str, Any] = {"UPSTREAM_TOS": octet, "DOWNSTREAM_TOS": octet, "DATA_TOS": octet}
        runner = "IperfCsvRunner"
        if stream.udp is None:
            runner = "NetperfDemoRunner"
            total = float(delivered[-1]) if len(delivered) else 0.0
            again = int(run.column("flows", "retransmitted_pkts", flow=flow)[0])
            more |= {
                "ELAPSED_TIME": float(stream.length_s),
                "CONG_CONTROL": self._controller(flow),
                "TCP_RETRANSMIT": max(again, 0),
                "BYTES_SENT" if stream.upload else "BYTES_RECVD": total,
            }
        self._add(stream.series, values, raw, runner, "Mbits/s", **more)
        for key, of in socket.items():
            self.results[f"{stream.series}::{key}"] = [
                value if on and not math.isnan(value) else None
                for value, on in zip(of, loaded, strict=True)
            ]

    def _sampled(self, table: str, column: str, **of: str) -> np.ndarray[Any, np.dtype[np.float64]]:
        """A column at every step; its last value is repeated if the run has fewer rows."""
        values = self.run.column(table, column, **of).astype(np.float64)[: self.steps]
        missing = self.steps - len(values)
        last = values[-1] if len(values) else 0.0
        return np.concatenate([values, np.full(missing, last)])

    def _socket(self, flow: str) -> dict[str, list[float]]:
        """What ``ss`` would print about the sender at each step; NaN where it would
        print nothing.
        """
        units = {
            "tcp_cwnd": ("cwnd_pkts", 1.0),
            "tcp_rtt": ("srtt_ns", 1 / _NS_PER_MS),
            "tcp_rtt_var": ("rttvar_ns", 1 / _NS_PER_MS),
            "tcp_pacing_rate": ("pacing_rate_bps", 1 / _MBIT),
            "tcp_delivery_rate": ("delivery_rate_bps", 1 / _MBIT),
        }
        found = {}
        for key, (column, factor) in units.items():
            values = self._sampled("flow_samples", column, flow=flow)
            known = np.where(values < 0, np.nan, values * factor)
            if not np.isnan(known).all():
                found[key] = known.tolist()
        return found

    def _controller(self, flow: str) -> str:
        settings = self._resolved.flow(flow).tcp
        return settings.congestion_control if settings else ""

    # --- latency --------------------------------------------------------------------------

    def _probe(self, probe: Probe) -> None:
        sent, got, rtt, seq = (
            self.run.column("probes", column, probe=probe.probe)
            for column in ("sent_ns", "received_ns", "rtt_ns", "seq")
        )
        answered = rtt[rtt != NO_INSTANT]
        patience = int(answered.max()) if len(answered) else 0
        end_ns = self.test.total_s * _NS_PER_S
        values: Series = [None] * self.steps
        raw: list[dict[str, Any]] = []
        lost = 0
        for row in range(len(sent)):
            if rtt[row] != NO_INSTANT:
                value = float(rtt[row]) / _NS_PER_MS
                place = int(sent[row]) // self.step_ns
                if place < self.steps:
                    values[place] = value
                t = self._at(float(got[row]) / _NS_PER_S)
                raw.append({"seq": int(seq[row]), "t": t, "val": value})
            elif sent[row] + patience < end_ns:
                lost += 1
                if probe.kind == "udp":  # ping prints nothing for a lost request
                    t = self._at(float(sent[row]) / _NS_PER_S)
                    raw.append({"seq": int(seq[row]), "t": t, "lost": True, "lost_dir": None})
        more: dict[str, Any] = {}
        if len(answered):
            low, mean, high = (
                float(each) / _NS_PER_MS
                for each in (answered.min(), answered.mean(), answered.max())
            )
            more = {"MIN_VALUE": low, "MAX_VALUE": high, "MEAN_VALUE": mean}
            if probe.kind == "udp":
                middle = float(np.median(answered)) / _NS_PER_MS
                more |= {"RTT_MEAN": mean, "RTT_MEDIAN": middle, "RTT_MIN": low, "RTT_MAX": high}
        if probe.kind == "udp":
            more["PACKETS_SENT"] = len(sent)
            more["PACKETS_RECEIVED"] = len(answered)
            more["PACKET_LOSS_RATE"] = lost / len(sent) if len(sent) else 0.0
        raw.sort(key=lambda sample: (sample["t"], sample["seq"]))
        self._add(probe.series, values, raw, _RUNNERS[probe.kind], "ms", **more)

    # --- queues ---------------------------------------------------------------------------

    def _queues(self, queues: list[str]) -> dict[str, str]:
        """Write statistics of queues, and set the test parameters that make Flent offer their
        plots.
        """
        chosen = queues or self._bottleneck()
        labels = _listed(self.test.parameters.get("qdisc_stats_hosts"))
        devices = _listed(self.test.parameters.get("qdisc_stats_interfaces"))
        if labels:
            if len(labels) > len(chosen) or len(set(labels)) < len(labels):
                allowed = f"at most {len(chosen)} different hosts: one for each queue"
                value = self.test.parameters["qdisc_stats_hosts"]
                raise SpecError("test-parameter qdisc_stats_hosts", value, allowed)
            chosen = chosen[: len(labels)]
        topology = self._resolved.topology
        interfaces = dict(zip(topology.queue_names, topology.interfaces, strict=True))
        names, named_devices = [], []
        for place, queue in enumerate(chosen):
            if queue not in interfaces:
                allowed = f"one of {', '.join(interfaces)}"
                raise SpecError("queue", queue, allowed)
            own = interfaces[queue]
            label = labels[place] if labels else own.host
            label = label if label not in names else f"{label}-{own.device}"
            device = devices[place] if place < len(devices) else own.device
            names.append(label)
            named_devices.append(device)
            self._queue(queue, label, device)
        if not names:
            return {}
        return {
            "qdisc_stats_hosts": ",".join(names),
            "qdisc_stats_interfaces": ",".join(named_devices),
        }

    def _bottleneck(self) -> list[str]:
        """The slowest queue in each direction between the client and the first host."""
        ways = ((self.test.client, self.test.hosts[0]), (self.test.hosts[0], self.test.client))
        found = []
        for start, end in ways:
            route = self._resolved.route(start, end)
            found.append(min(route, key=lambda queue: queue.served_bps or math.inf).name)
        return found

    def _queue(self, queue: str, label: str, device: str) -> None:
        series = f"qdisc_stats_{label}"

        def column(name: str) -> np.ndarray[Any, np.dtype[np.float64]]:
            return self._sampled("queue_samples", name, queue=queue)

        delay_ns = column("delay_estimate_ns")
        of = {
            "sent_bytes": column("departed_bytes"),
            "sent_pkts": column("departed_pkts"),
            "dropped": np.diff(column("dropped_pkts"), prepend=0.0),
            "ecn_mark": np.diff(column("marked_pkts"), prepend=0.0),
            "backlog_bytes": column("backlog_bytes"),
            "backlog_pkts": column("backlog_pkts"),
            "prob": column("drop_probability"),
            "delay": np.where(delay_ns < 0, np.nan, delay_ns / _NS_PER_MS),
        }
        known = {key: values for key, values in of.items() if not np.isnan(values).all()}
        lists = {key: values.tolist() for key, values in known.items()}
        self.raw[series] = [
            {"t": self._at(x)}
            | {key: values[k] for key, values in lists.items() if not math.isnan(values[k])}
            for k, x in enumerate(self.x_values)
        ]
        self.meta[series] = {
            "RUNNER": "TcRunner",
            "IDX": len(self.meta),
            "COMMAND": f"dumbbell, queue {queue}",
            "UNITS": "misc",
            "INTERFACE": device,
        }
        for key, values in lists.items():
            self.results[f"{series}::{key}"] = [None if math.isnan(v) else v for v in values]

    # --- all about the test ---------------------------------------------------------------

    def _metadata(self, title: str, note: str, parameters: dict[str, str]) -> dict[str, Any]:
        start = datetime.fromtimestamp(EPOCH_S, UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
        test, run = self.test, self.run
        return {
            "NAME": test.name,
            "TITLE": title,
            "NOTE": note or None,
            "TIME": start,
            "T0": start,
            "HOST": test.hosts[0],
            "HOSTS": list(test.hosts),
            "LOCAL_HOST": test.client,
            "LENGTH": test.length_s,
            "TOTAL_LENGTH": test.total_s,
            "STEP_SIZE": test.step_s,
            "IP_VERSION": 4,
            "TEST_PARAMETERS": parameters,
            "FLENT_VERSION": FLENT_VERSION,
            "BATCH_NAME": None,
            "BATCH_TIME": None,
            "BATCH_TITLE": None,
            "BATCH_UUID": None,
            "DATA_FILENAME": None,
            "FAILED_RUNNERS": 0,
            "HTTP_GETTER_URLLIST": None,
            "HTTP_GETTER_DNS": None,
            "HTTP_GETTER_WORKERS": 4,
            "SERIES_META": self.meta,
            "DUMBBELL": {
                "origin": run.origin,
                "replication": run.replication,
                "delay_s": test.delay_s,
                "experiment": dict(run.spec or {}),
                "meta": {
                    key: run.meta[key]
                    for key in ("seed", "backend", "versions", "digest")
                    if key in run.meta
                },
            },
        }


def combined(how: str, series: Sequence[Series]) -> Series:
    """The row-wise mean, sum or fairness of the available values; None without any.

    Args:
        how: ``average``, ``sum`` or ``fairness``, as in `Computed`.
        series: Series of equal length.
    """
    of = {"average": _average, "sum": math.fsum, "fairness": jain_index}[how]
    rows = ([value for value in row if value is not None] for row in zip(*series, strict=True))
    return [of(there) if there else None for there in rows]


def _average(values: list[float]) -> float:
    return math.fsum(values) / len(values)


def jain_index(values: list[float]) -> float:
    """Jain's index (Jain, Chiu and Hawe, DEC-TR-301, 1984): from 1/n (one has all) to 1 (equal
    shares).
    """
    squares = math.fsum(value * value for value in values)
    return math.fsum(values) ** 2 / (len(values) * squares) if squares else 1.0


def _listed(text: str | None) -> list[str]:
    return [each.strip() for each in text.split(",")] if text else []
