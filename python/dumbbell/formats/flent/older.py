"""Convert files of Flent before 2.0 and of netperf-wrapper to version 4 of the format.

Version 1 stored samples, if any, under ``SERIES_META``. Up to version 3 samples were stored as the
measuring program printed them: netperf's round trips in transactions per second, HTTP latency in
seconds, drops and marks of a queue as running totals, iperf's mean rate in bit/s.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeGuard

from dumbbell.formats.flent.file import FORMAT_VERSION, FlentFile

OLDEST_VERSION = 1
"""Files of netperf-wrapper have no number; Flent calls them version 1."""
_COUNTERS = ("dropped", "ecn_mark")


def samples_of_version_1(metadata: object) -> dict[str, Any]:
    """The samples of version 1, which version 2 stores in ``raw_values``; not checked."""
    of_series = metadata.get("SERIES_META") if isinstance(metadata, Mapping) else None
    if not isinstance(of_series, Mapping):
        return {}
    return {
        series: meta["RAW_VALUES"]
        for series, meta in of_series.items()
        if isinstance(meta, Mapping) and "RAW_VALUES" in meta
    }


def upgraded(file: FlentFile, version: int) -> FlentFile:
    """Convert the units to those of version 4.

    Args:
        file: A checked file, with numbers as in its version.
        version: From `OLDEST_VERSION` to `FORMAT_VERSION`.
    """
    if version == FORMAT_VERSION:
        return file
    raw = {name: _upgraded_samples(name, samples) for name, samples in file.raw_values.items()}
    return FlentFile(file.x_values, file.results, raw, _upgraded_metadata(file.metadata))


def _upgraded_samples(series: str, samples: list[dict[str, Any]]) -> list[dict[str, Any]]:
    if series.startswith("Ping") and "UDP" in series:
        # Only netperf gives an interval; irtt's round-trip times are already in ms.
        return [_changed(each, _ms_of_transactions) if "dur" in each else each for each in samples]
    if series == "HTTP latency":
        return [_changed(each, _ms_of_seconds) for each in samples]
    if samples and any(key in samples[0] for key in _COUNTERS):
        return _per_interval(samples)
    return samples


def _changed(sample: dict[str, Any], change: Callable[[float], float | None]) -> dict[str, Any]:
    value = sample.get("val")
    return {**sample, "val": change(float(value))} if _is_number(value) else sample


def _ms_of_transactions(per_s: float) -> float | None:
    return 1000.0 / per_s if abs(per_s) > 1e-300 else None


def _ms_of_seconds(seconds: float) -> float:
    return seconds * 1000.0


def _per_interval(samples: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Differences of running totals; the first is 0, because the previous total is unknown."""
    last: dict[str, float] = {}
    made = []
    for sample in samples:
        known = {key: sample[key] for key in _COUNTERS if _is_number(sample.get(key))}
        made.append({**sample, **{key: float(v - last.get(key, v)) for key, v in known.items()}})
        last |= known
    return made


def _upgraded_metadata(metadata: Mapping[str, Any]) -> dict[str, Any]:
    made = dict(metadata)
    if "NETPERF_WRAPPER_VERSION" in made:
        made["FLENT_VERSION"] = made.pop("NETPERF_WRAPPER_VERSION")
    of_series = made.get("SERIES_META")
    if isinstance(of_series, Mapping):
        made["SERIES_META"] = {name: _upgraded_meta(meta) for name, meta in of_series.items()}
    return made


def _upgraded_meta(meta: object) -> object:
    if not isinstance(meta, Mapping):
        return meta
    kept = {key: value for key, value in meta.items() if key != "RAW_VALUES"}
    if kept.get("UNITS") == "bits/s" and _is_number(kept.get("MEAN_VALUE")):
        kept |= {"UNITS": "Mbits/s", "MEAN_VALUE": kept["MEAN_VALUE"] / 1e6}
    return kept


def _is_number(value: Any) -> TypeGuard[float]:
    return isinstance(value, int | float) and not isinstance(value, bool)
