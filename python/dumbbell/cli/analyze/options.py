"""Which options of ``dumbbell analyze`` apply to which kind of file."""

from __future__ import annotations

import enum
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType

from dumbbell.errors import SpecError
from dumbbell.printable import printable


class AnalyzedKind(enum.Enum):
    """Kind of a file; the value is its name in sentences."""

    FLENT = "a data file of Flent"
    CAPTURE = "a capture"
    LOG = "the output of a program"


class OptionUse(enum.Enum):
    """When an option applies to a kind of file; the value appears in the table of the page."""

    ALWAYS = "yes"
    ONE_FILE = "one file"
    SIMULATED = "with `--simulate`"
    BESIDE = "with `--beside`"
    NEVER = "no"


def _same(when: OptionUse) -> Mapping[AnalyzedKind, OptionUse]:
    return dict.fromkeys(AnalyzedKind, when)


_OF_RUNS = {
    AnalyzedKind.FLENT: OptionUse.SIMULATED,
    AnalyzedKind.CAPTURE: OptionUse.BESIDE,
    AnalyzedKind.LOG: OptionUse.BESIDE,
}
_OF_NETWORK = {
    AnalyzedKind.FLENT: OptionUse.SIMULATED,
    AnalyzedKind.CAPTURE: OptionUse.NEVER,
    AnalyzedKind.LOG: OptionUse.NEVER,
}
_OF_CAPTURE = {
    AnalyzedKind.FLENT: OptionUse.NEVER,
    AnalyzedKind.CAPTURE: OptionUse.ONE_FILE,
    AnalyzedKind.LOG: OptionUse.NEVER,
}
OPTIONS: Mapping[str, Mapping[AnalyzedKind, OptionUse]] = MappingProxyType(
    {
        "--json": _same(OptionUse.ALWAYS),
        "--out": _same(OptionUse.ALWAYS),
        "--to": _same(OptionUse.ALWAYS),
        "--replace": _same(OptionUse.ALWAYS),
        "--simulate": {**_OF_RUNS, AnalyzedKind.FLENT: OptionUse.ONE_FILE},
        "--beside": {**_same(OptionUse.ALWAYS), AnalyzedKind.FLENT: OptionUse.NEVER},
        "--of": {**_same(OptionUse.BESIDE), AnalyzedKind.FLENT: OptionUse.NEVER},
        "--set": _OF_RUNS,
        "--instead": _OF_RUNS,
        "--replications": _OF_RUNS,
        "--seed": _OF_RUNS,
        "--timer-hz": _OF_RUNS,
        "--jobs": _OF_RUNS,
        "--yes": _OF_RUNS,
        "--rate": _OF_NETWORK,
        "--rate-down": _OF_NETWORK,
        "--qdisc": _OF_NETWORK,
        "--qdisc-down": _OF_NETWORK,
        "--rtt": _OF_NETWORK,
        "--overhead": _OF_NETWORK,
        "--view": _OF_CAPTURE,
        "--write": _OF_CAPTURE,
    }
)
"""All options. ``--simulate`` for a capture or a log is refused later, after the measured numbers
were printed, with the reason that the experiment is missing.
"""


def check_options(kind: AnalyzedKind, given: Mapping[str, object], files: Sequence[Path]) -> None:
    """Refuse options that do not apply to the files, or that need another option.

    Args:
        kind: Kind of all files.
        given: All options by name with their values; None, False or empty if not given.
        files: The files to analyze.

    Raises:
        SpecError: An option does not apply.
    """
    typed = {name: value for name, value in given.items() if value not in (None, False, [], ())}
    found = printable(files[0].name) if len(files) == 1 else f"{len(files)} files"
    for name, value in typed.items():
        when = OPTIONS[name][kind]
        if when is OptionUse.NEVER:
            others = [
                each.value for each in AnalyzedKind if OPTIONS[name][each] is not OptionUse.NEVER
            ]
            allowed = f"{' or '.join(others)}, not {found}"
        elif when is OptionUse.ONE_FILE and len(files) > 1:
            allowed = f"{kind.value}, one at a time, not {found}"
        elif when is OptionUse.SIMULATED and "--simulate" not in typed:
            allowed = "with --simulate, which runs the test of the file beside it"
        elif when is OptionUse.BESIDE and name != "--simulate" and "--beside" not in typed:
            allowed = "--beside FILE.toml too, the experiment that is run"
        else:
            continue
        raise SpecError(name, _shown(value), allowed)


def _shown(value: object) -> object:
    if isinstance(value, list):
        return value[0]
    return "given" if value is True else value


def options_table() -> str:
    """The table of the page, as Markdown."""
    heads = ("option", *(kind.value for kind in AnalyzedKind))
    lines = [heads, ("---",) * len(heads)]
    lines += [
        (f"`{name}`", *(of_kind[kind].value for kind in AnalyzedKind))
        for name, of_kind in OPTIONS.items()
    ]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines) + "\n"
