"""The site: built strictly, links hold, nothing is fetched, search finds, handouts fit a page."""

from __future__ import annotations

import base64
import json
import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from functools import partial
from html.parser import HTMLParser
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import pytest
from playwright.sync_api import Browser

from browsing import opened, sheets
from dumbbell.lab import STORY
from dumbbell.studies import STUDIES
from waiting import PATIENCE_S

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
WEBSITE = ROOT / "website"
STUDY = "queue-size-delay"
URL = "https://example.org/course/dumbbell/"
# The widest pages, and those that have something of their own.
LOOKED_AT = (
    "index.html",
    "studies.html",
    "course/queue-size.html",
    "course/answers/policing.html",
    "api/metrics.html",
    "experiment-file.html",
)


def _build(results: Path, output: Path, *options: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(WEBSITE / "build.py"), "--results", str(results)]
    command += ["--output", str(output), *options]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)


@pytest.fixture(scope="session")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder as `make reproduce` leaves it, with one study, and a note of somebody's in it."""
    place = tmp_path_factory.mktemp("results")
    study = place / STUDY
    (study / "figures").mkdir(parents=True)
    (study / "figures" / "peak.png").write_bytes(b"a picture")
    (study / "claims.json").write_text("{}")
    (study / "my-notes.txt").write_text("mine")
    icon = '<link rel="icon" href="data:,">'
    (study / "index.html").write_text(
        f'<!doctype html><html lang="en"><head><title>t</title>{icon}'
        '<meta property="og:image" content="figures/peak.png"></head><body>'
        '<a href="../index.html">All studies</a> <a href="../../docs/queue-size-delay.md">'
        "Documentation of this study</a></body></html>"
    )
    (place / "index.html").write_text(
        f'<!doctype html><html lang="en"><head><title>t</title>{icon}</head><body>'
        f'<a href="{STUDY}/index.html">study</a></body></html>'
    )
    (place / "laboratory.html").write_text(
        f'<!doctype html><html lang="en"><title>laboratory</title>{icon}</html>'
    )
    (place / STORY).write_text(f'<!doctype html><html lang="en"><title>story</title>{icon}</html>')
    return place


