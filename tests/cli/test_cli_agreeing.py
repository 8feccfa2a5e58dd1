"""What takes hours is begun only when somebody wants it."""

from __future__ import annotations

import io
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from dumbbell.cli import agreeing
from dumbbell.cli.agreeing import agree
from dumbbell.errors import SpecError
from dumbbell.sweep.interrupted import Interrupted

Dumbbell = Callable[..., tuple[int, str, str]]
LINE = """
name = "line"
duration = "1s"
links = [{ a = "a", b = "b", delay = "10ms", rate = "1mbit" }]
probes = [{ name = "call", from = "b", to = "a", interval = "50ms" }]
"""
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


@pytest.mark.parametrize("words", [[], ["--replications", "3"]])
def test_run_begins_nothing_that_nobody_agreed_to(
    dumbbell: Dumbbell, tmp_path: Path, words: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "line.toml").write_text(LINE)
    asked = ["run", "line.toml", *words, "--json", "--store", "kept"]
    monkeypatch.setattr(agreeing, "ASKED_S", SECONDS_OF_LONG)
    code, out, err = dumbbell(*asked)
    assert (code, out) == (2, "")
    assert "--yes" in err and "--dry-run" in err
    assert dumbbell(*asked, "--dry-run")[0] == 0
    assert dumbbell(*asked, "--yes")[0] == 0
    if words:
        # What is in the store takes no time.
        code, _, err = dumbbell(*asked)
        assert code == 0, err
