"""Convert a data file to an imported run, and find its test."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import numpy as np

from dumbbell.errors import SpecError
from dumbbell.formats.flent.file import FlentFile, is_column
from dumbbell.spec.flent import FlentTest, check_host, flent_test
from dumbbell.tables import NO_INSTANT, SCHEMA, Run

_NS_PER_S = 1e9
_NS_PER_MS = 1e6
_COMPUTED = ("AverageRunner", "SumRunner", "FairnessRunner", "ComputingRunner")
_COMPUTED_ENDS = (" avg", " sum", " totals", " fairness")
_LONGEST_NS = 200 * 86_400 * 10**9
_MOST = 2**53
Rows = list[dict[str, float]]


def imported_run(file: FlentFile) -> Run:
    """Fill the tables ``flow_samples``, ``queue_samples`` and ``probes`` from a data file.

    Flows and probes are named after their series. Unknown values are -1 or NaN. For flows the
    payload is known (from the rates) and, with socket statistics, windows and round-trip times; for
    queues the output of ``tc``. Times count from ``T0``.
    """
    t0 = start_epoch_s(file)
    flows, probes, queues = [], [], []
    flow_rows: Rows = []
    probe_rows: Rows = []
    queue_rows: Rows = []
    for series in file.results.keys() | file.raw_values.keys():
        if series.startswith("qdisc_stats_") and "::" not in series:
            queues.append(series)
        elif is_column(series) or not is_measured(file, series):
            continue
        elif series.startswith("Ping"):
            probes.append(series)
        elif series.startswith(("TCP", "UDP")):
            flows.append(series)
    order = {name: place for place, name in enumerate(file.metadata.get("SERIES_META") or {})}
    for names in (flows, probes, queues):
        names.sort(key=lambda name: (_index(file, name), order.get(name, 0), name))
    for place, name in enumerate(flows):
        flow_rows += _flow_rows(file, name, place, t0)
    for place, name in enumerate(probes):
        probe_rows += _probe_rows(file, name, place, t0)
    for place, name in enumerate(queues):
        queue_rows += _queue_rows(file, name, place, t0)
    tables = {
        "flow_samples": _table("flow_samples", sorted(flow_rows, key=_by_time("flow"))),
        "probes": _table("probes", sorted(probe_rows, key=lambda row: (row["probe"], row["seq"]))),
        "queue_samples": _table("queue_samples", sorted(queue_rows, key=_by_time("queue"))),
    }
    meta = {
        "name": file.text("NAME"),
        "title": file.text("TITLE"),
        "source": "flent",
        "t0_epoch_ns": round(t0 * _NS_PER_S),
        "flow_names": flows,
        "probe_names": probes,
        "queue_names": [name.removeprefix("qdisc_stats_") for name in queues],
    }
    return Run("imported", 0, None, tables, meta)


def parameters_of_test(file: FlentFile) -> dict[str, str]:
    """Parameters of the test, with keys in lower case; without those of queue statistics."""
    given = file.metadata.get("TEST_PARAMETERS") or {}
    return {
        key.lower(): value
        for key, value in given.items()
        if isinstance(key, str) and isinstance(value, str) and not key.startswith("qdisc_stats")
    }


def flent_test_of(file: FlentFile, parameters: Mapping[str, str] | None = None) -> FlentTest:
    """The test of a data file, with its parameters.

    Hosts whose names are not allowed in an experiment are renamed to ``server``, ``server-2`` and
    so on.

    Args:
        file: The measurement.
        parameters: Replacement of the file's parameters, see `parameters_of_test`.

    Raises:
        SpecError: The test is unknown, or its parameters cannot be read.
    """
    name = file.text("NAME")
    length = file.number("LENGTH") or file.number("TOTAL_LENGTH") or 60.0
    hosts = file.metadata.get("HOSTS") or []
    parameters = dict(parameters_of_test(file) if parameters is None else parameters)
    for way in ("upload", "download"):
        if name in ("rrul_be_nflows", f"tcp_n{'up' if way == 'upload' else 'down'}"):
            label = f"TCP {way} BE::" if name == "rrul_be_nflows" else f"TCP {way}::"
            count = sum(s.startswith(label) and s.count("::") == 1 and s != label + "sum"
                        and s.rpartition("::")[2].isdecimal() for s in file.results)  # fmt: skip
            parameters[f"{way}_streams"] = str(count or 1)
    return flent_test(
        name,
        length_s=max(1, round(length)),
        delay_s=_delay_s(file, name, length),
        step_s=round((file.number("STEP_SIZE") or 0.2) * 1000) / 1000,
        hosts=[_host(host, place) for place, host in enumerate(hosts[:64])],
        parameters=parameters,
    )


def _host(host: object, place: int) -> str:
    try:
        check_host(str(host))
    except SpecError:
        return f"server-{place + 1}" if place else "server"
    return str(host)


def _delay_s(file: FlentFile, name: str, length_s: float) -> int:
    ours = file.metadata.get("DUMBBELL")
    if isinstance(ours, Mapping) and isinstance(ours.get("delay_s"), int):
        return max(1, int(ours["delay_s"]))
    total_s = file.number("TOTAL_LENGTH") or max(file.x_values, default=0.0)
    more_s = total_s - length_s
    delay_s = more_s if name == "tcp_2up_delay" else more_s / 2
    return round(delay_s) if delay_s >= 1 else 5


def start_epoch_s(file: FlentFile) -> float:
    """Unix time of ``T0``.

    A timestamp without a time zone is local time of the measuring host. As in Flent, whole hours
    are added so that the first sample comes after it.
    """
    first = min(
        (
            float(sample["t"])
            for samples in file.raw_values.values()
            for sample in samples
            if _is_number(sample.get("t"))
        ),
        default=0.0,
    )
    text = file.text("T0") or file.text("TIME")
    try:
        stamp = datetime.fromisoformat(text)
    except ValueError:
        return first
    if stamp.tzinfo is not None:
        return stamp.timestamp()
    local = stamp.replace(tzinfo=UTC).timestamp()
    return local + 3600.0 * round((first - local) / 3600.0) if first else local


def raw_samples(
    file: FlentFile, samples: Sequence[Mapping[str, Any]], key: str
) -> tuple[np.ndarray[Any, np.dtype[np.float64]], np.ndarray[Any, np.dtype[np.float64]]]:
    """Times (s from the test's start) and values of one key of the samples, shape (n,) each."""
    t0 = start_epoch_s(file)
    pairs = [
        (t - t0, value)
        for sample in samples
        if (t := _value(sample, "t")) is not None and (value := _value(sample, key)) is not None
    ]
    both = np.array(sorted(pairs), dtype=np.float64).reshape(-1, 2)
    return both[:, 0], both[:, 1]


def is_measured(file: FlentFile, series: str) -> bool:
    """Whether a series was measured, and not computed from others."""
    runner = file.series_meta(series).get("RUNNER")
    if isinstance(runner, str):
        return runner not in _COMPUTED
    return not series.endswith(_COMPUTED_ENDS)


def measured_series(file: FlentFile) -> list[str]:
    """Measured series with samples of their own, in the order of the test.

    Without computed series, columns of other series, and queue statistics.
    """
    names = [
        name
        for name, samples in file.raw_values.items()
        if samples
        and not name.startswith("qdisc_stats_")
        and not is_column(name)
        and is_measured(file, name)
    ]
    return sorted(names, key=lambda name: (_index(file, name), name))


def _index(file: FlentFile, series: str) -> float:
    place = file.series_meta(series).get("IDX")
    return float(place) if place is not None and _is_number(place) else math.inf


def _is_number(value: object) -> bool:
    if not isinstance(value, int | float) or isinstance(value, bool):
        return False
    return abs(value) <= _MOST  # also false for NaN


def _value(sample: Mapping[str, Any], key: str) -> float | None:
    value = sample.get(key)
    return float(value) if value is not None and _is_number(value) else None


def _ns(seconds: float) -> int:
    """Nanoseconds of Flent's floating-point Unix seconds, which are precise to a microsecond."""
    return int(min(max(round(seconds * 1e6) * 1000, -_LONGEST_NS), _LONGEST_NS))


def _samples(file: FlentFile, series: str, t0: float) -> list[tuple[int, Mapping[str, Any]]]:
    """(ns from the start, sample) in time order; taken from the results if there are no samples."""
    raw = file.raw_values.get(series) or [
        {"t": t0 + x, "val": value}
        for x, value in zip(file.x_values, file.results.get(series, []), strict=False)
        if value is not None
    ]
    timed = [(_ns(t - t0), each) for each in raw if (t := _value(each, "t")) is not None]
    return sorted(timed, key=lambda pair: pair[0])


_SOCKET = {
    "tcp_cwnd": ("cwnd_pkts", 1.0),
    "tcp_rtt": ("srtt_ns", _NS_PER_MS),
    "tcp_rtt_var": ("rttvar_ns", _NS_PER_MS),
    "tcp_pacing_rate": ("pacing_rate_bps", 1e6),
    "tcp_delivery_rate": ("delivery_rate_bps", 1e6),
}


def _flow_rows(file: FlentFile, series: str, flow: int, t0: float) -> Rows:
    """One row per time; bytes are rates times the intervals they cover."""
    rows: dict[int, dict[str, float]] = {}
    step_s = file.number("STEP_SIZE") or 0.2
    payload = 0.0
    for t_ns, sample in _samples(file, series, t0):
        rate = _value(sample, "val")
        if rate is not None:
            payload += max(0.0, rate) * 1e6 / 8 * (_value(sample, "dur") or step_s)
        row = rows.setdefault(t_ns, {"t_ns": t_ns, "flow": flow})
        row["delivered_payload_bytes"] = min(round(payload), _MOST)
        for key, (column, factor) in _SOCKET.items():
            value = _value(sample, key)
            if value is not None and 0 <= value * factor <= _MOST:
                row[column] = round(value * factor)
    return list(rows.values())


def _probe_rows(file: FlentFile, series: str, probe: int, t0: float) -> Rows:
    """One row per request; Flent records the time of the answer, or of the request if
    it was lost.
    """
    rows: Rows = []
    for place, (t_ns, sample) in enumerate(_samples(file, series, t0)):
        rtt_ms = _value(sample, "val")
        seq = _value(sample, "seq")
        known = rtt_ms is not None and 0 <= rtt_ms * _NS_PER_MS <= _LONGEST_NS
        rtt_ns = round((rtt_ms or 0.0) * _NS_PER_MS) if known else NO_INSTANT
        rows.append(
            {
                "probe": probe,
                "seq": place + 1 if seq is None else int(seq),
                "sent_ns": t_ns - rtt_ns if known else t_ns,
                "received_ns": t_ns if known else NO_INSTANT,
                "rtt_ns": rtt_ns,
            }
        )
    return rows


def _queue_rows(file: FlentFile, series: str, queue: int, t0: float) -> Rows:
    """One row per reading of ``tc``; Flent's drops and marks per interval are summed up."""
    rows = []
    totals = {"dropped": 0.0, "ecn_mark": 0.0}
    for t_ns, sample in _samples(file, series, t0):
        for key, so_far in totals.items():
            totals[key] = min(so_far + max(0.0, _value(sample, key) or 0.0), _MOST)
        row: dict[str, float] = {
            "t_ns": t_ns,
            "queue": queue,
            "dropped_pkts": round(totals["dropped"]),
            "marked_pkts": round(totals["ecn_mark"]),
        }
        for key, column, factor in (
            ("backlog_pkts", "backlog_pkts", 1.0),
            ("backlog_bytes", "backlog_bytes", 1.0),
            ("sent_pkts", "departed_pkts", 1.0),
            ("sent_bytes", "departed_bytes", 1.0),
            ("delay", "delay_estimate_ns", _NS_PER_MS),
        ):
            value = _value(sample, key)
            if value is not None and 0 <= value * factor <= _MOST:
                row[column] = round(value * factor)
        prob = _value(sample, "prob")
        if prob is not None:
            row["drop_probability"] = prob
        rows.append(row)
    return rows


def _by_time(key: str) -> Any:
    return lambda row: (row["t_ns"], row[key])


def _table(name: str, rows: Sequence[Mapping[str, float]]) -> dict[str, np.ndarray[Any, Any]]:
    """The rows as columns; missing values are -1, or NaN."""
    table = {}
    for column in SCHEMA[name]:
        unknown = math.nan if column.dtype == "float64" else NO_INSTANT
        values = [row.get(column.name, unknown) for row in rows]
        table[column.name] = np.array(values, dtype=column.numpy)
    return table
