"""What goes over the socket between a report and the process that draws its figures."""

from __future__ import annotations

import json
import struct
from collections.abc import Iterator, Mapping
from typing import Any, TypedDict

READY, BEGUN, END, SCRIPT = "ready", "begun", "end", "script"
"""Parts that are no picture: the child can draw, it has read a request, it is done with it; and
Vega's JavaScript for the page."""
SVG, PNG, PDF = ".svg", ".png", ".pdf"
_LENGTHS = struct.Struct(">IQ")
"""Bytes of a frame's head, which is JSON, and of its content."""


class Request(TypedDict, total=False):
    """What to make; the head of a frame that goes to the child.

    Attributes:
        spec: A Vega-Lite specification to draw; without one the script is made.
        suffixes: Of the files wanted: `SVG`, `PNG`, `PDF`.
        vega_lite: Version that the specification is written for, as ``6.1``.
    """

    spec: Mapping[str, Any]
    suffixes: list[str]
    vega_lite: str


class Part(TypedDict, total=False):
    """What a frame of an answer has for content.

    Attributes:
        part: A suffix, or `READY`, `BEGUN`, `END` or `SCRIPT`.
        error: Why it could not be made, in which case there is no content.
    """

    part: str
    error: str


def frame(head: Request | Part, content: bytes = b"") -> bytes:
    """A message as it is sent.

    Raises:
        TypeError: The head is no JSON.
    """
    text = json.dumps(head).encode("ascii")
    return _LENGTHS.pack(len(text), len(content)) + text + content


class Frames:
    """Puts messages together from what comes over a socket piece by piece."""

    def __init__(self) -> None:
        """Nothing has come yet."""
        self._pending = bytearray()

    def fed(self, data: bytes) -> Iterator[tuple[dict[str, Any], bytes]]:
        """Heads and contents of the messages that are whole with this piece."""
        self._pending += data
        while len(self._pending) >= _LENGTHS.size:
            head, content = _LENGTHS.unpack_from(self._pending)
            begin = _LENGTHS.size + head
            if len(self._pending) < begin + content:
                return
            whole = bytes(self._pending[: begin + content])
            del self._pending[: begin + content]
            yield json.loads(whole[_LENGTHS.size : begin]), whole[begin:]
