"""Traces: what is read, and what is not."""

from pathlib import Path

import pytest

from dumbbell.spec import Experiment, Replay, SpecError

EXPERIMENT = """
duration = "10s"
links = [{{ a = "x", b = "y" }}]
[[flows]]
name = "trace"
from = "x"
to = "y"
source = {{ kind = "replay", file = "{file}" }}
"""


def write(folder: Path, text: str, name: str = "trace.csv") -> Path:
    path = folder / name
    path.write_text(text)
    return path


def read(folder: Path, file: str = "trace.csv") -> dict:
    experiment = write(folder, EXPERIMENT.format(file=file), "experiment.toml")
    resolved: dict = Experiment.from_toml(experiment).resolved()["flows"][0]["source"]
    return resolved


def test_a_file_beside_the_experiment(tmp_path: Path) -> None:
    write(tmp_path, "time,bytes\n0,60\n0.000000001,1500\n1.5,60\n\n")
    assert read(tmp_path) == {
        "kind": "replay",
        "times_ns": [0, 1, 1_500_000_000],
        "sizes_bytes": [60, 1500, 60],
        "size_at": "wire",
    }


@pytest.mark.parametrize(
    ("unit", "time_ns"), [("s", 10**9), ("ms", 10**6), ("us", 10**3), ("ns", 1)]
)
def test_units_and_other_columns(tmp_path: Path, unit: str, time_ns: int) -> None:
    write(tmp_path, f"proto, bytes, time_{unit}\r\nudp, 99, 1\r\n")
    source = read(tmp_path)
    assert (source["times_ns"], source["sizes_bytes"]) == ([time_ns], [99])


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("", ""),
        ("t,bytes\n", "t,bytes"),
        ("time,time_ms,bytes\n", "time,time_ms,bytes"),
        ("time,bytes\n1\n", "line 2"),
        ("time,bytes\n-1,60\n", "line 2: -1"),
        ("time,bytes\nnan,60\n", "line 2: nan"),
        ("time,bytes\n1e3,60\n", "line 2: 1e3"),
        ("time,bytes\n17280001,60\n", "line 2: 17280001"),
        ("time,bytes\n1,0\n", "line 2: 0"),
        ("time,bytes\n1,65536\n", "line 2: 65536"),
        ("time,bytes\n1,6.5\n", "line 2: 6.5"),
        ("time,bytes\n2,60\n1,60\n", "line 3: 1"),
    ],
)
def test_what_is_no_trace(tmp_path: Path, text: str, value: str) -> None:
    write(tmp_path, text)
    with pytest.raises(SpecError) as caught:
        read(tmp_path)
    assert (caught.value.path, caught.value.value) == ("flows[0].source.file", value)


def test_files_elsewhere_are_not_read(tmp_path: Path) -> None:
    inner = tmp_path / "inner"
    inner.mkdir()
    outside = write(tmp_path, "time,bytes\n")
    (inner / "link.csv").symlink_to(outside)
    for name in ("../trace.csv", str(outside), "link.csv", "missing.csv", ".", "a\\u0000b"):
        with pytest.raises(SpecError, match="folder") as caught:
            read(inner, name)
        assert caught.value.path == "flows[0].source.file"


def test_a_large_file_is_not_read(tmp_path: Path) -> None:
    with (tmp_path / "trace.csv").open("wb") as file:
        file.truncate((32 << 20) + 1)
    with pytest.raises(SpecError, match="32 MiB"):
        read(tmp_path)


def test_python_may_read_from_anywhere(tmp_path: Path) -> None:
    path = write(tmp_path, "time,bytes\n1,60\n")
    trace = Replay.from_csv(path, size_at="payload")
    assert trace.resolved()["times_ns"] == [10**9]
    again = trace.with_(size_at="wire").resolved()
    assert (again["size_at"], again["sizes_bytes"]) == ("wire", [60])


@pytest.mark.parametrize(
    ("keys", "path"),
    [
        ({}, "times"),
        ({"times": ["1s"]}, "sizes"),
        ({"times": ["1s"], "sizes": []}, "sizes"),
        ({"times": ["1s", "1"], "sizes": ["1B", "1B"]}, "times[1]"),
        ({"times": ["2s", "1s"], "sizes": ["1B", "1B"]}, "times[1]"),
        ({"times": ["1s"], "sizes": ["0b"]}, "sizes[0]"),
        ({"times": [], "sizes": [], "file": "x"}, "file"),
    ],
)
def test_inline_traces(keys: dict, path: str) -> None:
    with pytest.raises(SpecError) as caught:
        Replay(**keys)
    assert caught.value.path == path
