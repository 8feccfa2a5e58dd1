"""The module of the laboratory, built; the page with it, written and opened."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Literal

import pytest
from lab_module import built_module
from lab_page import Opened, Opener
from live_page import STUDIES, Live, LiveOpener, hero_of, write_page
from playwright.sync_api import Browser

from browsing import opened as opened_page
from dumbbell.lab import write_laboratory, write_live


@pytest.fixture(scope="session")
def module() -> Path:
    return built_module()


@pytest.fixture(scope="session")
def laboratory(module: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    assert module.is_file()
    place = tmp_path_factory.mktemp("laboratory") / "laboratory.html"
    write_laboratory(place)
    return place


@pytest.fixture
def opener(browser: Browser, laboratory: Path) -> Iterator[Opener]:
    """Opens the page, or another of its kind; it waits for the first run, or as it is told."""
    pages = []

    def opened(
        hash_: str = "",
        width: int = 1440,
        scheme: Literal["light", "dark"] = "light",
        place: Path | None = None,
        wait: str = "window.laboratory && laboratory.done > 0",
    ) -> Opened:
        page = browser.new_page(viewport={"width": width, "height": 900}, color_scheme=scheme)
        pages.append(page)
        seen = Opened.of(page)
        page.goto((place or laboratory).as_uri() + hash_)
        seen.until(wait)
        return seen

    yield opened
    for page in pages:
        page.close()


@pytest.fixture(scope="session")
def live_results(module: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A page with its live figure for each study."""
    assert module.is_file()
    folder = tmp_path_factory.mktemp("results")
    write_live(folder)
    for study in STUDIES:
        write_page(study, folder)
    return folder


@pytest.fixture
def live_opener(browser: Browser, live_results: Path) -> Iterator[LiveOpener]:
    """Opens the page of a study and waits for the first runs of its live figure."""
    pages = []

    def begun(study: str, width: int = 1440, scheme: Literal["light", "dark"] = "light") -> Live:
        place = live_results / study / "index.html"
        page, seen = opened_page(browser, place, width, scheme=scheme)
        pages.append(page)
        live = Live(page, seen, hero_of(study), study)
        live.until("window.liveFigure && liveFigure.done > 0")
        return live

    yield begun
    for page in pages:
        page.close()
