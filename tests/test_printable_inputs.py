"""Strangers' text that can be shown, and pipes that can be waited for."""

from __future__ import annotations

import os
import threading
import unicodedata
from pathlib import Path

import pytest

from dumbbell.inputs import open_input
from dumbbell.printable import listed, printable


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        (
            "eth0, 10 % \u00e4 \u00a0 \u4e2d \U0001f600",
            "eth0, 10 % \u00e4 \u00a0 \u4e2d \U0001f600",
        ),
        ("\x1b[31m\x07\0", "<U+001B>[31m<U+0007><U+0000>"),
        ("\ud800 \uffff \U0001fffe", "<U+D800> <U+FFFF> <U+1FFFE>"),
        # A name that ends in gpj.exe and looks as if it ended otherwise.
        ("cod\u202egpj.exe", "cod<U+202E>gpj.exe"),
        ("a\u2066b\u2069\u200b", "a<U+2066>b<U+2069><U+200B>"),
        ("a\nb\tc\u2028", "a<U+000A>b<U+0009>c<U+2028>"),
    ],
)
def test_what_nobody_sees_is_shown(text: str, shown: str) -> None:
    assert printable(text) == shown
    assert printable(shown) == shown


def test_lines_may_stay_lines() -> None:
    assert printable("a\n\tb\r\n", lines=True) == "a\n\tb<U+000D>\n"


def test_nothing_is_left_that_changes_the_direction_of_writing() -> None:
    every = "".join(map(chr, range(0x110000)))
    left = printable(every)
    controls = {"LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI"}
    assert not [each for each in left if unicodedata.bidirectional(each) in controls]
    assert not {"\u200e", "\u200f", "\u061c"} & set(left)


@pytest.mark.parametrize("before", [True, False])
def test_a_pipe_is_read_to_its_end(tmp_path: Path, before: bool) -> None:
    """Whoever comes first waits for the other."""
    path = tmp_path / "pipe"
    os.mkfifo(path)
    content = bytes(range(256)) * 1000
    writer = threading.Thread(target=path.write_bytes, args=(content,))
    if before:
        writer.start()
    with open_input(path) as file:
        if not before:
            writer.start()
        assert file.read() == content
    writer.join()


@pytest.mark.parametrize(
    ("names", "said"), [(["a"], "a"), (["a", "b"], "a and b"), (["a", "b", "c"], "a, b and c")]
)
def test_names_are_listed_as_one_says_them(names: list[str], said: str) -> None:
    assert listed(names) == said
