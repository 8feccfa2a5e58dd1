"""What the pages show is run: Python, TOML, command lines."""

from __future__ import annotations

import importlib
import pkgutil
import re
import shlex
import subprocess
import tomllib
import webbrowser
from pathlib import Path

import click
import pytest
import typer
from docs_pages import PAGES, ROOT, all_blocks, blocks, indented_blocks, inline_code, page_id
from docs_pages import shell_lines as lines_of

import dumbbell
from dumbbell.cli.app import COMMANDS as ALL_COMMANDS
from dumbbell.cli.app import app
from dumbbell.course.description import read_course
from dumbbell.spec import Experiment
from dumbbell.studies import MORE, STUDIES

LANGUAGES = {"python", "output", "toml", "diff", "rust", "text", "sh", "html", "js"}
WITH_PYTHON = [
    page
    for page in PAGES
    if any(block.language == "python" and not block.file for block in blocks(page))
]
GENERATED = [ROOT / "docs" / name for name in ("tables.md", "metrics.md", "rules.md")]
COMMANDS = typer.main.get_command(app)
MAKEFILE = (ROOT / "Makefile").read_text(encoding="utf-8")


@pytest.mark.parametrize("page", PAGES, ids=page_id)
def test_blocks_say_what_they_are(page: Path) -> None:
    """Else they would be left out of every test here."""
    assert {block.language for block in blocks(page)} <= LANGUAGES
    assert page.read_text(encoding="utf-8").count("\n```") == 2 * len(blocks(page))


