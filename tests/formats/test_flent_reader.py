"""Data files from strangers: damaged, of other versions, huge, nested, or hostile."""

from __future__ import annotations

import bz2
import contextlib
import gzip
import json
import re
import resource
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from flent_samples import file_of
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dumbbell.errors import SpecError
from dumbbell.formats import FormatError
from dumbbell.formats.flent import (
    FlentFile,
    flent_bytes,
    flent_file_name,
    flent_test_of,
    imported_run,
    read_flent,
    summary_text,
    write_flent,
)

SMALL: dict[str, Any] = {
    "version": 4,
    "x_values": [0.0, 0.2, 0.4],
    "results": {"TCP upload": [None, 1.5, 2], "Ping (ms) ICMP": [10.0, None, 12.5]},
    "raw_values": {
        "TCP upload": [
            {"t": 1700000000.2, "val": 1.5, "dur": 0.2},
            {"t": 1700000000.4, "val": 2.0, "dur": 0.2},
        ],
        "Ping (ms) ICMP": [{"t": 1700000000.01, "val": 10.0, "seq": 1.0}],
    },
    "metadata": {"NAME": "tcp_1up", "T0": "2023-11-14T22:13:20.000000Z", "LENGTH": 60},
}


def written(data: object, path: Path) -> Path:
    path.write_bytes(gzip.compress(json.dumps(data).encode()))
    return path


def test_a_small_file_in_every_wrapping(tmp_path: Path) -> None:
    text = json.dumps(SMALL).encode()
    for name, data in (
        ("a.flent.gz", gzip.compress(text)),
        ("a.flnt", bz2.compress(text)),
        ("a.flent", text),
    ):
        path = tmp_path / name
        path.write_bytes(data)
        file = read_flent(path)
        assert file.results["TCP upload"] == [None, 1.5, 2.0]
        run = imported_run(file)
        assert run.column("probes", "rtt_ns").tolist() == [10_000_000]
        assert run.column("probes", "sent_ns").tolist() == [0]
        payload = run.column("flow_samples", "delivered_payload_bytes")
        assert payload.tolist() == [37_500, 87_500]


def test_a_local_time_is_moved_by_whole_hours(tmp_path: Path) -> None:
    local = SMALL | {"metadata": SMALL["metadata"] | {"T0": "2023-11-15T00:13:20.000000"}}
    run = imported_run(read_flent(written(local, tmp_path / "a.flent.gz")))
    assert run.meta["t0_epoch_ns"] == 1_700_000_000 * 10**9


def test_without_samples_the_series_are_taken(tmp_path: Path) -> None:
    bare = SMALL | {"raw_values": {}}
    run = imported_run(read_flent(written(bare, tmp_path / "a.flent.gz")))
    assert run.column("probes", "rtt_ns").tolist() == [10_000_000, 12_500_000]
    assert run.column("flow_samples", "t_ns").tolist() == [200_000_000, 400_000_000]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"version": 5}, "version"),
        ({"version": 0}, "version 1 to 4"),
        ({"version": None}, "version"),
        ({"version": 3.0}, "version"),
        ({"version": True}, "version"),
        ({"version": "4"}, "version"),
        ({"x_values": None}, "x_values"),
        ({"x_values": [0.0, "a", 1.0]}, "x_values"),
        ({"x_values": [0.0, 2.0, 1.0]}, "ascend"),
        ({"x_values": [0.0, 1.0]}, "a list of 2 values"),
        ({"x_values": [0.0, 1.0, 1e300]}, "at most"),
        ({"results": []}, "results"),
        ({"results": {"a": [1, 2]}}, "results.a"),
        ({"results": {"a": [1, 2, True]}}, "a number"),
        ({"results": {"a": [1, 2, 10**400]}}, "finite"),
        ({"results": {"a": [1, 2, 1e21]}}, "finite"),
        ({"results": {"\x1b[31mred": [1, 2, 3]}}, "printable"),
        ({"results": {"a\nb": [1, 2, 3]}}, "printable"),
        ({"results": {"\ud800": [1, 2, 3]}}, "printable"),
        ({"results": {"a" * 201: [1, 2, 3]}}, "printable"),
        ({"raw_values": {"a\rb": []}}, "printable"),
        ({"raw_values": {"a": [{"t": 10**400}]}}, "finite"),
        ({"raw_values": {"a": [{"\x1b": 1e300}]}}, r"<U\+001B>"),
        ({"raw_values": None}, "raw_values"),
        ({"raw_values": {"a": {}}}, "a list of samples"),
        ({"raw_values": {"a": [1]}}, "samples that are objects"),
        ({"metadata": {}}, "NAME"),
        ({"metadata": {"NAME": 7}}, "NAME"),
        ({"metadata": {"NAME": "rrul", "HOSTS": "x"}}, "HOSTS"),
        ({"metadata": {"NAME": "rrul", "STEP_SIZE": -1}}, "STEP_SIZE"),
        ({"metadata": {"NAME": "rrul", "LENGTH": "long"}}, "LENGTH"),
        ({"metadata": {"NAME": "rrul", "SERIES_META": []}}, "SERIES_META"),
    ],
)
def test_what_no_flent_writes_is_refused(
    change: dict[str, object], message: str, tmp_path: Path
) -> None:
    with pytest.raises(FormatError, match=message):
        read_flent(written(SMALL | change, tmp_path / "a.flent.gz"))


