"""``dumbbell advise TWIN|FILE... --for USE``: settings for the router of a line."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dumbbell.cli.common.options import Jobs, Json
from dumbbell.cli.twin.options import (
    Down,
    DuringBoth,
    DuringDown,
    DuringUp,
    Idle,
    LineOptions,
    LoadedDown,
    LoadedUp,
    Rtt,
    Senders,
    TcDown,
    TcUp,
    Up,
)

if TYPE_CHECKING:
    from dumbbell.spec.home import Technology
    from dumbbell.stats import Estimate
    from dumbbell.twin.advice.advising import Advice, Trial
    from dumbbell.twin.advice.known_line import KnownLine
    from dumbbell.twin.prediction import Predicted


def advise_command(
    files: Annotated[
        list[Path] | None,
        typer.Argument(
            help="The folder of dumbbell twin or its twin.json; or the files of dumbbell twin.",
            metavar="TWIN|FILE...",
            show_default=False,
        ),
    ] = None,
    *,
    for_: Annotated[
        str,
        typer.Option(
            "--for",
            help="call-and-backup, game-and-downloads, browsing-and-upload, or a file of your own.",
            metavar="USE",
        ),
    ] = "call-and-backup",
    technology: Annotated[
        str | None,
        typer.Option(
            help="Kind of line, as of dumbbell home: its overhead is simulated, and tried in cake.",
            metavar="NAME",
        ),
    ] = None,
    after: Annotated[
        list[Path] | None,
        typer.Option(
            help="Measured after the advice was followed: held against what it promised.",
            metavar="FILE",
        ),
    ] = None,
    idle: Idle = None,
    during_up: DuringUp = None,
    during_down: DuringDown = None,
    during_both: DuringBoth = None,
    tc_up: TcUp = None,
    tc_down: TcDown = None,
    up: Up = None,
    down: Down = None,
    rtt: Rtt = None,
    loaded_up: LoadedUp = None,
    loaded_down: LoadedDown = None,
    congestion_control: Senders = None,
    seed: Annotated[int, typer.Option(help="Of all simulations.", min=0)] = 1,
    jobs: Jobs = 0,
    as_json: Json = False,
) -> None:
    """Recommend a setting for a router, tried on the twin of its line.

    No change, cake and fq_codel at shares of the rates run on lines drawn from the twin's
    uncertainty. Exit status: 0 advice, or none with the reason; 2 the files do not contain enough.
    """
    from dumbbell.cli.terminal.json_text import json_text
    from dumbbell.cli.terminal.output import say, tell
    from dumbbell.twin.advice.advising import advise, why_no_advice
    from dumbbell.twin.advice.uses import use_of

    asked = LineOptions(
        files=files or (),
        idle=idle or (),
        during_up=during_up or (),
        during_down=during_down or (),
        during_both=during_both or (),
        tc_up=tc_up or (),
        tc_down=tc_down or (),
        up=up,
        down=down,
        rtt=rtt,
        loaded_up=loaded_up,
        loaded_down=loaded_down,
        senders=congestion_control,
    )
    use = use_of(for_)
    kind = None if technology is None else _technology(technology)
    known = _known(asked, seed=seed, jobs=jobs)
    if kind is not None:
        known = known.of_technology(kind)
    why = why_no_advice(known, use)
    if why:
        if as_json:
            say(json_text({"advice": None, "why": why, "use": use.word}))
        else:
            _print_none(why)
        return
    advice = advise(known, use, seed=seed, jobs=jobs, tell=tell)
    promised = _promised(advice, known, after or (), asked, seed=seed, jobs=jobs)
    if as_json:
        say(json_text(_document(advice, known, promised)))
    else:
        _print(advice, known, promised)


def _known(asked: LineOptions, *, seed: int, jobs: int) -> KnownLine:
    from dumbbell.cli.terminal.output import tell
    from dumbbell.twin.advice.known_line import is_twin, known_line_of, read_known_line
    from dumbbell.twin.estimating import estimate

    if len(asked.files) == 1 and is_twin(asked.files[0]):
        return read_known_line(asked.files[0])
    measured = asked.measurements()
    if measured is None:
        return known_line_of(asked.twin_of_numbers(seed))
    return known_line_of(estimate(measured, seed=seed, jobs=jobs, tell=tell))


def _technology(word: str) -> Technology:
    from dumbbell.errors import SpecError
    from dumbbell.spec.home import Technology
    from dumbbell.spec.refusal import nearest, one_of

    words = [each.word for each in Technology]
    if word not in words:
        raise SpecError("--technology", word, one_of(words), nearest(word, words))
    return Technology.of(word)


def _promised(
    advice: Advice,
    known: KnownLine,
    after: list[Path] | tuple[()],
    asked: LineOptions,
    *,
    seed: int,
    jobs: int,
) -> list[Predicted]:
    """Return the effect of the advised setting under the load of later measurements."""
    if not after:
        return []
    from dumbbell.errors import SpecError
    from dumbbell.twin.fitting import Loaded
    from dumbbell.twin.prediction import predict
    from dumbbell.twin.reading import read_measurements

    scenes = [each for each in read_measurements(after, {}).scenes if each.flows]
    if not scenes:
        raise SpecError("--after", after[0].name, "a file with a load of TCP flows")
    line = advice.best.candidate.on(known.line)
    return predict(line, [Loaded(each) for each in scenes], seed=seed + 500, jobs=jobs)


def _print_none(why: str) -> None:
    from rich.text import Text

    from dumbbell.cli.terminal.consoles import print_sentence, standard_output

    print_sentence(Text(f"No advice: {why}.", style="bold yellow"), standard_output())


def _print(advice: Advice, known: KnownLine, promised: list[Predicted]) -> None:
    from rich.text import Text

    from dumbbell.cli.terminal.consoles import print_sentence, print_to_copy, standard_output
    from dumbbell.cli.terminal.tables import print_table
    from dumbbell.cli.twin.table import predicted_table
    from dumbbell.twin.advice.words import answer, caution, runner_up, trials_table

    console = standard_output()
    print_sentence(Text(answer(advice), style="bold"), console)
    best = advice.best.candidate
    print_to_copy(best.tc_lines, console)
    if best.sqm_stanza:
        console.print(Text("/etc/config/sqm of OpenWrt:"))
        print_to_copy(best.sqm_stanza.splitlines(), console)
    print_table(trials_table(advice), console, keys=1)
    print_sentence(Text(runner_up(advice)), console)
    print_sentence(Text(caution(advice, known), style="dim"), console)
    if promised:
        print_table(predicted_table(promised, "promised"), console, keys=3)
        kept = all(each.is_inside for each in promised)
        said = "The promise was kept." if kept else "The promise was not kept."
        print_sentence(Text(said, style="bold"), console)


def _document(advice: Advice, known: KnownLine, promised: list[Predicted]) -> dict[str, Any]:
    best = advice.best.candidate
    return {
        "use": advice.use.word,
        "advice": {
            "name": best.name,
            "tc": best.tc_lines,
            "sqm": best.sqm_stanza or None,
            **_numbers(advice.best),
        },
        "runner_up": {
            "name": advice.runner_up.candidate.name,
            "slower_ms": _interval(advice.slower_ms),
            "goodput_difference_mbps": _interval(advice.less_mbps),
        },
        "trials": [{"name": trial.candidate.name, **_numbers(trial)} for trial in advice.trials],
        "twin": {
            "trust": known.trust.value,
            "sources": list(known.sources),
            "technology": known.line.technology and known.line.technology.word,
        },
        "after": [
            {
                "load": each.load,
                "name": each.name,
                "unit": each.unit,
                "measured": each.measured,
                "low": each.low,
                "high": each.high,
                "is_inside": each.is_inside,
            }
            for each in promised
        ],
    }


def _numbers(trial: Trial) -> dict[str, Any]:
    return {
        "rtt_p95_ms": _interval(trial.round_trip),
        "lost_percent": 100 * max(trial.lost),
        "goodput_mbps": {way.value: _interval(trial.goodput(way)) for way in trial.goodput_mbps},
    }


def _interval(estimate: Estimate) -> dict[str, float]:
    return {"value": estimate.value, "low": estimate.low, "high": estimate.high}
