"""``dumbbell run --open`` and ``--watch``."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import webbrowser
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from dumbbell.cli.app import app
from dumbbell.cli.common.store import StoreOptions
from dumbbell.cli.run.options import RunOptions
from dumbbell.cli.run.watching import watch
from dumbbell.errors import EXIT_STOPPED, SpecError
from dumbbell.replication.interrupted import Interrupted
from small_networks import sampled_queue
from waiting import wait_until

GOOD = sampled_queue("small", "1s")


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("one.toml").write_text(GOOD, encoding="utf-8")
    return tmp_path


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Addresses that a browser was to show."""
    addresses: list[str] = []

    def open_(address: str) -> bool:
        addresses.append(address)
        return True

    monkeypatch.setattr(webbrowser, "open", open_)
    return addresses


def run(*words: str) -> Result:
    return CliRunner().invoke(app, ["run", *words])


# --- --open ----------------------------------------------------------------------------------


def test_the_page_is_opened_when_it_is_written(here: Path, opened: list[str]) -> None:
    """Also where pages are left out otherwise (the tests have DUMBBELL_PAGE=no)."""
    done = run("one.toml", "--seed=2", "--open")
    assert done.exit_code == 0, done.output
    page = here / "results" / "small@seed=2" / "index.html"
    assert page.is_file()
    assert opened == [page.as_uri()]


def test_of_a_comparison_too(here: Path, opened: list[str]) -> None:
    assert run("one.toml", "--replications=2", "--open", "--out=both").exit_code == 0
    assert opened == [(here / "both" / "index.html").as_uri()]


def test_nothing_is_opened_unasked(opened: list[str]) -> None:
    assert run("one.toml", "--page").exit_code == 0
    assert opened == []


def test_no_page_cannot_be_opened(opened: list[str]) -> None:
    done = run("one.toml", "--open", "--no-page")
    assert isinstance(done.exception, SpecError)
    assert opened == [] and not Path("results").exists()


def test_without_a_browser_it_is_said_where_the_page_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(webbrowser, "open", lambda address: False)
    done = run("one.toml", "--open")
    assert done.exit_code == 0
    assert "no browser was found to open file://" in done.stderr


# --- --watch ---------------------------------------------------------------------------------


def asked(*files: str, as_json: bool = False, opens: bool = False) -> RunOptions:
    return RunOptions(
        files=tuple(map(Path, files)),
        settings=(),
        backends=("sim",),
        replications=None,
        precision=None,
        replication=None,
        seed=None,
        jobs=0,
        memory=None,
        cluster=None,
        out=None,
        page=None,
        replace=False,
        as_json=as_json,
        yes=False,
        storing=StoreOptions(is_wanted=False),
        opens=opens,
    )


def saved(text: str, number: int) -> None:
    """As an editor saves: a file in the place of another, with a later time."""
    new = Path("one.toml.new")
    new.write_text(text, encoding="utf-8")
    os.utime(new, ns=(number * 10**9, number * 10**9))
    new.replace("one.toml")


def steps(*each: Callable[[], None]) -> Callable[[], None]:
    """What happens between the looks at the files, one a time, and Ctrl-C at the end."""
    left: Iterator[Callable[[], None]] = iter(each)

    def pause() -> None:
        step = next(left, None)
        if step is None:
            raise KeyboardInterrupt
        step()

    return pause


def nothing() -> None:
    pass


def test_each_save_is_one_run(capsys: pytest.CaptureFixture[str]) -> None:
    texts: list[str] = []

    def once(options: RunOptions) -> int:
        texts.append(options.files[0].read_text(encoding="utf-8"))
        return 0

    pause = steps(
        nothing,
        lambda: saved("first", 1),
        nothing,
        nothing,
        # While it is being written it is another one at each look.
        lambda: saved("half", 2),
        lambda: saved("whole", 3),
        nothing,
        # An editor that takes it away for a moment.
        lambda: Path("one.toml").unlink(),
        nothing,
        lambda: saved("back", 4),
        nothing,
        nothing,
    )
    assert watch(asked("one.toml"), once, pause) == EXIT_STOPPED
    assert texts == [GOOD, "first", "whole", "back"]
    err = capsys.readouterr().err
    assert err.count("watching one.toml; Ctrl-C ends it") == 4
    assert err.rstrip().endswith("stopped watching")