ZIPPED = gzip.compress(json.dumps(SMALL).encode())
DAMAGED = {
    "nothing": b"",
    "only gzip's mark": b"\x1f\x8b",
    "only bzip2's mark": b"BZh91AY",
    "not json": b"not json",
    "a list": b"[]",
    "not text": b"\xff\xfe\xfd",
    "cut json": b'{"version": 4',
    "cut json, compressed": gzip.compress(b'{"version": 4'),
    "cut": ZIPPED[:-30],
    "another sum": ZIPPED[:-8] + b"\0" * 8,
    "another method": ZIPPED.replace(b"\x08", b"\x09", 1),
    "objects a hundred thousand deep": b'{"a":' * 100_000,
    "lists a million deep": b"[" * 1_000_000,
    "a version of many digits": b'{"version":' + b"9" * 100_000 + b"}",
}


# Named: the bytes of a gzip file hold the second in which it was made.
@pytest.mark.parametrize("data", list(DAMAGED.values()), ids=list(DAMAGED))
def test_damaged_files_are_refused(data: bytes, tmp_path: Path) -> None:
    path = tmp_path / "a.flent.gz"
    path.write_bytes(data)
    with pytest.raises(FormatError, match=r"a\.flent\.gz"):
        read_flent(path)


def test_deep_metadata_are_refused(tmp_path: Path) -> None:
    deep: object = 1
    for _ in range(40):
        deep = [deep]
    bad = SMALL | {"metadata": SMALL["metadata"] | {"NOTE": deep}}
    with pytest.raises(FormatError, match="nested too deeply"):
        read_flent(written(bad, tmp_path / "a.flent.gz"))


@pytest.mark.parametrize("text", ["\x1b[2J\r\n", "\ud800", "\u202eabc", "x" * 10_000])
def test_what_is_shown_of_a_strangers_text_is_a_short_printable_line(
    text: str, tmp_path: Path
) -> None:
    """Of the text itself nothing is lost: it is written again as it was."""
    of = {"NAME": "tcp_1up", "TITLE": text, "TIME": text, "HOST": text}
    units = {"SERIES_META": {"TCP upload": {"UNITS": text}}}
    path = written(SMALL | {"metadata": of | units}, tmp_path / "a.flent.gz")
    file = read_flent(path)
    assert all(line.isprintable() for line in summary_text(file).splitlines())
    assert len(summary_text(file)) < 2000
    assert file.metadata["TITLE"] == text
    assert re.fullmatch(
        r"tcp_1up-[0-9T.-]*\.[A-Za-z0-9_-]{1,230}\.flent\.gz", flent_file_name(file)
    )
    assert read_flent(write_flent(file, tmp_path / "b.flent.gz")) == file


