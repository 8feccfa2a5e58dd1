"""``dumbbell packetdrill``: run packetdrill scripts against the simulator's TCP and the
kernel's.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dumbbell.cli.common.options import Json
from dumbbell.cli.packetdrill.report import MALFORMED, Verdict, counts_of, print_script, sum_of
from dumbbell.cli.terminal.output import say
from dumbbell.errors import EXIT_BAD_INPUT, EXIT_CONTRADICTED_OR_FAILED, SpecError

if TYPE_CHECKING:
    from dumbbell.backends.kernel.packetdrill import Conditions

LARGEST_BYTES = 1 << 20
"""Largest script, as in the language's parser."""

SIM, KERNEL = "sim", "kernel"
_BACKENDS = {"sim": (SIM,), "kernel": (KERNEL,), "both": (SIM, KERNEL)}
_SUFFIX = ".pkt"
_USUAL_KERNEL = "6.1"


def packetdrill_command(
    files: Annotated[
        list[Path] | None,
        typer.Argument(help="Scripts, or folders of them (*.pkt).", metavar="FILE.pkt..."),
    ] = None,
    *,
    backend: Annotated[
        str, typer.Option(help="TCP to test: sim, kernel, or both to compare them.")
    ] = "sim",
    profile: Annotated[
        str, typer.Option(help="Profile of the simulator's TCP: linux-6.1 or rfc.")
    ] = "linux-6.1",
    kernel: Annotated[
        str, typer.Option(help="Kernel to use: 6.1, 6.12, or your own name.", metavar="NAME")
    ] = _USUAL_KERNEL,
    gso_max_segs: Annotated[
        int | None,
        typer.Option(
            min=1,
            max=65535,
            help="Most segments per packet on both; default: 65535 on the kernel's device, 1 in "
            "the simulator.",
        ),
    ] = None,
    offloads: Annotated[
        bool,
        typer.Option(
            "--offloads/--no-offloads",
            help="Whether the kernel's device accepts packets of several segments.",
        ),
    ] = True,
    jobs: Annotated[int, typer.Option(help="Parallel kernels; 0 for one per core.")] = 1,
    build: Annotated[
        Path | None,
        typer.Option(
            envvar="PACKETDRILL_SOURCE",
            help="Build packetdrill, which the kernel needs, from a checkout of its source.",
            metavar="SOURCE",
        ),
    ] = None,
    fuzz: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="Instead of files: number of random scripts of the simulator's behaviour; with "
            "--backend both or kernel, the kernel judges them.",
            metavar="N",
        ),
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Of --fuzz.")] = 1,
    congestion_control: Annotated[
        str | None,
        typer.Option(
            help="With --fuzz: congestion control of all scripts; default: reno, cubic or bbr at "
            "random.",
            metavar="NAME",
        ),
    ] = None,
    keep: Annotated[
        Path | None,
        typer.Option(help="With --fuzz: folder for scripts with differences.", metavar="DIR"),
    ] = None,
    shrink: Annotated[
        int,
        typer.Option(min=0, help="With --fuzz: number of scripts of each kind to shorten."),
    ] = 1,
    as_json: Json = False,
) -> None:
    """Run packetdrill's scripts against the TCP of the simulator, of the kernel, or both."""
    from dumbbell.spec.tcp_settings import PROFILES

    _check_word("--profile", profile, list(PROFILES))
    _check_word("--backend", backend, list(_BACKENDS))
    backends = _BACKENDS[backend]
    if build is not None and (KERNEL in backends or not (files or fuzz)):
        _build(build, as_json=as_json, is_all=not (files or fuzz))
    if fuzz is not None:
        if files:
            raise SpecError("--fuzz", fuzz, "without files")
        if kernel != _USUAL_KERNEL:
            allowed = f"{_USUAL_KERNEL} with --fuzz, whose scripts are of what its TCP does"
            raise SpecError("--kernel", kernel, allowed)
        _fuzz(
            fuzz,
            seed,
            backends,
            keep,
            controller=congestion_control,
            gso_max_segs=gso_max_segs or 1,
            jobs=jobs,
            shrink=shrink,
            as_json=as_json,
        )
        return
    if not files:
        if build is None:
            raise SpecError("FILE", "nothing", f"scripts, or folders with *{_SUFFIX} in them")
        return
    texts = {path: _text(path) for path in _paths(files)}
    verdicts: dict[Path, dict[str, Verdict]] = {path: {} for path in texts}
    if SIM in backends:
        for path, verdict in _by_simulator(texts, profile, gso_max_segs or 1).items():
            verdicts[path][SIM] = verdict
            if backends == (SIM,) and not as_json:
                print_script(str(path), verdicts[path])
    conditions = None
    if KERNEL in backends:
        from dumbbell.backends.kernel.packetdrill import Conditions, judge_scripts

        conditions = Conditions(gso_max_segs=gso_max_segs, offloads=offloads, kernel=kernel)
        for path, verdict in judge_scripts(list(texts), conditions, threads=jobs).items():
            verdicts[path][KERNEL] = verdict
            if not as_json:
                print_script(str(path), verdicts[path])
    _end(verdicts, backends, conditions, as_json=as_json)


