"""The laboratory inside another page, from disk and from a server, by the line it offers."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Frame, Page

from dumbbell import Experiment, simulate
from dumbbell.lab import LabExperiment, state_hash, write_laboratory
from waiting import wait_until

pytestmark = pytest.mark.browser
EXPERIMENT = Experiment.from_toml(
    'name = "own"\nduration = "4s"\nsample_interval = "50ms"\n'
    'links = [{ a = "x", b = "y", delay = "9ms", rate = "3mbit" }]\n'
    'flows = [{ name = "up", from = "x", to = "y", source = { kind = "greedy" } }]\n'
)
HASH = state_hash(LabExperiment("file", EXPERIMENT.name, "", EXPERIMENT))


class _Quiet(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: Any) -> None:
        """Nothing: a test's output is the test's."""


@pytest.fixture(scope="module")
def folder(module: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    assert module.is_file()
    place = tmp_path_factory.mktemp("course")
    write_laboratory(place / "laboratory.html")
    return place


@pytest.fixture(scope="module")
def served(folder: Path) -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(_Quiet, directory=str(folder))) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()


@pytest.fixture
def browsed(browser: Browser) -> Iterator[Page]:
    page = browser.new_page(viewport={"width": 1000, "height": 800})
    yield page
    page.close()


def _until(frame: Frame, expression: str) -> Any:
    return wait_until(
        lambda: frame.evaluate(expression),
        expression,
        pause=lambda: frame.page.wait_for_timeout(20),
    )


def _ran(frame: Frame) -> str:
    _until(frame, "window.laboratory && laboratory.done > 0")
    return str(frame.evaluate("document.getElementById('digest').textContent"))


@pytest.mark.slow
@pytest.mark.parametrize("place", ["disk", "server"])
@pytest.mark.parametrize("width", [390, 1000])
def test_the_line_shows_the_experiment(
    place: str, width: int, folder: Path, served: str, browsed: Page
) -> None:
    messages: list[str] = []
    browsed.on("console", lambda each: messages.append(each.text))
    browsed.on("pageerror", lambda each: messages.append(str(each)))
    base = served if place == "server" else folder.as_uri() + "/"
    browsed.goto(f"{base}laboratory.html{HASH}")
    digest = _ran(browsed.main_frame)
    assert browsed.is_visible("h1")
    assert not browsed.is_visible("#whole")
    # A folder of this computer is on no other.
    is_from_disk = place == "disk"
    link = browsed.input_value("#link")
    assert link.startswith("laboratory.html#" if is_from_disk else f"{served}laboratory.html#")
    assert browsed.is_visible("#from-disk") == is_from_disk
    line = browsed.input_value("#frame")
    assert "file:" not in line
    assert re.fullmatch(r'<iframe src="[^"<>]*" title="[^"]*"( \w+="[\w%]+")+></iframe>', line)
    course = folder / f"{place}-{width}.html"
    course.write_text(
        f'<!doctype html><html lang="en"><link rel="icon" href="data:,"><title>course</title>{line}'
    )
    browsed.set_viewport_size({"width": width, "height": 800})
    browsed.goto(f"{base}{course.name}")
    (frame,) = browsed.main_frame.child_frames
    assert _ran(frame) == digest
    assert simulate(EXPERIMENT).meta["digest"] == digest
    assert not frame.is_visible("h1")
    assert not frame.is_visible("#toml")
    beyond = "(e => e.scroll{0} - e.client{0})(document.documentElement)"
    assert frame.evaluate(beyond.format("Width")) <= 0
    if width > 760:
        # On a phone it is one column, which scrolls.
        assert frame.evaluate(beyond.format("Height")) <= 0
    frame.evaluate(
        "(slider => { slider.value = '300'; slider.dispatchEvent(new Event('input'"
        ", { bubbles: true })); })(document.getElementById('control-rate'))"
    )
    _until(frame, "laboratory.done > 1")
    changed = frame.evaluate("document.getElementById('digest').textContent")
    assert changed != digest
    whole = str(frame.get_attribute("#whole a", "href"))
    assert whole.startswith(f"{base}laboratory.html#")
    browsed.goto(whole)
    assert _ran(browsed.main_frame) == changed
    assert messages == []