@pytest.fixture(scope="session")
def site(results: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("site")
    done = _build(results, place, "--url", URL)
    assert done.returncode == 0, done.stdout + done.stderr
    return place


class _Addresses(HTMLParser):
    """What a page leads to, what it fetches, and where one can be led to in it."""

    def __init__(self, page: Path) -> None:
        super().__init__()
        self.links: list[str] = []
        self.fetched: list[str] = []
        self.anchors: set[str] = set()
        self.feed(page.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Of an element."""
        found = {name: value or "" for name, value in attrs}
        self.anchors |= {found[name] for name in ("id", "name") if name in found}
        if "href" in found and tag == "a":
            self.links.append(found["href"])
        elif "href" in found and found.get("rel") not in {"canonical", "prev", "next"}:
            self.fetched.append(found["href"])
        if "src" in found:
            self.fetched.append(found["src"])


def test_every_link_of_every_page_leads_somewhere(site: Path) -> None:
    pages = {page: _Addresses(page) for page in site.rglob("*.html") if page.name != "404.html"}
    assert len(pages) > 60
    bad = []
    for page, addresses in pages.items():
        for target in [*addresses.links, *addresses.fetched]:
            parts = urlsplit(target)
            if parts.scheme or target.startswith(("#s=", "data:")):
                continue
            there = (page.parent / unquote(parts.path)).resolve() if parts.path else page
            # What stands behind the laboratory's # is an experiment.
            anchor = "" if there.name == "laboratory.html" else unquote(parts.fragment)
            is_known = there.is_file() and (
                not anchor or anchor == "__top" or anchor in pages[there].anchors
            )
            if not is_known:
                bad.append(f"{page.relative_to(site)}: {target}")
    assert bad == []


def test_nothing_is_fetched_from_elsewhere(site: Path) -> None:
    fetched = {
        each
        for page in site.rglob("*.html")
        for each in _Addresses(page).fetched
        if urlsplit(each).netloc
    }
    assert fetched == set()


def test_what_the_site_takes_from_results(site: Path) -> None:
    there = site / "results" / STUDY
    page = (there / "index.html").read_text()
    assert f'content="{URL}results/{STUDY}/figures/peak.png"' in page
    assert f'href="../../{STUDY}.html">Documentation of this study</a>' in page
    assert (there / "figures" / "peak.png").is_file()
    assert (there / "claims.json").is_file()
    assert not (there / "my-notes.txt").exists()
    assert (site / "results" / STORY).is_file()
    overview = (site / "studies.html").read_text()
    assert overview.count("not built") >= len(STUDIES) - 1


def test_the_first_page_begins_with_the_story(site: Path) -> None:
    text = (site / "index.html").read_text()
    assert f'href="results/{STORY}"' in text
    assert text.index('<svg class="still"') < text.index("To use it:")


def test_a_link_to_an_experiment_of_the_course_opens_the_laboratory(site: Path) -> None:
    links = _Addresses(site / "course" / "queue-size.html").links
    (there,) = [each for each in links if "laboratory.html#s=" in each]
    assert there.startswith("../results/laboratory.html#s=")
    assert any(each.endswith("examples/course/full-buffer.toml") for each in links)
    carried = there.split("#s=")[1]
    state = json.loads(base64.urlsafe_b64decode(carried + "=" * (-len(carried) % 4)))
    assert state["own"]["task"]["title"] == "Lab 2: how long does a full buffer make you wait?"


@pytest.mark.parametrize("url", ["example.org", "ftp://example.org/", "https://example.org/?a=b"])
def test_an_address_that_is_none_is_refused(url: str, tmp_path: Path) -> None:
    done = _build(tmp_path, tmp_path / "site", "--url", url)
    assert done.returncode == 2
    assert "is allowed" in done.stderr
    assert not (tmp_path / "site").exists()


class _Quiet(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: Any) -> None:
        """Nothing: a test's output is the test's."""


@pytest.fixture(scope="module")
def served(site: Path) -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(_Quiet, directory=str(site))) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()


@pytest.mark.browser
@pytest.mark.parametrize(("width", "scheme"), [(390, "light"), (820, "dark"), (1440, "light")])
def test_pages_are_quiet_offline_and_fit(
    served: str, browser: Browser, width: int, scheme: Any
) -> None:
    page = browser.new_page(viewport={"width": width, "height": 900}, color_scheme=scheme)
    said: list[str] = []
    page.on("console", lambda message: said.append(message.text))
    page.on("pageerror", lambda error: said.append(str(error)))
    page.on("request", lambda request: said.append(request.url) if _is_far(request.url) else None)
    for name in LOOKED_AT:
        page.goto(served + name)
        page.wait_for_load_state("networkidle")
        assert page.evaluate("document.documentElement.scrollWidth") <= width, name
    page.close()
    assert said == []


def _is_far(url: str) -> bool:
    return not re.match(r"http://127\.0\.0\.1:|file:|blob:|data:|about:", url)


@pytest.mark.browser
@pytest.mark.parametrize("place", ["server", "disk"])
def test_the_search_finds(place: str, site: Path, served: str, browser: Browser) -> None:
    page = browser.new_page(viewport={"width": 1440, "height": 900})
    said: list[str] = []
    page.on("pageerror", lambda error: said.append(str(error)))
    page.on("request", lambda request: said.append(request.url) if _is_far(request.url) else None)
    page.goto((served if place == "server" else f"{site.as_uri()}/") + "course/index.html")
    page.locator("input.md-search__input").press_sequentially("tupdate")
    page.locator('.md-search-result__link[href*="pie-rrul.html"]').first.wait_for(
        timeout=1000 * PATIENCE_S
    )
    page.close()
    assert said == []


LABS = sorted(page.stem for page in (ROOT / "docs" / "course" / "sheets").glob("*.md"))


def test_there_are_five_labs() -> None:
    assert len(LABS) == 5


@pytest.mark.browser
@pytest.mark.parametrize("lab", LABS)
def test_a_handout_has_one_page_without_command_lines(
    browser: Browser, site: Path, lab: str
) -> None:
    page, _ = opened(browser, site / "course" / f"{lab}.html", 1440)
    assert page.locator("pre:visible").count() > 0
    assert sheets(page) == 1
    page.emulate_media(media="print")
    for heading in ("#a-guess-first", "#in-the-laboratory", "#questions", "#hand-in"):
        assert page.locator(heading).is_visible(), heading
    assert page.locator("pre:visible, .md-header:visible").count() == 0
    page.close()


@pytest.mark.browser
@pytest.mark.parametrize("lab", LABS)
def test_an_answer_sheet_has_two_pages(browser: Browser, site: Path, lab: str) -> None:
    page, _ = opened(browser, site / "course" / "sheets" / f"{lab}.html", 1440)
    assert sheets(page) == 2
    page.close()


@pytest.mark.browser
def test_other_pages_are_printed_as_they_are(browser: Browser, site: Path) -> None:
    page, _ = opened(browser, site / "course" / "teachers.html", 1440)
    assert page.locator(".handout, .answer-sheet").count() == 0
    page.close()
