"""``dumbbell shell``: a console in each host of an experiment, in virtual time."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dumbbell.cli.common.options import Kernel, Replace
from dumbbell.errors import EXIT_CONTRADICTED_OR_FAILED, SpecError
from dumbbell.printable import utf8

if TYPE_CHECKING:
    from dumbbell.backends.kernel.session import Limits
    from dumbbell.backends.kernel.session_orders import Order
    from dumbbell.folders import ResultFolder
    from dumbbell.spec import Experiment

TRANSCRIPT = "transcript.txt"
HOSTS = "hosts"
_MOST_SCRIPT_BYTES = 64 * 2**20
"""Largest script; a transcript is also a script."""


def shell_command(
    file: Annotated[Path, typer.Argument(help="Description of an experiment, TOML.")],
    *,
    host: Annotated[
        str | None, typer.Option(help="The first host or terminal (sender-1:2).")
    ] = None,
    script: Annotated[
        Path | None,
        typer.Option(
            help="Run a session from a script or a transcript (- is standard input).",
            metavar="FILE",
        ),
    ] = None,
    transcript: Annotated[
        Path | None,
        typer.Option(help="Also write a transcript there (- is standard output).", metavar="FILE"),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option(
            help="Folder for the transcript and the hosts' homes (results/NAME-shell).",
            metavar="DIR",
        ),
    ] = None,
    replace: Replace = False,
    set_: Annotated[
        list[str] | None,
        typer.Option(
            "--set", help="Another value in the description, as in run.", metavar="PATH=VALUE"
        ),
    ] = None,
    kernel: Kernel = None,
    pace: Annotated[
        float | None,
        typer.Option(
            min=0.01, help="Largest speed of virtual time; 1 is real time, as on a testbed."
        ),
    ] = None,
    longest_wait: Annotated[str, typer.Option(help="Longest wait, in virtual time.")] = "3600s",
    patience: Annotated[
        float, typer.Option(min=1, help="Longest wall time without progress, s.")
    ] = 120.0,
    memory: Annotated[
        str, typer.Option(help="Memory of the guest, homes included, such as 2gb.", metavar="SIZE")
    ] = "1gb",
) -> None:
    """Type commands at the hosts of an experiment: real shells on the kernel in virtual time."""
    from dumbbell.backends.kernel.session import Limits
    from dumbbell.cli.common.memory import memory_bytes
    from dumbbell.cli.common.options import kernel_settings, names_of
    from dumbbell.spec import Experiment, Setting

    if len(names_of(kernel)) > 1:
        raise SpecError("--kernel", kernel, "one kernel")
    settings = [Setting.parse(text) for text in [*kernel_settings(kernel), *(set_ or ())]]
    experiment = Experiment.from_toml(file, settings)
    limits = Limits(
        patience_s=patience,
        longest_wait_ns=_time_ns("--longest-wait", longest_wait),
        memory_mb=max(256, (memory_bytes(memory) or 0) // 2**20),
    )
    place = _result_folder(output, experiment, file, replace=replace)
    place.check()
    is_typed = script is None and sys.stdin.isatty()
    orders = None if is_typed else _script(experiment, script or Path("-"), host)
    _run(experiment, limits, place, orders, host=host, pace=pace, transcript=transcript)


def _run(
    experiment: Experiment,
    limits: Limits,
    place: ResultFolder,
    orders: list[Order] | None,
    *,
    host: str | None,
    pace: float | None,
    transcript: Path | None,
) -> None:
    from dumbbell.backends.kernel.session import Session
    from dumbbell.cli.shell.console import Console, play
    from dumbbell.cli.shell.transcript import Transcript
    from dumbbell.cli.terminal.output import say, tell

    resolved = experiment.resolved()
    hosts = tuple(each["name"] for each in resolved["hosts"])
    if unrun := [key for key in ("flows", "probes", "programs") if resolved.get(key)]:
        tell(f"{' and '.join(unrun)} of the file are left out: what is sent is what you type")
    if timeless := [
        f"links[{index}]"
        for index, link in enumerate(resolved["links"])
        if not any(
            end["rate_bps"] or end["delay_ns"] or end["qdisc"]["kind"] in ("netem", "tbf", "htb")
            for end in (link["forward"], link["reverse"])
        )
    ]:
        tell(
            f"{', '.join(timeless)}: neither rate nor delay: TCP over such links alone takes no "
            "time and does not end"
        )
    session = Session(experiment.resolved_json(), limits)
    said = Transcript(hosts, _heading(experiment, session.versions))
    error = None
    with place.replaced() as folder, session:
        try:
            if orders is not None:
                play(session, said, orders, pace=pace, is_silent=transcript == Path("-"))
            else:
                Console(session, said, hosts, first=host, pace=pace).run()
        except (Exception, KeyboardInterrupt) as ended:
            # Files written until then are kept.
            error = ended
            said.lines.append(f"# {_how_it_ended(ended)}")
        session.keep(folder / HOSTS)
        (folder / TRANSCRIPT).write_bytes(utf8(said.text()))
        _write_meta(folder, experiment, session.versions)
    if transcript == Path("-"):
        say(said.text().removesuffix("\n"))
    elif transcript is not None:
        _write(transcript, said.text())
    if error is not None:
        raise error
    tell(f"{place.folder}: the transcript, and what the hosts left in their homes")
    if said.has_trouble:
        raise typer.Exit(EXIT_CONTRADICTED_OR_FAILED)


def _script(experiment: Experiment, script: Path, host: str | None) -> list[Order]:
    """Read the script from a file before anything is started."""
    from dumbbell.backends.kernel.session_orders import TerminalPlace
    from dumbbell.cli.shell.lines import Reader
    from dumbbell.inputs import open_input

    hosts = tuple(each["name"] for each in experiment.resolved()["hosts"])
    reader = Reader(hosts, None if host is None else TerminalPlace.required("--host", host, hosts))
    name = "standard input" if script == Path("-") else str(script)
    try:
        if script == Path("-"):
            content = sys.stdin.buffer.read(_MOST_SCRIPT_BYTES + 1)
        else:
            with open_input(script) as stream:
                content = stream.read(_MOST_SCRIPT_BYTES + 1)
    except OSError as error:
        reason = error.strerror or str(error)
        raise SpecError("--script", name, "a file that can be read", reason=reason) from None
    if len(content) > _MOST_SCRIPT_BYTES:
        raise SpecError("--script", name, f"at most {_MOST_SCRIPT_BYTES // 2**20} MB")
    text = content.decode("utf-8", "replace")
    return list(reader.script(text.split("\n"), name))


def _time_ns(option: str, text: str) -> int:
    from dumbbell import units

    try:
        return units.parse_time_ns(text)
    except units.UnitError as error:
        raise SpecError(option, text, "a time such as 10s or 3600s", error.hint) from None


def _heading(experiment: Experiment, versions: Any) -> list[str]:
    import hashlib

    digest = hashlib.sha256(experiment.resolved_json().encode()).hexdigest()
    return [
        f"dumbbell {versions['engine']}: shells on Linux {versions['kernel']}, "
        f"{versions['kernel_hz']} ticks a second",
        f"{experiment.name}, seed {experiment.seed}, description {digest[:16]}",
    ]


def _how_it_ended(error: BaseException) -> str:
    from dumbbell.printable import printable

    said = "stopped" if isinstance(error, KeyboardInterrupt) else printable(str(error))
    return said.splitlines()[0] if said else type(error).__name__


def _result_folder(
    output: Path | None, experiment: Experiment, file: Path, *, replace: bool
) -> ResultFolder:
    import hashlib

    from dumbbell.cli.terminal.output import tell
    from dumbbell.folders import ResultFolder, ResultKind, Subject

    kind = ResultKind("session", ".dumbbell-shell", frozenset({TRANSCRIPT, "meta.json"}))
    digest = hashlib.sha256(experiment.resolved_json().encode()).hexdigest()
    subject = Subject(experiment.name, file, digest, {"seed": str(experiment.seed)})
    folder = output or Path("results") / f"{experiment.name}-shell"
    return ResultFolder(folder, kind, subject, replace=replace, tell=tell)


def _write_meta(folder: Path, experiment: Experiment, versions: Any) -> None:
    from dumbbell.cli.terminal.json_text import json_text

    meta = {"experiment": experiment.resolved(), **versions}
    (folder / "meta.json").write_text(json_text(meta) + "\n", encoding="utf-8")


def _write(path: Path, text: str) -> None:
    from dumbbell.folders import replaced_file

    with replaced_file(path) as part:
        part.write_bytes(utf8(text))
