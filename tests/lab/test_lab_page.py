"""The laboratory in Chromium: quiet, offline, driven by a person, equal to ``dumbbell run``."""

from __future__ import annotations

import base64
import json
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page

import dumbbell
from browsing import outside
from dumbbell.compare import summary_of
from dumbbell.lab import presets, write_laboratory

pytestmark = pytest.mark.browser
PATIENCE_S = 60
WIDTHS = (390, 820, 1440)


@pytest.fixture(scope="module")
def laboratory(module: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    assert module.is_file()
    place = tmp_path_factory.mktemp("laboratory") / "laboratory.html"
    write_laboratory(place)
    return place


@dataclass
class Opened:
    """A page with what it said and asked for."""

    page: Page
    messages: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)

    def until(self, expression: str) -> Any:
        """The value of an expression when it is true; the page's own rules forbid a shorter way."""
        end = time.monotonic() + PATIENCE_S
        while not (value := self.page.evaluate(expression)):
            assert time.monotonic() < end, (expression, self.messages)
            self.page.wait_for_timeout(20)
        return value

    def after(self, act: str) -> None:
        """Does something and waits for the run that follows."""
        done = self.page.evaluate("laboratory.done")
        self.page.evaluate(act)
        self.until(f"laboratory.done > {done}")

    def digest(self) -> str:
        return str(self.page.text_content("#digest"))

    def toml(self) -> str:
        return self.page.input_value("#toml")


@pytest.fixture
def opener(browser: Browser, laboratory: Path) -> Iterator[Any]:
    pages = []

    def opened(
        hash_: str = "", width: int = 1440, scheme: str = "light", place: Path | None = None
    ) -> Opened:
        page = browser.new_page(viewport={"width": width, "height": 900}, color_scheme=scheme)  # type: ignore[arg-type]
        pages.append(page)
        seen = Opened(page)
        page.on("console", lambda message: seen.messages.append(f"{message.type}: {message.text}"))
        page.on("pageerror", lambda error: seen.messages.append(f"error: {error}"))
        page.on("request", lambda request: seen.requests.append(request.url))
        page.on("dialog", lambda dialog: seen.messages.append(f"dialog: {dialog.message}"))
        page.goto((place or laboratory).as_uri() + hash_)
        seen.until("window.laboratory && laboratory.done > 0")
        return seen

    yield opened
    for page in pages:
        page.close()


def _moved(control: str, share: float) -> str:
    """What a person does to a slider, in the page's language."""
    return (
        f"(() => {{ const slider = document.getElementById('control-{control}');"
        f" slider.value = String(Math.round(Number(slider.max) * {share}));"
        " slider.dispatchEvent(new Event('input', { bubbles: true }));"
        " slider.dispatchEvent(new Event('change', { bubbles: true })); })()"
    )


def _typed(control: str, text: str) -> str:
    return (
        f"(() => {{ const field = document.getElementById('control-{control}');"
        f" field.value = {json.dumps(text)};"
        " field.dispatchEvent(new Event('input', { bubbles: true })); })()"
    )


def _check_equal(seen: Opened) -> None:
    """The file that the page gives is run here: the same digest, the same numbers."""
    run = dumbbell.simulate(dumbbell.Experiment.from_toml(seen.toml()))
    assert run.meta["digest"] == seen.digest()
    numbers = summary_of(run)
    rows = seen.page.evaluate(
        "[...document.querySelectorAll('#numbers tr')].map(r => [r.dataset.path, r.dataset.value])"
    )
    assert len(rows) >= 7
    for path, value in rows:
        expected = numbers[path]
        assert float("nan" if value == "null" else value) == pytest.approx(
            expected, rel=1e-12, nan_ok=True
        ), path


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", WIDTHS)
def test_the_page_is_quiet_offline_and_fits(opener: Any, width: int, scheme: str) -> None:
    seen = opener(width=width, scheme=scheme)
    seen.until("document.getElementById('stage').getAttribute('aria-label').includes('packets,')")
    assert seen.messages == []
    assert [url for url in seen.requests if not url.startswith(("file:", "blob:", "data:"))] == []
    assert seen.page.evaluate("document.documentElement.scrollWidth") == width
    assert outside(seen.page, width) == []