def test_nan_is_no_value(tmp_path: Path) -> None:
    path = tmp_path / "a.flent"
    path.write_text(json.dumps(SMALL | {"results": {"a": [1.0, float("nan"), float("inf")]}}))
    assert read_flent(path).results == {"a": [1.0, None, None]}


HOSTILE = {
    "zip bomb": lambda: gzip.compress(b" " * (1 << 28), 1),
    "lists": lambda: gzip.compress(b"[" + b"[]," * 20_000_000 + b"[]]", 1),
    "numbers": lambda: gzip.compress(b"[" + b"1," * 30_000_000 + b"1]", 1),
    "large file": lambda: b"\0" * (33 << 20),
    "one text": lambda: gzip.compress(b'{"a": "' + b"x" * (65 << 20) + b'"}', 1),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", HOSTILE)
def test_memory_is_bounded(name: str, tmp_path: Path) -> None:
    """In a process that may have 600 MB of address space more than it starts with."""
    path = tmp_path / "a.flent.gz"
    path.write_bytes(HOSTILE[name]())
    program = (
        "import resource, sys\n"
        "from dumbbell.formats import FormatError\n"
        "from dumbbell.formats.flent import read_flent\n"
        "with open('/proc/self/statm') as f: pages = int(f.read().split()[0])\n"
        "limit = pages * 4096 + (600 << 20)\n"
        "resource.setrlimit(resource.RLIMIT_AS, (limit, limit))\n"
        "try:\n    read_flent(sys.argv[1])\n"
        "except FormatError as error:\n    print('refused:', error); sys.exit(2)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, str(path)], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (2, "")
    assert done.stdout.startswith("refused:")


def test_the_limit_of_that_test_bites() -> None:
    assert resource.getrlimit(resource.RLIMIT_AS) is not None
    program = (
        "import resource\nresource.setrlimit(resource.RLIMIT_AS, (900 << 20, 900 << 20))\n"
        "b' ' * (1 << 30)\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, check=False)
    assert b"MemoryError" in done.stderr


_JSON = st.recursive(
    st.none() | st.booleans() | st.floats() | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner),
    max_leaves=8,
)
_NAMES = st.sampled_from(["TCP upload", "Ping (ms) ICMP", "qdisc_stats_a", "UDP upload", "a::b"])
_SAMPLES = st.lists(
    st.dictionaries(
        st.sampled_from(["t", "val", "dur", "seq", "lost", "tcp_cwnd", "dropped", "delay", "prob"]),
        _JSON,
    ),
    max_size=3,
)


@settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    changes=st.fixed_dictionaries(
        {},
        optional={
            "version": _JSON,
            "x_values": _JSON,
            "results": st.dictionaries(_NAMES, st.lists(st.none() | st.floats(), max_size=4)),
            "raw_values": st.dictionaries(_NAMES, _SAMPLES),
            "metadata": st.dictionaries(
                st.sampled_from(["NAME", "T0", "LENGTH", "HOSTS", "STEP_SIZE", "SERIES_META"]),
                _JSON | st.just("rrul"),
            ),
        },
    )
)
def test_whatever_is_in_it_it_is_read_or_refused(
    changes: dict[str, object], tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.getbasetemp() / "any.flent.gz"
    try:
        file = read_flent(written(SMALL | changes, path))
    except FormatError:
        return
    imported_run(file)
    summary_text(file)
    with contextlib.suppress(SpecError):
        flent_test_of(file)


@settings(max_examples=120, deadline=None, suppress_health_check=list(HealthCheck))
@given(place=st.floats(0, 1), byte=st.integers(0, 255), packed=st.booleans())
def test_a_changed_byte_is_read_or_refused(
    place: float, byte: int, packed: bool, tmp_path_factory: pytest.TempPathFactory
) -> None:
    whole = flent_bytes(file_of("ping"))
    data = bytearray(whole if packed else gzip.decompress(whole))
    data[int(place * (len(data) - 1))] = byte
    path = tmp_path_factory.getbasetemp() / "changed.flent.gz"
    path.write_bytes(bytes(data))
    with contextlib.suppress(FormatError):
        assert isinstance(read_flent(path), FlentFile)
