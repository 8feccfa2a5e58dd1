"""Studies' pages with their live figures as they stand open in Chromium."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from live_numbers import NUMBERS, TOGETHER
from playwright.sync_api import Page

import dumbbell
from browsing import Seen
from dumbbell.lab import LIVE
from dumbbell.report import Curve, Figure, Report, line_with_band, write_report
from dumbbell.report.live import ControlKind, LiveHero
from dumbbell.studies import get_study as study_of
from waiting import wait_until

STUDIES = tuple(NUMBERS)
"""Those whose page has a live figure."""


def hero_of(study: str) -> LiveHero:
    package = f"dumbbell.studies.{study.replace('-', '_')}.live"
    found: LiveHero = import_module(package).hero(1)
    return found


def write_page(study: str, folder: Path) -> None:
    plot = line_with_band([Curve("a", [1.0, 2.0], [1.0, 2.0])], x_title="x", y_title="y")
    report = Report(
        study=study,
        title=study_of(study).title,
        summary="S.",
        answer="A clause with one number, of the longest kind that a study has, such as 86 %.",
        measured="Of 240 runs, from 54 to 185. " * 8,
        so="do this.",
        live=hero_of(study),
        figures=[Figure("drawn", *plot, caption="C.")],
    )
    write_report(report, folder / study, live=f"../{LIVE}")


@dataclass
class Live:
    """A page whose figure answers."""

    page: Page
    seen: Seen
    hero: LiveHero
    study: str

    def until(self, expression: str) -> Any:
        return wait_until(
            lambda: self.page.evaluate(expression),
            (expression, self.seen.messages),
            pause=lambda: self.page.wait_for_timeout(20),
        )

    def move(self, places: dict[str, int]) -> None:
        """As a person does, one control after the other, each to its end."""
        for name, place in places.items():
            control = self.hero.control(name)
            key = "checked" if control.kind is ControlKind.SWITCH else "value"
            done = self.page.evaluate("liveFigure.done")
            if self.page.evaluate(f"document.getElementById('live-{name}').{key}") == (
                bool(place) if key == "checked" else str(place)
            ):
                continue
            self.page.evaluate(
                f"(() => {{ const input = document.getElementById('live-{name}');"
                f" input.{key} = {json.dumps(bool(place) if key == 'checked' else str(place))};"
                " input.dispatchEvent(new Event('input', { bubbles: true })); })()"
            )
            self.until(f"liveFigure.done > {done}")

    def shown(self) -> dict[tuple[str, str], float]:
        """(arm, number) to what stands in the table, with all its digits."""
        cells = self.page.evaluate(
            "[...document.querySelectorAll('.live-numbers td')]"
            ".map(each => [each.dataset.arm, each.dataset.number, each.dataset.value])"
        )
        return {(arm, number): float(value) for arm, number, value in cells}

    def check_equal(self) -> None:
        """The files that the page gives are run here: equal digests, equal numbers."""
        shown = self.shown()
        runs = {}
        for arm in self.hero.arms:
            toml = self.page.input_value(f"#live-toml-{arm.id}")
            digest = self.page.text_content(f"[data-digest={arm.id}]")
            run = dumbbell.simulate(dumbbell.Experiment.from_toml(toml))
            assert run.meta["digest"] == digest, arm.id
            runs[arm.id] = run
            for name, number in NUMBERS[self.study].items():
                expected = number(run, arm)
                assert shown[arm.id, name] == pytest.approx(expected, rel=1e-9, nan_ok=True), name
        for arm in self.hero.arms:
            for name, together in TOGETHER.get(self.study, {}).items():
                expected = together(runs, arm)
                assert shown[arm.id, name] == pytest.approx(expected, rel=1e-9, abs=1e-9), name


LiveOpener = Callable[..., Live]
"""See the fixture `live_opener`."""