@pytest.mark.slow
@pytest.mark.parametrize("page", WITH_PYTHON, ids=page_id)
def test_python(
    page: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """All blocks of a page, in order, in one namespace, as in a notebook.

    A block of `output` is what the block above it printed, to the letter.
    """
    monkeypatch.chdir(tmp_path)
    (tmp_path / "trace.csv").write_text("time,bytes\n0,500\n0.5,500\n")
    namespace: dict[str, object] = {"__name__": "__main__"}
    for block in blocks(page):
        if block.language == "output":
            assert capsys.readouterr().out == block.text, block.id
        if block.language == "python" and not block.file:
            capsys.readouterr()
            # Empty lines in front, so that a traceback has the page's line numbers.
            code = "\n" * (block.line - 1) + block.text
            exec(compile(code, str(page), "exec"), namespace)


@pytest.mark.parametrize("page", GENERATED, ids=page_id)
def test_python_at_the_head_of_a_generated_page(page: Path) -> None:
    experiment = Experiment.from_toml(ROOT / "examples" / "two-queues.toml").with_(duration="5s")
    namespace = {
        "dumbbell": dumbbell,
        "experiment": experiment,
        "run": dumbbell.simulate(experiment),
    }
    snippets = indented_blocks(page)
    assert snippets
    for snippet in snippets:
        exec(compile(snippet, str(page), "exec"), namespace)


@pytest.mark.parametrize("block", all_blocks("toml"), ids=lambda block: block.id)
def test_toml(block: object) -> None:
    Experiment.from_toml(block.text)  # type: ignore[attr-defined]


def commands(page: Path) -> list[str]:
    """Lines that begin with our program, set in blocks or inside a sentence."""
    every = [*lines_of(page), *inline_code(page)]
    program = re.compile(r"(\.venv/bin/)?dumbbell(?=\s)")
    return [program.sub("dumbbell", line) for line in every if program.match(line)]


@pytest.mark.parametrize(
    ("page", "line"),
    [(page, line) for page in PAGES for line in dict.fromkeys(commands(page))],
    ids=lambda value: page_id(value) if isinstance(value, Path) else value,
)
def test_command_lines(page: Path, line: str) -> None:
    """Each is read by the command line's own parser, so that no option is an invention."""
    _, *words = shlex.split(line)
    if words in (["--help"], ["--version"]):
        return
    name, *arguments = words
    command = COMMANDS.get_command(click.Context(COMMANDS), name)  # type: ignore[attr-defined]
    assert command is not None, f"there is no command {name}"
    if "--help" in arguments:
        return
    context = command.make_context(name, [_filled_in(word) for word in arguments])
    study = context.params.get("study")
    if study is not None and not _is_added_by(page, study):
        assert study in {"all", *STUDIES, *MORE}


def _filled_in(word: str) -> str:
    """What a person would put for a word in capitals."""
    return {"STUDY": "all", "STUDY|all": "all", "N": "2", "P": "0.01", "S": "1"}.get(word, word)


def _is_added_by(page: Path, study: str) -> bool:
    return any(f'+    "{study}":' in block.text for block in blocks(page))


@pytest.mark.parametrize(
    "arguments",
    [["--help"], ["--version"], ["studies"], ["schema"], ["run", "experiment.toml"]],
    ids=" ".join,
)
def test_cheap_commands_are_run(
    arguments: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from typer.testing import CliRunner

    monkeypatch.chdir(tmp_path)
    first = next(block for block in all_blocks("toml") if block.page.name == "experiment-file.md")
    (tmp_path / "experiment.toml").write_text(first.text)
    done = CliRunner().invoke(app, arguments)
    assert (done.exit_code, done.exception) == (0, None)
    assert done.output.strip()


README = ROOT / "README.md"
OF_THE_EXPERIMENT = [
    line
    for line in dict.fromkeys(commands(README))
    if "experiment.toml" in line
    and "kernel" not in line
    and not line.startswith("dumbbell shell")
    # It ends by hand alone: tests/cli/test_cli_watch.py.
    and "--watch" not in line
]
WITHOUT_A_FILE = [
    line
    for line in dict.fromkeys(commands(README))
    if line.split()[1] in {"studies", "schema", "flent", "ccperf", "home"}
]


@pytest.mark.parametrize("line", [*OF_THE_EXPERIMENT, *WITHOUT_A_FILE])
def test_a_command_of_the_readme_runs_as_it_stands(
    line: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In a folder that has nothing but the experiment of the page."""
    from typer.testing import CliRunner

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(webbrowser, "open", lambda address: True)
    (block,) = (block for block in blocks(README) if block.language == "toml")
    (tmp_path / "experiment.toml").write_text(block.text)
    # As a shell expands it.
    told = subprocess.run(
        ["bash", "-c", f"printf '%s\\n' {line}"], capture_output=True, text=True, check=True
    )
    _, *arguments = told.stdout.splitlines()
    done = CliRunner().invoke(app, arguments)
    assert (done.exit_code, done.exception) == (0, None), done.output
    assert done.output.strip()


def test_the_readme_has_every_folder_of_the_repository() -> None:
    """Each that is kept in Git, but for what only machines read."""
    kept = subprocess.run(
        ["git", "ls-tree", "-d", "--name-only", "HEAD"],
        cwd=ROOT, capture_output=True, text=True, check=False,
    )  # fmt: skip
    if kept.returncode != 0:
        pytest.skip("no clone of the repository")
    table = README.read_text(encoding="utf-8").split("| folder | what it holds |")[1]
    folders = [name for name in kept.stdout.split() if not name.startswith(".")]
    assert [name for name in folders if f"`{name}/" not in table] == []


@pytest.mark.parametrize("page", PAGES, ids=page_id)
def test_make(page: Path) -> None:
    """Targets and variables are those of the Makefile, modules those of the package."""
    for line in [*lines_of(page), *inline_code(page)]:
        if line.startswith("make "):
            for word in shlex.split(line)[1:]:
                variable, equals, _ = word.partition("=")
                known = rf"\b{variable}\b" if equals else rf"^{re.escape(word)}:"
                assert re.search(known, MAKEFILE, re.MULTILINE), line
        if module := re.match(r"(?:\.venv/bin/)?python3? -m (dumbbell[\w.]*)", line):
            importlib.import_module(module[1])


@pytest.mark.parametrize("page", PAGES, ids=page_id)
def test_named_things_exist(page: Path) -> None:
    """`dumbbell.spec.Experiment` in a sentence can be imported."""
    for code in inline_code(page):
        if re.fullmatch(r"dumbbell(\.\w+)+", code):
            pkgutil.resolve_name(code)


def test_examples_are_experiments() -> None:
    for path in sorted((ROOT / "examples").rglob("*.toml")):
        if "experiment" in tomllib.loads(path.read_text(encoding="utf-8")):
            read_course(path)
        else:
            Experiment.from_toml(path)


def test_the_pages_name_every_command_and_no_other() -> None:
    """`test_command_lines` refuses a command that is not there; here none is left out."""
    words = [line.split()[1] for page in PAGES for line in commands(page)]
    assert {word for word in words if not word.startswith("-")} == set(ALL_COMMANDS)


def test_the_readme_shows_every_command() -> None:
    words = [line.split()[1] for line in commands(README)]
    assert {word for word in words if not word.startswith("-")} == set(ALL_COMMANDS)
