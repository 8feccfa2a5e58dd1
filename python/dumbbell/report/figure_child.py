"""The drawing process, started by :mod:`dumbbell.report.figure_process` only.

vl-convert runs a JavaScript engine and Rust code that abort their process on failure. An abort of
this process loses only the figure being drawn. The process reads requests from a socket and sends
each part of the answer as soon as it is made.
"""

from __future__ import annotations

import ctypes
import os
import re
import signal
import socket
import sys
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any, cast

import vl_convert

from dumbbell.report.figure_frames import (
    BEGUN,
    END,
    PDF,
    PNG,
    READY,
    SCRIPT,
    SVG,
    Frames,
    Part,
    Request,
    frame,
)

PNG_SCALE = 2.0
"""Pixels per CSS pixel of a PNG: sharp on a projector and in a paper's two columns."""
LARGEST_PX = 16_000
"""Maximum width and height, in CSS pixels. A PNG takes 16 bytes of memory per CSS pixel."""
_SIZE = re.compile(r'<svg [^>]*?width="([0-9.e+]+|Infinity)" height="([0-9.e+]+|Infinity)"')
_NOT_XML = re.compile(r"[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""All characters but ``Char`` of XML 1.0, section 2.2. Vega turns ``\\x1b`` in a title's text into
a control character."""
_PR_SET_PDEATHSIG = 1
_MOST_KILLABLE = "1000"
"""Out-of-memory score: the kernel ends this process before its parent."""
_LONGEST_REASON = 300
_CHUNK_BYTES = 1 << 20
_SMALLEST_CHART: dict[str, Any] = {
    "data": {"values": [{"x": 1}]},
    "mark": "point",
    "encoding": {"x": {"field": "x", "type": "quantitative"}},
}


def main(parent: int, handle: int) -> None:
    """Answer requests until the peer closes the socket.

    Args:
        parent: Parent process; this process ends with it.
        handle: Handle of the socket.
    """
    if sys.platform != "win32":
        import resource

        _die_with(parent)
        # A core dump of a JavaScript engine takes gigabytes.
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    with socket.socket(fileno=handle) as there:
        # Load the modules of the first chart before the first request arrives.
        vl_convert.vegalite_to_svg(_SMALLEST_CHART, allowed_base_urls=[])
        there.sendall(frame(Part(part=READY)))
        for request in _requests(there):
            there.sendall(frame(Part(part=BEGUN)))
            for part, make in _parts(request):
                try:
                    there.sendall(frame(Part(part=part), make()))
                except (ValueError, RuntimeError) as error:
                    there.sendall(frame(Part(part=part, error=_first_lines(error))))
                    break  # the other formats are made from the same drawing
            there.sendall(frame(Part(part=END)))


def _die_with(parent: int) -> None:
    """Have the kernel end this process with its parent, even while drawing (Linux)."""
    if sys.platform != "linux":
        return
    prctl = ctypes.CDLL(None).prctl
    prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        sys.exit(1)  # the parent has already exited
    Path("/proc/self/oom_score_adj").write_text(_MOST_KILLABLE, encoding="ascii")


def _requests(there: socket.socket) -> Iterator[Request]:
    frames = Frames()
    while data := there.recv(_CHUNK_BYTES):
        for request, _ in frames.fed(data):
            yield cast("Request", request)


def _parts(request: Request) -> Iterator[tuple[str, Callable[[], bytes]]]:
    version = vega_lite_version(request["vega_lite"])
    if "spec" not in request and "svg" not in request:
        yield SCRIPT, lambda: _script(version)
        return

    @cache  # once for all formats: compiling the chart takes most of the time
    def drawn() -> str:
        if "svg" in request:
            return request["svg"]
        refuse_addresses(request["spec"])
        # allowed_base_urls: as above, for addresses that are constructed while drawing.
        svg = vl_convert.vegalite_to_svg(
            dict(request["spec"]), vl_version=version, allowed_base_urls=[]
        )
        _check_size(svg)
        return renumbered(_NOT_XML.sub("\ufffd", svg))

    makers: dict[str, Callable[[], bytes]] = {
        SVG: lambda: drawn().encode("utf-8"),
        PNG: lambda: vl_convert.svg_to_png(drawn(), scale=PNG_SCALE),
        PDF: lambda: vl_convert.svg_to_pdf(drawn()),
    }
    for suffix in request["suffixes"]:
        yield suffix, makers[suffix]


def _script(version: str) -> bytes:
    """Vega, Vega-Lite and vega-embed in one script."""
    # The type stub of vl-convert 1.9 asks for a snippet; None (its default) exports vegaEmbed.
    bundle = vl_convert.javascript_bundle(None, version)  # type: ignore[arg-type]
    if "</script" in bundle.lower() or "<!--" in bundle:
        raise RuntimeError("the JavaScript bundle cannot be put into a script element as it is")
    return bundle.encode("utf-8")


def vega_lite_version(wanted: str) -> str:
    """The version of Vega-Lite to draw with, as vl-convert names it.

    Args:
        wanted: Major and minor number, as ``6.1``; another minor one will do.

    Raises:
        RuntimeError: vl-convert has no version of this major number.
    """
    known = vl_convert.get_vegalite_versions()
    wanted_major = wanted.partition(".")[0]
    same_major = [version for version in known if version.partition(".")[0] == wanted_major]
    if not same_major:
        raise RuntimeError(f"vl-convert knows Vega-Lite {', '.join(known)}, not {wanted}")
    return wanted if wanted in known else same_major[-1]


def refuse_addresses(spec: Any) -> None:
    """Refuse a chart that refers to external data or images: local files would be read.

    Raises:
        ValueError: The chart refers to an address.
    """
    if isinstance(spec, list):
        for each in spec:
            refuse_addresses(each)
    if isinstance(spec, Mapping):
        if "url" in spec:
            raise ValueError("it names data elsewhere, which is never fetched")
        for key, each in spec.items():
            if key not in ("datasets", "values"):  # rows; their columns may have any name
                refuse_addresses(each)


def _check_size(svg: str) -> None:
    """Refuse a size that cannot be rasterized: a legend without entries gives an infinite size.

    Raises:
        ValueError: It is too large.
    """
    found = _SIZE.match(svg)
    width, height = (float(found[1]), float(found[2])) if found else (0.0, 0.0)
    if max(width, height) > LARGEST_PX:
        drawn = f"{width:.4g} by {height:.4g} pixels"
        raise ValueError(f"it would have {drawn}; at most {LARGEST_PX} each way are drawn")


def renumbered(svg: str) -> str:
    """The same SVG with its clip paths and gradients numbered from 1.

    Vega numbers them over the life of the process: without renumbering, a figure's bytes would
    depend on the number of figures drawn before it.
    """
    numbers: dict[str, int] = {}

    def renumber(found: re.Match[str]) -> str:
        number = numbers.setdefault(found[2] + found[3], len(numbers) + 1)
        return f"{found[1]}{found[2]}{number}"

    return re.sub(r"""(id="|url\(#)([a-z]+_?)(\d+)(?=[")])""", renumber, svg)


def _first_lines(error: Exception) -> str:
    """Return the message without the locations in minified scripts that vl-convert appends."""
    lines = str(error).partition("\n\n")[0].splitlines()
    said = (line.strip() for line in lines if not line.startswith("    at "))
    return " ".join(said)[:_LONGEST_REASON]
