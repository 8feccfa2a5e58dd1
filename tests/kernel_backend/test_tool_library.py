"""The library by which `tc` is loaded once: compiled, found again, used, and done without."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from kernel_samples import network, ping

from dumbbell.backends import simulate
from dumbbell.backends.kernel import backend, session, tool_library
from dumbbell.backends.kernel.job import job
from dumbbell.backends.kernel.session import Session
from dumbbell.backends.kernel.session_orders import AdvanceTime, TerminalPlace, TypeLine
from dumbbell.backends.native import BuildError
from dumbbell.spec import Experiment

pytestmark = pytest.mark.programs

LINK = {"rate": "10mbit", "delay": "7ms", "qdisc": "fq_codel limit 50"}
HOSTS = 3


@pytest.fixture
def empty_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    tool_library.tool_library.cache_clear()
    yield tmp_path / "cache"
    tool_library.tool_library.cache_clear()


@pytest.fixture
def experiment() -> Experiment:
    return network(link=LINK, probes=[ping()], duration="1s")


def test_it_is_compiled_once_and_to_the_same_bytes(
    empty_cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    library = tool_library.tool_library()
    assert library is not None and library.is_relative_to(empty_cache)
    assert [each.name for each in library.parent.iterdir()] == [library.name]
    content = library.read_bytes()
    assert content.startswith(b"\x7fELF")
    library.unlink()
    assert tool_library.tool_library_of().read_bytes() == content
    monkeypatch.setenv("CC", "no-such-compiler")
    assert tool_library.tool_library_of() == library
    versions = tool_library.tool_library_versions()
    assert versions == {"tool_library_sha256": library.stem}


@pytest.mark.usefixtures("empty_cache")
def test_without_a_compiler_there_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CC", "no-such-compiler")
    with pytest.raises(BuildError, match="no C compiler 'no-such-compiler'"):
        tool_library.tool_library_of()
    assert tool_library.tool_library() is None
    assert tool_library.tool_library_versions() == {}


def test_its_path_is_in_the_job(experiment: Experiment) -> None:
    asked = (experiment.resolved_json(), 0, Path("/out"), {"ip": "ip", "tc": "tc"})
    assert "tool_library" not in json.loads(job(*asked))
    told = json.loads(job(*asked, tool_library=Path("/cache/a.so")))
    assert told["tool_library"] == "/cache/a.so"


def hosts_and_forks(experiment: Experiment) -> tuple[list[str], int]:
    """What each host has, and how many processes the guest forked before the first shell asked."""
    printed = []
    with Session(experiment.resolved_json()) as shells:
        list(shells.events())
        for host in range(HOSTS):
            line = "grep processes /proc/stat; tc qdisc; tc class show dev eth1; tc filter show dev"
            shells.give([TypeLine(TerminalPlace(host=host), f"{line} eth1 ingress"), AdvanceTime()])
            events = [each for each in shells.events() if each["event"] == "printed"]
            printed.append("".join(each["text"] for each in events))
    texts = [text[text.index("processes") :].splitlines() for text in printed]
    return ["\n".join(lines[1:]) for lines in texts], int(texts[0][0].split()[1])


@pytest.mark.kernel
@pytest.mark.usefixtures("kernel")
def test_hosts_are_the_same_without_it(
    experiment: Experiment, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With it there is one process more: the one that is loaded, and waits."""
    with_library, forks = hosts_and_forks(experiment)
    monkeypatch.setattr(session, "tool_library", lambda: None)
    without, forks_without = hosts_and_forks(experiment)
    assert with_library == without
    assert all("qdisc" in text for text in without) and "fq_codel" in "".join(without)
    assert forks == forks_without + 1


@pytest.mark.kernel
@pytest.mark.usefixtures("kernel")
def test_runs_have_the_same_packets_without_it(
    experiment: Experiment, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Here no random number of the kernel matters."""
    own = simulate(experiment, backend="kernel")
    assert "tool_library_sha256" in own.meta["versions"]
    no_library = tmp_path / "no-library.so"
    no_library.write_bytes(b"of no machine")
    for missing in (None, no_library):
        monkeypatch.setattr(backend, "tool_library", lambda missing=missing: missing)
        assert simulate(experiment, backend="kernel").meta["digest"] == own.meta["digest"]
