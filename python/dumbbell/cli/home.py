"""``dumbbell home --down 50mbit --up 10mbit --rtt 20ms``: an experiment for a home's access
line.
"""

from __future__ import annotations

from typing import Annotated, Any

import typer

from dumbbell.errors import SpecError
from dumbbell.spec.home import Home, home_text
from dumbbell.spec.keys import HOME

_OPTIONS = {"uses": "--use"}
"""Options whose names differ from those of their keys."""


def _option(key: str, metavar: str) -> Any:
    """Return an option of a key, with the key's meaning and words."""
    described = HOME[key]
    words = f" One of {', '.join(described.bounds)}." if key == "technology" else ""
    help_text = f"{_plain(described.meaning)}{words}"
    return typer.Option(_option_name(key), metavar=metavar, help=help_text)


def _plain(markdown: str) -> str:
    """Return the text of a paragraph of Markdown without its marks."""
    from rich.markdown import Markdown

    pieces = (piece for block in Markdown(markdown).parsed for piece in block.children or ())
    return "".join(piece.content for piece in pieces)


def _option_name(key: str) -> str:
    return _OPTIONS.get(key, f"--{key.replace('_', '-')}")


def _default(key: str) -> str:
    written = Home.model_fields[key].default
    return ",".join(written) if isinstance(written, list | tuple) else str(written)


def home_command(
    *,
    down: Annotated[str, _option("down", "RATE")],
    up: Annotated[str, _option("up", "RATE")],
    rtt: Annotated[str, _option("rtt", "TIME")] = _default("rtt"),
    technology: Annotated[str, _option("technology", "NAME")] = _default("technology"),
    provider: Annotated[str, _option("provider", "NAME")] = _default("provider"),
    down_buffer: Annotated[str, _option("down_buffer", "SIZE")] = _default("down_buffer"),
    up_buffer: Annotated[str, _option("up_buffer", "SIZE")] = _default("up_buffer"),
    uses: Annotated[str, _option("uses", "LIST")] = _default("uses"),
    cake: Annotated[float | None, _option("cake", "SHARE")] = None,
) -> None:
    """Print an experiment for the access line of a home.

    It has a table [home], which stands for server, provider, modem, router and laptop, both queues
    of the line, and the home's traffic: dumbbell home --down 50mbit --up 10mbit > home.toml, then
    dumbbell run home.toml.
    """
    from dumbbell.cli.terminal.consoles import standard_output

    table = {
        "down": down,
        "up": up,
        "rtt": rtt,
        "technology": technology,
        "provider": provider,
        "down_buffer": down_buffer,
        "up_buffer": up_buffer,
        "uses": [word.strip() for word in uses.split(",")],
        **({} if cake is None else {"cake": cake}),
    }
    try:
        home = Home.read(table)
    except SpecError as error:
        key = error.path.split("[")[0]
        option = _option_name(key)
        raise SpecError(option, error.value, error.allowed, error.hint, error.reason) from None
    standard_output().print(home_text(home), end="", markup=False, highlight=False, soft_wrap=True)
