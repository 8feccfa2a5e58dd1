"""The pages' scripts as a compiler reads them: names that are there, calls that fit.

They carry their types in comments. A module that lost an import is right by its syntax, and fails
only in the worker and the moment that need it.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from dumbbell.lab import live_file, modules, page_file, story_file

HERE = Path(__file__).parent
PAGES = Path("python/dumbbell/lab")
FAULTS: Mapping[str, tuple[str, str, str]] = {
    "live/worker.js": (
        'import { goOn, turn } from "../page/turns.js";',
        'import { goOn } from "../page/turns.js";',
        "Cannot find name 'turn'",
    ),
    "page/packets.js": ("this.packets.push(packet)", "this.packet.push(packet)", "'packet'"),
    "live/tank_run.js": (
        "numberOf(described, order, ",
        "numberOf(described, ",
        "Expected 3 arguments",
    ),
    "live/forms.js": ("{ climb, tank,", "{ climb, tank: 1,", "not assignable to type 'View'"),
    "story/duel.js": ("const FULL_SCORE = 100;", "", "Cannot find name 'FULL_SCORE'"),
    "page/stage.js": ("const FALL_S = 0.8;", "", "Cannot find name 'FALL_S'"),
}
"""Of a module: what stands there, what is put in its place, what has to be said of it."""


def _said(folder: Path) -> list[str]:
    """What the compiler says of the scripts under a folder like that of the sources."""
    if shutil.which("tsc") is None:
        # A test that skips where it matters protects nobody.
        (pytest.fail if os.environ.get("CI") else pytest.skip)(
            "tsc is not installed (Debian: apt-get install node-typescript)"
        )
    words = ["tsc", "--pretty", "false", "-p", str(folder / "tests/lab")]
    done = subprocess.run(words, capture_output=True, text=True, timeout=300, check=False)
    lines = done.stdout.splitlines()
    assert bool(lines) == bool(done.returncode), done.stdout + done.stderr
    return lines


@pytest.mark.slow
def test_every_name_is_there_and_every_call_fits() -> None:
    assert _said(HERE.parents[1]) == []


@pytest.mark.slow
def test_faults_that_no_syntax_check_sees_are_told(tmp_path: Path) -> None:
    (tmp_path / "tests/lab").mkdir(parents=True)
    for name in ("tsconfig.json", "browser.d.ts"):
        shutil.copy(HERE / name, tmp_path / "tests/lab")
    for folder in ("page", "live", "story"):
        shutil.copytree(HERE.parents[1] / PAGES / folder, tmp_path / PAGES / folder)
    for name, (before, after, _) in FAULTS.items():
        place = tmp_path / PAGES / name
        text = place.read_text(encoding="utf-8")
        assert text.count(before) == 1, name
        place.write_text(text.replace(before, after), encoding="utf-8")
    said = _said(tmp_path)
    for name, (_, _, words) in FAULTS.items():
        assert [line for line in said if f"{PAGES}/{name}(" in line and words in line], (name, said)


BUNDLES = (
    page_file.SCRIPT,
    page_file.WORKER,
    page_file.RULE_WORKER,
    live_file.SCRIPT,
    live_file.WORKER,
    story_file.SCRIPT,
)


@pytest.mark.parametrize("bundle", BUNDLES)
def test_a_bundle_has_each_module_before_those_that_import_it(bundle: Sequence[Path]) -> None:
    there: set[str] = set()
    for place in bundle:
        text = place.read_text(encoding="utf-8")
        wanted = set(re.findall(r'^import .* from "\.+/(?:[a-z]+/)?([a-z_]+)\.js";$', text, re.M))
        assert wanted <= there, place
        assert place.stem not in there, place
        there.add(place.stem)


def test_no_module_is_in_no_bundle() -> None:
    used = {place for bundle in BUNDLES for place in bundle}
    assert {*modules.FOLDER.glob("*/*.js")} == used


def test_the_strip_has_words_for_all_that_a_sender_does() -> None:
    """The engine gives numbers, the page has the words: in one order."""
    engine = (HERE.parents[1] / "engine/src/observe/activity.rs").read_text(encoding="utf-8")
    numbered = re.findall(r"^    (\w+) = (\d+),$", engine, re.MULTILINE)
    page = (HERE.parents[1] / PAGES / "live/strip.js").read_text(encoding="utf-8")
    words = re.findall(r'^  \{ words: "([^"]+)"', page, re.MULTILINE)
    assert [int(number) for _, number in numbered] == list(range(len(words)))
    assert dict(zip((name for name, _ in numbered), words, strict=True)) == {
        "SlowStart": "slow start",
        "CongestionAvoidance": "congestion avoidance",
        "WindowReduction": "window reduction after ECN",
        "Recovery": "recovery",
        "Loss": "after a timeout",
        "Startup": "startup",
        "Drain": "drain",
        "ProbeBw": "probe bandwidth",
        "ProbeRtt": "probe round trip",
        "ByHand": "by hand",
    }