def test_what_is_saved_during_a_run_is_seen_after_it() -> None:
    runs: list[int] = []

    def once(options: RunOptions) -> int:
        runs.append(len(runs))
        if len(runs) == 1:
            saved("during", 5)
        return 0

    assert watch(asked("one.toml"), once, steps(nothing, nothing, nothing, nothing)) == EXIT_STOPPED
    assert len(runs) == 2


def test_an_error_is_shown_and_the_next_save_waited_for(
    capsys: pytest.CaptureFixture[str],
) -> None:
    errors = iter([SpecError("duration", "2", "a time"), FileNotFoundError(2, "gone", "one.toml")])
    runs: list[bool] = []

    def once(options: RunOptions) -> int:
        runs.append(options.opens)
        error = next(errors, None)
        if error is not None:
            raise error
        return 0

    pause = steps(
        *(step for n in (1, 2, 3) for step in (lambda n=n: saved("x", n), nothing))  # type: ignore[misc]
    )
    assert watch(asked("one.toml", opens=True), once, pause) == EXIT_STOPPED
    # The page is opened once, when there is one.
    assert runs == [True, True, True, False]
    err = capsys.readouterr().err
    assert "error: duration: '2'" in err and "one.toml: gone" in err


@pytest.mark.parametrize("stops", [Interrupted("stopped"), KeyboardInterrupt()])
def test_ctrl_c_during_a_run_ends_it(stops: BaseException) -> None:
    def once(options: RunOptions) -> int:
        raise stops

    if isinstance(stops, Interrupted):
        with pytest.raises(Interrupted) as left:
            watch(asked("one.toml"), once)
        assert left.value.exit_code == EXIT_STOPPED
    else:
        assert watch(asked("one.toml"), once) == EXIT_STOPPED
    # A comparison reports what it has, and says so by its status.
    assert watch(asked("one.toml"), lambda options: EXIT_STOPPED) == EXIT_STOPPED


def test_a_fault_of_ours_is_not_hidden() -> None:
    def once(options: RunOptions) -> int:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        watch(asked("one.toml"), once)


def test_what_cannot_be_watched(here: Path) -> None:
    os.mkfifo("pipe.toml")
    for options in (asked("none.toml"), asked("pipe.toml"), asked("one.toml", as_json=True)):
        with pytest.raises(SpecError, match="--watch"):
            watch(options, lambda each: 0)


@pytest.mark.slow
@pytest.mark.programs
def test_a_file_is_edited_while_it_is_watched(here: Path) -> None:
    program = Path(sys.executable).parent / "dumbbell"
    with Path("out").open("w") as out, Path("err").open("w") as err:
        process = subprocess.Popen(
            [program, "run", "one.toml", "--watch", "--page"], stdout=out, stderr=err
        )
    try:
        waiting = "watching one.toml"
        wait_until(lambda: Path("err").read_text().count(waiting) == 1, "the first run")
        page = Path("results/small/index.html")
        first = page.read_bytes()
        saved("duration = ", 1)
        wait_until(lambda: Path("err").read_text().count(waiting) == 2, "the error")
        assert "error: one.toml" in Path("err").read_text()
        assert page.read_bytes() == first
        saved(GOOD.replace("2mbit", "3mbit"), 2)
        wait_until(lambda: Path("err").read_text().count(waiting) == 3, "the second run")
        assert page.read_bytes() != first
        process.send_signal(signal.SIGINT)
        assert process.wait() == EXIT_STOPPED
    finally:
        process.kill()
        process.wait()
    assert "Traceback" not in Path("err").read_text()
    assert Path("out").read_text().count("page: results/small/index.html") == 2
    assert not [each.name for each in Path("results").iterdir() if ".partial" in each.name]
