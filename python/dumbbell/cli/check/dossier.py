"""``dumbbell check FOLDER`` of a dossier: its files, its runs, and what is made of them."""

from __future__ import annotations

import tempfile
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.text import Text

from dumbbell.backends import get_backend
from dumbbell.backends.kernel.cache import KernelMissingError
from dumbbell.cli.check.checking import (
    CheckOptions,
    RepeatedCheck,
    print_sentences,
    run_again,
)
from dumbbell.cli.common.memory import memory_bytes
from dumbbell.cli.terminal.json_text import json_text
from dumbbell.cli.terminal.output import say
from dumbbell.compare.checking import Checked
from dumbbell.errors import EXIT_CONTRADICTED_OR_FAILED, EXIT_DONE, SpecError
from dumbbell.judge.kept_dossier import SECTIONS_FOLDER, read_dossier
from dumbbell.judge.repeated import MadeAgain, made_again
from dumbbell.replication import Interrupted


def check_dossier(asked: CheckOptions, console: Console) -> int:
    """Check the files of a dossier's folder, repeat its runs, and make its files again.

    All that differs is named, and does not end the check.

    Returns:
        The exit status: 0 the same in everything that could be repeated here, 1 not.

    Raises:
        SpecError: The list of files is damaged, an option is not for a dossier, or a section whose
            files are those of the list may not be repeated.
    """
    for name in asked.backends:
        get_backend(name)
    for option, said in (("--out", asked.out), ("--dry-run", asked.dry_run)):
        if said:
            section = asked.target / SECTIONS_FOLDER
            raise SpecError(option, "", f"of one section alone: a folder in {section}")
    may_use_bytes = memory_bytes(asked.memory)
    kept = read_dossier(asked.target)
    if kept.changed and not asked.as_json:
        console.print(Text("files: not as they were written", style="bold red"))
        print_sentences(list(kept.changed.values()), console)
    statuses = [EXIT_CONTRADICTED_OR_FAILED if kept.changed else EXIT_DONE]
    sections: dict[str, Any] = {}
    checked: dict[str, Checked] = {}
    for folder in kept.sections:
        again = _section_again(
            replace(asked, target=folder),
            may_use_bytes,
            console,
            is_changed=kept.is_changed(folder),
        )
        if again.status == Interrupted.exit_code:
            return again.status
        statuses.append(again.status)
        sections[folder.name] = again.document
        if again.checked is not None:
            checked[folder.name] = again.checked
    with tempfile.TemporaryDirectory(prefix="dumbbell-check-") as temporary:
        made = made_again(kept, checked, Path(temporary))
    statuses.append(EXIT_DONE if made.is_same else EXIT_CONTRADICTED_OR_FAILED)
    if asked.as_json:
        changed = list(kept.changed.values())
        found = {
            "digest": kept.digest,
            "digest_is_of_files": not any(map(kept.is_changed, kept.sections)),
            "changed": changed,
            "made_again": asdict(made),
        }
        say(json_text({**found, "sections": sections}))
    else:
        _print(made, console)
        # As printed by badge and summary.
        when = " before they were changed" if any(map(kept.is_changed, kept.sections)) else ""
        console.print(Text(f"SHA-256 of the sections{when}: {kept.digest}"), soft_wrap=True)
    return max(statuses)


def _section_again(
    asked: CheckOptions, may_use_bytes: int | None, console: Console, *, is_changed: bool
) -> RepeatedCheck:
    """Repeat a section; one that cannot be repeated is named, and the others are checked."""
    try:
        # The section's file beside the page is named after it.
        return run_again(asked, may_use_bytes, console, label=asked.target.name)
    except KernelMissingError as error:
        # The sections of the simulator can be repeated without it.
        why, status = str(error), EXIT_DONE
    except SpecError as error:
        if not is_changed:
            raise
        why, status = str(error), EXIT_CONTRADICTED_OR_FAILED
    if not asked.as_json:
        console.print(Text(f"{asked.target.name}: not repeated: {why}", style="bold"))
    return RepeatedCheck({"not_run": why}, status)


def _print(made: MadeAgain, console: Console) -> None:
    if made.descriptions:
        line = "descriptions: not those that dumbbell writes for this controller"
        console.print(Text(line, style="bold red"))
        print_sentences(made.descriptions, console)
    if made.files:
        line = "files made again from these runs: other bytes than in the folder"
        console.print(Text(line, style="bold red"))
        print_sentences(made.files, console)
    if made.not_compared:
        line = f"files made again from these runs: not compared: {made.not_compared}"
        console.print(Text(line), soft_wrap=True)
    elif made.is_same:
        line = "files made again from these runs, such as verdicts.csv and badge.svg: the same"
        console.print(Text(line))
