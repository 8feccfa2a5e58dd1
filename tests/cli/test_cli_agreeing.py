"""Runs that take hours start only after a confirmation."""

from __future__ import annotations

import io
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from dumbbell.backends import Cost
from dumbbell.cli.common import confirmation
from dumbbell.cli.common.confirmation import agree
from dumbbell.cli.kernel import compare as kernel_compare
from dumbbell.errors import SpecError
from dumbbell.replication.interrupted import Interrupted
from dumbbell.spec import Experiment

Dumbbell = Callable[..., tuple[int, str, str]]
LINE = """
name = "line"
duration = "1s"
links = [{ a = "a", b = "b", delay = "10ms", rate = "1mbit" }]
probes = [{ name = "call", from = "b", to = "a", interval = "50ms" }]
"""
CLAIM = """
[[claim]]
id = "delay"
kind = "ordering"
statement = "There and back takes 20 ms"
quantity = "probe[call].mean_rtt_ms"
above = "20ms"
"""
CCPERF = ["--policing-rate", "4Mbps", "--peak-rate", "1Gbps", "--algs", "TcpCubic"]
PING = Path(__file__).parents[1] / "formats" / "logs" / "ping.txt"
SECONDS_OF_LONG = 1e-7


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_what_takes_an_hour_at_most_is_not_asked_about() -> None:
    agree(3600.0, yes=False)
    agree(1e6, yes=True)
    with pytest.raises(SpecError, match=r"some 1\.5 hours") as refused:
        agree(5400.0, yes=False)
    assert refused.value.path == "--yes"


@pytest.mark.parametrize(
    ("answer", "is_wanted"),
    [("y\n", True), ("YES\n", True), ("n\n", False), ("\n", False), ("", False)],
)
def test_on_a_terminal_it_is_asked(
    answer: str, is_wanted: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    said = Terminal()
    monkeypatch.setattr(sys, "stdin", Terminal(answer))
    monkeypatch.setattr(sys, "stderr", said)
    if is_wanted:
        agree(7200.0, yes=False)
    else:
        with pytest.raises(Interrupted, match="nothing was run"):
            agree(7200.0, yes=False)
    assert said.getvalue().startswith("this takes some 2 hours")


@pytest.fixture
def long(dumbbell: Dumbbell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Dumbbell:
    """The command line, where every run is one that takes hours; and files to give it."""
    (tmp_path / "line.toml").write_text(LINE)
    (tmp_path / "claim.toml").write_text(LINE + CLAIM)
    (tmp_path / "ping.txt").write_bytes(PING.read_bytes())
    assert dumbbell("flent", "ping", "-l", "2", "--rate", "1mbit")[0] == 0
    (name,) = tmp_path.glob("*.flent.gz")
    name.rename(tmp_path / "ping.flent.gz")
    assert dumbbell("check", "claim.toml", "--out", "checked", "--no-store")[0] == 0
    monkeypatch.setattr(confirmation, "ASKED_S", SECONDS_OF_LONG)
    return dumbbell


@pytest.mark.parametrize(
    "words",
    [
        ["run", "line.toml", "--json"],
        ["run", "line.toml", "--json", "--replications", "3"],
        ["run", "line.toml", "--json", "--set", "duration=1s", "--set", "duration=2s"],
        ["check", "claim.toml", "--json"],
        ["check", "claim.toml", "--json", "--replications", "2"],
        ["check", "checked", "--json"],
        ["analyze", "ping.txt", "--beside", "line.toml", "--replications", "2"],
        ["analyze", "ping.flent.gz", "--simulate", "--set", "rate=1mbit", "--set", "qdisc=pfifo"],
        ["flent", "ping", "-l", "2", "--rate", "1mbit"],
        ["ccperf", "traffic-policing", *CCPERF],
    ],
    ids=lambda words: " ".join(words[:4]),
)
def test_nothing_is_begun_that_nobody_agreed_to(long: Dumbbell, words: list[str]) -> None:
    asked = [*words, *(["--store", "kept"] if words[0] in ("run", "check") else [])]
    if words[1] == "checked":
        asked = words
    code, out, err = long(*asked)
    assert code == 2 and "error: --yes: 'not said'" in err
    assert words[0] == "analyze" or out == ""
    has_dry_run = words[0] in ("run", "check")
    assert ("--dry-run" in err) == has_dry_run
    if has_dry_run:
        assert long(*asked, "--dry-run")[0] == 0
    code, _, err = long(*asked, "--yes")
    assert code == 0, err
    if "kept" in asked and " ".join(words[1:]) != "line.toml --json":
        # What is in the store takes no time.
        code, _, err = long(*asked)
        assert code == 0, err


@pytest.mark.parametrize(("answer", "status"), [("y\n", 0), ("n\n", 130)])
def test_check_asks_on_a_terminal(
    long: Dumbbell, answer: str, status: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stdin", Terminal(answer))
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    assert long("check", "claim.toml", "--no-store", "--no-page")[0] == status


@pytest.fixture
def compared(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Names of the experiments that `kernel compare` began, without any kernel; none ends."""
    begun: list[str] = []

    def compare_kernels(experiment: Experiment, *_: object, **__: object) -> None:
        begun.append(experiment.name)
        raise Interrupted("stopped")

    monkeypatch.setattr("dumbbell.backends.kernel.require_kernel", lambda *_: None)
    monkeypatch.setattr(kernel_compare, "compare_kernels", compare_kernels)
    return begun


KERNELS = ["kernel", "compare", "6.1", "other", "line.toml", "--no-store"]


def test_two_kernels_are_not_compared_for_hours_unasked(
    long: Dumbbell, compared: list[str]
) -> None:
    code, out, err = long(*KERNELS)
    assert (code, out, compared) == (2, "", [])
    assert "error: --yes: 'not said'" in err
    assert "--dry-run" not in err
    assert long(*KERNELS, "--yes")[0] == Interrupted.exit_code
    assert compared == ["line"]


@pytest.mark.parametrize(("answer", "begun"), [("y\n", ["line"]), ("n\n", []), ("", [])])
def test_comparing_kernels_asks_on_a_terminal(
    long: Dumbbell,
    compared: list[str],
    answer: str,
    begun: list[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(sys, "stdin", Terminal(answer))
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    assert long(*KERNELS)[0] == Interrupted.exit_code
    assert compared == begun


def test_two_kernels_are_compared_unasked_where_that_takes_no_hour(
    dumbbell: Dumbbell, compared: list[str], tmp_path: Path
) -> None:
    (tmp_path / "line.toml").write_text(LINE)
    dumbbell(*KERNELS)
    assert compared == ["line"]


def test_what_the_command_lacks_is_not_named() -> None:
    with pytest.raises(SpecError) as refused:
        confirmation.agree_to_run(Cost(1, 1, 7200.0), yes=False, has_dry_run=False)
    assert "--dry-run" not in str(refused.value)