def test_sliders_give_what_the_command_line_gives(opener: Any) -> None:
    seen = opener()
    before = seen.digest()
    for act in (
        _moved("rate", 0.4),
        _moved("round-trip", 0.7),
        _moved("buffer", 0.5),
        _typed("count-download", "3"),
        _typed("qdisc", "fq_codel limit 500 target 8ms"),
    ):
        seen.after(act)
        assert seen.digest() != before
        before = seen.digest()
    _check_equal(seen)
    assert "count = 3" in seen.toml()
    assert 'qdisc = "fq_codel limit 500' in seen.toml()
    # What was there before the last change stays in sight.
    assert seen.page.evaluate("laboratory.before !== null")
    seen.until("Number(document.getElementById('replications').textContent) >= 3")
    assert "±" in seen.page.inner_text("#numbers")
    assert seen.messages == []


@pytest.mark.parametrize("name", [each.id for each in presets()])
def test_every_preset_runs(opener: Any, name: str) -> None:
    seen = opener()
    seen.after(
        f"(() => {{ const chosen = document.getElementById('preset'); chosen.value = {name!r};"
        " chosen.dispatchEvent(new Event('change')); })()"
    )
    _check_equal(seen)
    assert seen.messages == []


def test_flows_that_are_not_there_at_first_can_be_added(opener: Any) -> None:
    seen = opener()
    assert "mice" not in seen.toml()
    seen.after(_typed("count-mice", "2"))
    assert 'name = "mice"\ncount = 2' in seen.toml()
    seen.after(_typed("count-download", "0"))
    assert "greedy" not in seen.toml()
    _check_equal(seen)


def test_the_keyboard_moves_a_slider(opener: Any) -> None:
    seen = opener()
    done, before = seen.page.evaluate("laboratory.done"), seen.digest()
    seen.page.focus("#control-buffer")
    seen.page.keyboard.press("ArrowLeft")
    seen.until(f"laboratory.done > {done}")
    assert seen.digest() != before


def test_every_control_has_a_name_and_is_reached_by_tab(opener: Any) -> None:
    seen = opener()
    fields = seen.page.evaluate(
        """[...document.querySelectorAll('input, select, textarea, button')].map(each =>
            [each.id, (each.labels && each.labels.length && each.labels[0].textContent)
                || each.textContent, each.tabIndex, each.disabled])"""
    )
    assert len(fields) > 12
    assert [each for each in fields if not each[1].strip() or each[2] != 0] == []
    seen.page.evaluate("document.activeElement.blur()")
    reached = set()
    for _ in range(60):
        seen.page.keyboard.press("Tab")
        reached.add(seen.page.evaluate("document.activeElement.id"))
    assert {each[0] for each in fields if not each[3]} <= reached


def test_what_tc_refuses_is_said_beside_the_field(opener: Any) -> None:
    seen = opener()
    digest = seen.digest()
    seen.page.evaluate(_typed("qdisc", "fq_codle"))
    said = seen.until("document.getElementById('control-qdisc-problem').textContent")
    assert "fq_codle" in said
    assert "Did you mean fq_codel?" in said
    assert seen.digest() == digest
    seen.after(_typed("qdisc", "fq_codel"))
    assert seen.page.text_content("#control-qdisc-problem") == ""
    assert seen.messages == []


def test_a_link_carries_everything(opener: Any) -> None:
    seen = opener()
    seen.after(_moved("rate", 0.3))
    seen.after(_typed("qdisc", "codel limit 77"))
    link = seen.page.input_value("#link")
    again = opener("#" + link.split("#")[1])
    assert again.digest() == seen.digest()
    assert again.toml() == seen.toml()


