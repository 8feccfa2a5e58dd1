"""Versions 1 to 3 of the format: files of netperf-wrapper and of Flent before 2.0."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from dumbbell.formats import FormatError
from dumbbell.formats.flent import FlentFile, imported_run, read_flent, series_values

T0 = 1_700_000_000
METADATA: dict[str, Any] = {
    "NAME": "rrul",
    "TITLE": "old",
    "TIME": "2023-11-14T22:13:20.000000Z",
    "T0": "2023-11-14T22:13:20.000000Z",
    "LENGTH": 60,
    "STEP_SIZE": 0.2,
    "SERIES_META": {
        "UDP upload": {"UNITS": "bits/s", "MEAN_VALUE": 5e6},
        "TCP upload BE": {"UNITS": "Mbits/s", "MEAN_VALUE": 1.75},
    },
}
RAW: dict[str, list[dict[str, Any]]] = {
    "TCP upload BE": [{"t": T0 + 0.2, "val": 1.5, "dur": 0.2}, {"t": T0 + 0.4, "val": 2.0}],
    "Ping (ms) UDP BE": [
        {"t": T0 + 0.1, "val": 50.0, "dur": 0.2},
        {"t": T0 + 0.3, "val": 0.0, "dur": 0.2},
        {"t": T0 + 0.4, "val": 25.0, "dur": 0.2},
    ],
    "Ping (ms) UDP EF": [{"t": T0 + 0.1, "val": 12.5, "seq": 1}],
    "Ping (ms) ICMP": [{"t": T0 + 0.1, "val": 20.0, "seq": 1}],
    "qdisc_stats_r": [
        {"t": T0 + 0.1, "dropped": 100, "ecn_mark": 7, "delay": 3.5},
        {"t": T0 + 0.3, "dropped": 104, "ecn_mark": 7},
        {"t": T0 + 0.4, "dropped": 104, "ecn_mark": 9},
    ],
    "HTTP latency": [{"t": T0 + 0.1, "val": 0.5}],
}
RESULTS = {"TCP upload BE": [None, 1.5, 2.0], "Ping (ms) ICMP": [20.0, None, None]}


def old(version: int | None, **changes: object) -> dict[str, Any]:
    whole = {"x_values": [0.0, 0.2, 0.4], "results": RESULTS, "metadata": METADATA}
    whole |= {} if version == 1 or version is None else {"raw_values": RAW}
    return whole | ({} if version is None else {"version": version}) | changes


def read(data: object, folder: Path) -> FlentFile:
    path = folder / "old.json"
    path.write_text(json.dumps(data))
    return read_flent(path)


@pytest.mark.parametrize("version", [2, 3])
def test_samples_get_the_units_of_version_4(version: int, tmp_path: Path) -> None:
    file = read(old(version), tmp_path)
    assert series_values(file, "Ping (ms) UDP BE") == [20.0, 40.0]
    assert series_values(file, "Ping (ms) UDP EF") == [12.5]
    assert series_values(file, "HTTP latency") == [500.0]
    queue = file.raw_values["qdisc_stats_r"]
    assert [each["dropped"] for each in queue] == [0.0, 4.0, 0.0]
    assert [each["ecn_mark"] for each in queue] == [0.0, 0.0, 2.0]
    assert queue[0]["delay"] == 3.5
    assert file.series_meta("UDP upload") == {"UNITS": "Mbits/s", "MEAN_VALUE": 5.0}
    assert file.series_meta("TCP upload BE")["MEAN_VALUE"] == 1.75
    run = imported_run(file)
    assert run.column("queue_samples", "dropped_pkts").tolist() == [0, 4, 4]


def test_version_4_is_left_as_it_is(tmp_path: Path) -> None:
    file = read(old(4), tmp_path)
    assert file.raw_values == RAW
    assert file.metadata == METADATA


@pytest.mark.parametrize("version", [1, None])
def test_version_1_has_its_samples_elsewhere(version: int | None, tmp_path: Path) -> None:
    of = {name: {"RAW_VALUES": samples} for name, samples in RAW.items()}
    metadata = {**METADATA, "SERIES_META": of, "NETPERF_WRAPPER_VERSION": "0.9"}
    file = read(old(version, metadata=metadata), tmp_path)
    assert file == FlentFile(
        file.x_values,
        file.results,
        read(old(3), tmp_path).raw_values,
        {**METADATA, "SERIES_META": {name: {} for name in RAW}, "FLENT_VERSION": "0.9"},
    )


def test_without_samples_the_series_stand_for_them(tmp_path: Path) -> None:
    file = read(old(None), tmp_path)
    assert series_values(file, "TCP upload BE") == [1.5, 2.0]
    run = imported_run(file)
    assert run.column("probes", "rtt_ns").tolist() == [20_000_000]


@pytest.mark.parametrize(
    "samples", [7, {"a": 1}, [1], [{"t": 1e300}], {}], ids=["7", "object", "numbers", "t", "none"]
)
def test_samples_of_version_1_are_checked(samples: object, tmp_path: Path) -> None:
    metadata = {**METADATA, "SERIES_META": {"TCP upload BE": {"RAW_VALUES": samples}}}
    with pytest.raises(FormatError, match="raw_values"):
        read(old(1, metadata=metadata), tmp_path)


@pytest.mark.parametrize("value", ["x", None, True, [], {}, 10**19, -1e19, 1e-310])
def test_odd_samples_of_old_files_do_no_harm(value: object, tmp_path: Path) -> None:
    raw = {
        "Ping (ms) UDP BE": [{"t": T0, "val": value, "dur": value}],
        "qdisc_stats_r": [{"t": T0, "dropped": value}, {"t": T0 + 1, "dropped": 3}],
        "HTTP latency": [{"t": value, "val": value}],
    }
    meta = {"UDP upload": {"UNITS": "bits/s", "MEAN_VALUE": value}, "x": value}
    file = read(old(3, raw_values=raw, metadata={**METADATA, "SERIES_META": meta}), tmp_path)
    imported_run(file)