def _check_word(option: str, word: str, words: list[str]) -> None:
    from dumbbell.spec.refusal import nearest, one_of

    if word not in words:
        raise SpecError(option, word, one_of(words), nearest(word, words))


def _fuzz(
    count: int,
    seed: int,
    backends: tuple[str, ...],
    keep: Path | None,
    *,
    controller: str | None,
    gso_max_segs: int,
    jobs: int,
    shrink: int,
    as_json: bool,
) -> None:
    from dumbbell._engine import fuzzed_controllers
    from dumbbell.cli.packetdrill.fuzz import fuzz_by_kernel, fuzz_by_simulator

    if controller is not None:
        _check_word("--congestion-control", controller, fuzzed_controllers())

    if KERNEL in backends:
        fuzz_by_kernel(
            count,
            seed,
            keep,
            controller=controller,
            gso_max_segs=gso_max_segs,
            jobs=jobs,
            shrink=shrink,
            as_json=as_json,
        )
    else:
        fuzz_by_simulator(
            count, seed, controller=controller, gso_max_segs=gso_max_segs, as_json=as_json
        )


def _build(source: Path, *, as_json: bool, is_all: bool) -> None:
    """Build packetdrill and report it; as JSON if nothing else follows (``is_all``)."""
    from dumbbell.backends.kernel.packetdrill import build_packetdrill
    from dumbbell.printable import printable

    info = build_packetdrill(source)
    if not as_json:
        say(f"packetdrill: {printable(str(info.path))}, of source {info.source_sha256[:16]}")
    elif is_all:
        say(json.dumps({"packetdrill": str(info.path), "source_sha256": info.source_sha256}))


def _by_simulator(
    texts: Mapping[Path, str], profile: str, gso_max_segs: int
) -> dict[Path, Verdict]:
    from dumbbell._engine import check_packet_script

    return {
        path: json.loads(check_packet_script(text, profile, gso_max_segs))
        for path, text in texts.items()
    }


def _end(
    verdicts: Mapping[Path, Mapping[str, Verdict]],
    backends: tuple[str, ...],
    conditions: Conditions | None,
    *,
    as_json: bool,
) -> None:
    """Print the totals and return the exit status."""
    by_backend = {name: [each[name] for each in verdicts.values()] for name in backends}
    if as_json:
        say(json.dumps(_json(verdicts, by_backend, conditions), indent=2))
    elif len(backends) == 1 and conditions is None:
        say(sum_of(by_backend[backends[0]]))
    else:
        for name, all_of_it in by_backend.items():
            about = f" ({conditions})" if name == KERNEL else ""
            say(f"{name}{about}: {sum_of(all_of_it)}")
    told = [verdict["verdict"] for each in by_backend.values() for verdict in each]
    if MALFORMED in told:
        raise typer.Exit(EXIT_BAD_INPUT)
    if "failed" in told:
        raise typer.Exit(EXIT_CONTRADICTED_OR_FAILED)


def _json(
    verdicts: Mapping[Path, Mapping[str, Verdict]],
    by_backend: Mapping[str, list[Verdict]],
    conditions: Conditions | None,
) -> dict[str, Any]:
    def sums(all_of_it: list[Verdict]) -> dict[str, int]:
        malformed = sum(verdict["verdict"] == MALFORMED for verdict in all_of_it)
        return {**counts_of(all_of_it), MALFORMED: malformed}

    if conditions is None:
        scripts = [{"file": str(path), **each[SIM]} for path, each in verdicts.items()]
        return {"scripts": scripts, **sums(by_backend[SIM])}
    return {
        "scripts": [{"file": str(path), **each} for path, each in verdicts.items()],
        "conditions": {
            "kernel": conditions.kernel,
            "timer_hz": conditions.timer_hz,
            "offloads": conditions.offloads,
            "gso_max_segs": conditions.gso_max_segs,
        },
        "sums": {name: sums(all_of_it) for name, all_of_it in by_backend.items()},
    }


def _paths(files: list[Path]) -> Iterator[Path]:
    for file in files:
        if not file.is_dir():
            yield file
            continue
        found = sorted(file.rglob(f"*{_SUFFIX}"))
        if not found:
            raise SpecError("FILE", file, f"a script, or a folder with *{_SUFFIX} in it")
        yield from found


def _text(path: Path) -> str:
    from dumbbell.inputs import open_input

    try:
        with open_input(path) as file:
            content = file.read(LARGEST_BYTES + 1)
    except OSError as error:
        reason = error.strerror or str(error)
        raise SpecError("FILE", path, "a script that can be read", reason=reason) from None
    if len(content) > LARGEST_BYTES:
        raise SpecError("FILE", path, f"a script of at most {LARGEST_BYTES} bytes")
    return content.decode(errors="replace")