def _hash(state: object) -> str:
    text = state if isinstance(state, str) else json.dumps(state)
    return "#s=" + base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")


_DAMAGED = {"v": 1, "preset": "bufferbloat", "own": None}
_OWN = {"v": 1, "preset": None, "changes": []}
_RESOLVED = presets()[0].experiment.resolved()
HOSTILE = {
    "no base64": "#s=%%%",
    "no JSON": _hash("{"),
    "no object": _hash([1]),
    "another version": _hash({"v": 2}),
    "no changes": _hash({"v": 1, "preset": "bufferbloat", "own": None, "changes": 1}),
    "unknown preset": _hash({"v": 1, "preset": "x", "own": None, "changes": []}),
    "script": _hash(_DAMAGED | {"changes": [["<img src=x onerror=alert(1)>", "<script>"]]}),
    "prototype": _hash(_DAMAGED | {"changes": [["__proto__.x", 1]]}),
    "endless": _hash(_DAMAGED | {"changes": [["duration_ns", 17_000_000_000_000_000]]}),
    "many flows": _hash(_DAMAGED | {"changes": [["flows[download].count", 10_000]]}),
    "own script": _hash(_OWN | {"own": {"resolved": {"name": "<script>"}, "queue": 0}}),
    "no such queue": _hash(_OWN | {"own": {"resolved": _RESOLVED, "queue": 99}}),
    "negative queue": _hash(_OWN | {"own": {"resolved": _RESOLVED, "queue": -1}}),
    "long": "#s=" + "A" * 300_000,
}


@pytest.mark.parametrize("hash_", HOSTILE.values(), ids=HOSTILE.keys())
def test_a_hostile_link_gives_a_message(opener: Any, hash_: str) -> None:
    seen = opener()
    seen.page.evaluate(f"location.hash = {json.dumps(hash_)}")
    seen.until(
        "!document.getElementById('message').hidden"
        " || [...document.querySelectorAll('.problem')].some(each => each.textContent)"
    )
    # The page goes on: whatever was wrong, another experiment runs.
    seen.after("laboratory.open('mm1')")
    _check_equal(seen)
    assert seen.messages == []


def test_an_experiment_of_a_file_comes_first(opener: Any, tmp_path: Path) -> None:
    from typer.testing import CliRunner

    from dumbbell.cli.app import app

    file = tmp_path / "own.toml"
    file.write_text(
        'name = "own-experiment"\nduration = "5s"\n'
        'links = [{ a = "x", b = "y", delay = "9ms", rate = "3mbit" }]\n'
        'flows = [{ name = "up", from = "x", to = "y", source = { kind = "greedy" } }]\n',
        encoding="utf-8",
    )
    place = tmp_path / "page.html"
    done = CliRunner().invoke(app, ["lab", str(file), "--no-open", "--output", str(place)])
    assert done.exit_code == 0, done.output
    seen = opener(place=place)
    assert seen.page.evaluate(
        "document.getElementById('preset').selectedOptions[0].textContent"
    ) == ("own-experiment")
    _check_equal(seen)
    link = "#" + seen.page.input_value("#link").split("#")[1]
    # Its link works on any laboratory: it carries the experiment itself.
    assert opener(link).digest() == seen.digest()


def test_nothing_takes_the_main_thread_for_long_while_a_slider_moves(opener: Any) -> None:
    seen = opener()
    seen.page.evaluate(
        "window.tasks = []; new PerformanceObserver(list => window.tasks.push("
        "...list.getEntries().map(each => each.duration))).observe({ entryTypes: ['longtask'] })"
    )
    for step in range(20):
        seen.page.evaluate(_moved("rate", 0.3 + step / 50))
        seen.page.wait_for_timeout(40)
    # A hang, not a speed: machines that run tests are busy.
    assert max(seen.page.evaluate("tasks"), default=0) < 1000
