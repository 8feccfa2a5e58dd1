"""``dumbbell judge --all --suite ccperf``: CCPerf's tables of all controllers."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console
from rich.text import Text

from dumbbell.cli.common.pages import has_page, page_folder, result_place
from dumbbell.cli.judge.league import league_plans
from dumbbell.cli.judge.running import GOES_ON, JudgeOptions, dossiers, has_failed
from dumbbell.cli.terminal.json_text import json_text
from dumbbell.cli.terminal.output import say, tell
from dumbbell.errors import EXIT_CONTRADICTED_OR_FAILED, EXIT_DONE
from dumbbell.judge.request import Depth
from dumbbell.replication import Interrupted


def run_benchmark(named: Sequence[str], asked: JudgeOptions, console: Console) -> int:
    """Run CCPerf's benchmark for all controllers of the simulator, and the named ones.

    Args:
        named: Names, or files in C or Python.
        asked: The options, with the suite ``ccperf``.
        console: Console for the sentences.

    Returns:
        The exit status.

    Raises:
        SpecError: A controller is not known, its file may not be used, or two have one name.
    """
    from dumbbell.judge.ccperf.benchmark_page import answer, benchmark_report, question
    from dumbbell.judge.ccperf.rows import ccperf_frame

    found = []
    with tempfile.TemporaryDirectory(prefix="dumbbell-ccperf-") as folder:
        plans = list(league_plans(named, asked, Path(folder)))
        for number, dossier in enumerate(dossiers(plans, asked), start=1):
            if dossier.interrupted:
                console.print(Text(GOES_ON))
                return Interrupted.exit_code
            tell(f"{number} of {len(plans)}: {dossier.request.name} is done.")
            found.append(dossier)
        if asked.as_json:
            frame = ccperf_frame(found)
            metrics = [] if frame is None else frame.to_dicts()
            say(json_text({"question": question(found), "metrics": metrics}))
        else:
            console.print(Text(question(found), style="bold"))
            console.print(Text(answer(found)))
        if has_page(asked.page, asked.out, as_json=asked.as_json):
            kind = "ccperf-full" if asked.depth is Depth.FULL else "ccperf"
            with result_place(
                asked.out or page_folder("all", kind),
                subject="CCPerf's benchmark",
                source=None,
                replace=asked.replace,
                has_page=True,
                is_asked_for=asked.page is True or asked.out is not None,
            ) as place:
                if place is not None:
                    place.write(benchmark_report(found), {}, console)
    return EXIT_CONTRADICTED_OR_FAILED if any(map(has_failed, found)) else EXIT_DONE
