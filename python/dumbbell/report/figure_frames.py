"""Messages on the socket between a report and the process that draws its figures."""

from __future__ import annotations

import json
import struct
from collections.abc import Iterator, Mapping
from typing import Any, TypedDict

READY, BEGUN, END, SCRIPT = "ready", "begun", "end", "script"
"""Parts that are not pictures: the child is ready, has read a request, has finished it; and Vega's
JavaScript for the page."""
SVG, PNG, PDF = ".svg", ".png", ".pdf"
_LENGTHS = struct.Struct(">IQ")
"""Lengths in bytes of a frame's head, which is JSON, and of its content."""


class Request(TypedDict, total=False):
    """A request; the head of a frame sent to the child. Without chart or drawing, it is for the
    script.

    Attributes:
        spec: A Vega-Lite specification to draw.
        svg: A drawing to convert, instead of a specification.
        suffixes: Suffixes of the requested files: `SVG`, `PNG`, `PDF`.
        vega_lite: Vega-Lite version of the specification, as ``6.1``.
    """

    spec: Mapping[str, Any]
    svg: str
    suffixes: list[str]
    vega_lite: str


class Part(TypedDict, total=False):
    """Describes the content of an answer's frame.

    Attributes:
        part: A suffix, or `READY`, `BEGUN`, `END` or `SCRIPT`.
        error: Reason for a failure; the frame then has no content.
    """

    part: str
    error: str


def frame(head: Request | Part, content: bytes = b"") -> bytes:
    """Return a message as it is sent.

    Raises:
        TypeError: The head cannot be encoded as JSON.
    """
    text = json.dumps(head).encode("ascii")
    return _LENGTHS.pack(len(text), len(content)) + text + content


class Frames:
    """Reassembles messages from the bytes received on a socket."""

    def __init__(self) -> None:
        """Start with an empty buffer."""
        self._pending = bytearray()

    def fed(self, data: bytes) -> Iterator[tuple[dict[str, Any], bytes]]:
        """Return heads and contents of the messages completed by these bytes."""
        self._pending += data
        while len(self._pending) >= _LENGTHS.size:
            head, content = _LENGTHS.unpack_from(self._pending)
            begin = _LENGTHS.size + head
            if len(self._pending) < begin + content:
                return
            whole = bytes(self._pending[: begin + content])
            del self._pending[: begin + content]
            yield json.loads(whole[_LENGTHS.size : begin]), whole[begin:]
