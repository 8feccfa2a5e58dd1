from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType

import cli_studies
import pytest

from dumbbell import studies
from dumbbell.cli import main
from dumbbell.cli.terminal import signals

HERE = Path(__file__).parent
_STUDIES = (
    cli_studies.TRUE,
    cli_studies.FALSE,
    cli_studies.BROKEN,
    cli_studies.FAILS_A_CHECK,
    cli_studies.LACKING,
)

Result = tuple[int, str, str]
Dumbbell = Callable[..., Result]


@pytest.fixture(autouse=True)
def signals_as_they_were() -> Iterator[None]:
    """The command line keeps its handlers to the end of its process."""
    before = [(number, signal.getsignal(number)) for number in signals.stop_signals()]
    yield
    for number, handler in before:
        signal.signal(number, handler)


@pytest.fixture
def dumbbell(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> Dumbbell:
    """Run the command line here: exit status, standard output, standard error."""
    monkeypatch.chdir(tmp_path)

    def call(*arguments: str) -> Result:
        monkeypatch.setattr(sys, "argv", ["dumbbell", *arguments])
        capsys.readouterr()
        with pytest.raises(SystemExit) as left:
            main()
        out, err = capsys.readouterr()
        return int(left.value.code or 0), out, err

    return call


@pytest.fixture
def only(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Let there be only these studies of `cli_studies`, by name."""

    def replace(*names: str) -> None:
        chosen = {}
        for study in _STUDIES:
            if study.id in names:
                module = ModuleType(f"study_{study.id}")
                module.STUDY = study  # type: ignore[attr-defined]
                monkeypatch.setitem(sys.modules, module.__name__, module)
                chosen[study.id] = module.__name__
        monkeypatch.setattr(studies, "_MODULES", {name: chosen[name] for name in names})

    return replace


@pytest.fixture
def started() -> Iterator[Callable[..., subprocess.Popen[str]]]:
    """Start the command line as a process, with one study of `cli_studies` by its constant."""
    running: list[subprocess.Popen[str]] = []

    def start(study: str, *arguments: str, cwd: Path) -> subprocess.Popen[str]:
        program = f"""
import sys
sys.path.insert(0, {str(HERE)!r})
import types, cli_studies
from dumbbell import studies
from dumbbell.cli import main
from dumbbell.cli.terminal import signals
module = types.ModuleType("chosen")
module.STUDY = cli_studies.{study}
sys.modules["chosen"] = module
studies._MODULES = {{module.STUDY.id: "chosen"}}
sys.argv = ["dumbbell", *{list(arguments)!r}]
main()
"""
        process = subprocess.Popen(
            [sys.executable, "-c", program], cwd=cwd, text=True,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )  # fmt: skip
        running.append(process)
        return process

    yield start
    for process in running:
        process.kill()
        process.communicate()
