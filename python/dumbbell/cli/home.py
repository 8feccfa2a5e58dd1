"""``dumbbell home --down 50mbit --up 10mbit --rtt 20ms``: an experiment for a home's access
line.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Annotated, TypeVar

import typer

from dumbbell.errors import SpecError
from dumbbell.spec.home import (
    DEFAULT_BUFFER_BYTES,
    HomeLine,
    Provider,
    Technology,
    Use,
    home_text,
)
from dumbbell.spec.refusal import nearest, one_of
from dumbbell.units import UnitError, format_size, parse_rate_bps, parse_size_bytes, parse_time_ns

_T = TypeVar("_T")
_SIZE = "a size with its unit, such as 64kb"
_RATE = "a rate with its unit, such as 10mbit"

_USES = ",".join(each.value for each in (Use.CALL, Use.DOWNLOAD, Use.BACKUP))
_BUFFER = format_size(DEFAULT_BUFFER_BYTES)


def home_command(
    *,
    down: Annotated[str, typer.Option(metavar="RATE", help="To the home, as the modem shows it.")],
    up: Annotated[str, typer.Option(metavar="RATE", help="From the home.")],
    rtt: Annotated[
        str,
        typer.Option(metavar="TIME", help="Round-trip time to a server while the line is idle."),
    ] = "20ms",
    technology: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            help="Kind of line, which sets the bytes besides each packet: "
            f"{', '.join(each.word for each in Technology)}.",
        ),
    ] = Technology.ETHERNET.word,
    provider: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            help="Treatment of packets above the downstream rate: shaper (they wait) or policer "
            "(they are dropped).",
        ),
    ] = Provider.SHAPER.value,
    down_buffer: Annotated[
        str, typer.Option(metavar="SIZE", help="Buffer at the provider.")
    ] = _BUFFER,
    up_buffer: Annotated[str, typer.Option(metavar="SIZE", help="Buffer in the modem.")] = _BUFFER,
    use: Annotated[
        str,
        typer.Option(
            metavar="LIST", help=f"Simultaneous uses: {', '.join(each.value for each in Use)}."
        ),
    ] = _USES,
    cake: Annotated[
        float | None,
        typer.Option(
            metavar="SHARE",
            help="Share of both rates, such as 0.9, to which cake at the router shapes; without it "
            "the router has fq_codel.",
        ),
    ] = None,
) -> None:
    """Print an experiment for the access line of a home.

    It has a server, the provider, modem, router and laptop, both queues of the line, and the home's
    traffic: dumbbell home --down 50mbit --up 10mbit > home.toml, then dumbbell run home.toml.
    """
    from dumbbell.cli.terminal.consoles import standard_output

    line = HomeLine(
        down_bps=_read("--down", down, parse_rate_bps, _RATE),
        up_bps=_read("--up", up, parse_rate_bps, _RATE),
        rtt_ns=_read("--rtt", rtt, parse_time_ns, "a time with its unit, such as 20ms"),
        technology=_word("--technology", technology, {each.word: each for each in Technology}),
        provider=_word("--provider", provider, {each.value: each for each in Provider}),
        down_buffer_bytes=_read("--down-buffer", down_buffer, parse_size_bytes, _SIZE),
        up_buffer_bytes=_read("--up-buffer", up_buffer, parse_size_bytes, _SIZE),
        uses=[
            _word("--use", word.strip(), {each.value: each for each in Use})
            for word in use.split(",")
        ],
        shaped=cake,
    )
    standard_output().print(home_text(line), end="", markup=False, highlight=False, soft_wrap=True)


def _read(option: str, text: str, parse: Callable[[str], int], allowed: str) -> int:
    try:
        return parse(text)
    except UnitError as error:
        raise SpecError(option, text, allowed, error.hint) from None


def _word(option: str, text: str, known: Mapping[str, _T]) -> _T:
    if text not in known:
        raise SpecError(option, text, one_of(list(known)), nearest(text, known))
    return known[text]
