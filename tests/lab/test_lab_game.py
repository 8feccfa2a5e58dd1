"""One plays the controller on the page, and what was played is what ``dumbbell run`` runs."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest
from lab_page import Opened, Opener, check_equal, moved, typed

import dumbbell
from dumbbell.compare import summary_of

pytestmark = [pytest.mark.browser, pytest.mark.slow]
PRESET = "by-hand"
PLAYERS = ("manual", "cubic", "bbr", "reno")
QUEUE = "queue[router->home]"
FLOW = "flow[download]"


def _begun(seen: Opened, pace: str = "1") -> None:
    seen.page.select_option("#pace", pace)
    seen.page.click("#begin")
    seen.until("laboratory.game.isGoing && document.getElementById('game-time').textContent")


def _game(seen: Opened) -> None:
    """Eight seconds: up by keys, down, and at once with the slider."""
    done = seen.page.evaluate("laboratory.done")
    _begun(seen)
    keys = ["ArrowRight"] * 12 + ["ArrowLeft"] * 5 + ["PageUp", "Home"] + ["ArrowUp"] * 9
    for key in keys:
        seen.page.keyboard.press(key)
        seen.page.wait_for_timeout(60)
    seen.until(f"!laboratory.game.isGoing && laboratory.done > {done}")
    seen.until(f"laboratory.game.scores.size === {len(PLAYERS)}")


def _scores(seen: Opened) -> dict[str, dict[str, Any]]:
    return dict(seen.page.evaluate("[...laboratory.game.scores]"))


def test_a_game_is_what_the_command_line_runs(opener: Opener) -> None:
    seen = opener()
    seen.choose(PRESET)
    by_cubic = seen.digest()
    _game(seen)
    toml = seen.toml()
    assert 'congestion_control = "manual", cwnd_changes = [' in toml
    assert toml.count("cwnd =") > 20
    check_equal(seen)
    # The game itself, which was watched packet by packet, came to the same numbers.
    assert seen.page.evaluate(
        "JSON.stringify(laboratory.game.last.numbers) === "
        "JSON.stringify(laboratory.lastDone.numbers)"
    )
    scores = _scores(seen)
    assert list(scores) == list(PLAYERS)
    assert scores["manual"]["digest"] == seen.digest()
    assert scores["cubic"]["digest"] == by_cubic
    for name in PLAYERS:
        played = dumbbell.Experiment.from_toml(toml.replace('"manual"', f'"{name}"'))
        run = dumbbell.simulate(played)
        numbers = summary_of(run)
        assert scores[name]["share"] == pytest.approx(numbers[f"{FLOW}.capacity_share"])
        assert scores[name]["loss"] == pytest.approx(numbers[f"{FLOW}.loss_ratio"])
        mean_ms = 1e3 * numbers[f"{QUEUE}.mean_sojourn_s"]
        assert scores[name]["mean_ms"] == pytest.approx(mean_ms)
        assert scores[name]["p95_ms"] == pytest.approx(1e3 * numbers[f"{QUEUE}.sojourn_p95_s"])
        assert scores[name]["power"] == pytest.approx(scores[name]["share"] / (1 + mean_ms / 60))
    rows = seen.page.locator("#scores tr")
    assert [row.split("\t")[0] for row in rows.all_inner_texts()] == ["you", "CUBIC", "BBR", "Reno"]
    # A link brings the game and its score.
    link = "#" + seen.page.input_value("#link").split("#")[1]
    again = opener(link)
    assert again.digest() == seen.digest()
    again.until(f"laboratory.game.scores.size === {len(PLAYERS)}")
    assert _scores(again) == scores
    # And the next change goes on from it.
    again.after(moved("rate", 0.6))
    check_equal(again)
    again.until(f"laboratory.game.scores.size === {len(PLAYERS)}")
    assert _scores(again)["manual"]["digest"] == again.digest() != seen.digest()
    assert seen.messages == again.messages == []


def test_queue_and_figures_follow_the_hand(opener: Opener) -> None:
    seen = opener()
    seen.choose(PRESET)
    _begun(seen, "2")
    held = "Math.max(0, ...laboratory.now.series.queue.system_pkts.slice(-20))"
    seen.page.keyboard.press("Home")
    seen.until(f"laboratory.cursor_s > 1 && {held} <= 1")
    assert "window" not in seen.page.inner_text("#stage-words")
    for _ in range(60):
        seen.page.keyboard.press("ArrowRight")
    # Beyond 25 packets, those of the path, every packet waits.
    seen.until(f"{held} > 15")
    seen.until("Number.parseInt(document.getElementById('stage-words').textContent) > 10")
    assert seen.page.evaluate("Math.max(...laboratory.now.series.flows.groups[0].cwnd_pkts)") > 40
    seen.page.click("#wait")
    seen.page.wait_for_timeout(150)
    stood = seen.page.evaluate("laboratory.cursor_s")
    seen.page.wait_for_timeout(400)
    assert seen.page.evaluate("laboratory.cursor_s") == stood
    seen.page.click("#wait")
    seen.until(f"laboratory.cursor_s > {stood}")
    assert seen.messages == []


def test_a_game_that_is_stopped_leaves_what_was_there(opener: Opener) -> None:
    seen = opener()
    seen.choose(PRESET)
    digest, toml = seen.digest(), seen.toml()
    _begun(seen)
    assert seen.page.is_disabled("#play")
    seen.page.keyboard.press("ArrowRight")
    seen.page.click("#begin")
    assert not seen.page.evaluate("laboratory.game.isGoing")
    assert (seen.digest(), seen.toml()) == (digest, toml)
    assert seen.page.is_enabled("#play")
    assert not seen.page.is_visible("#score")
    # So does any other change, which is followed.
    _begun(seen)
    seen.after(moved("buffer", 0.3))
    assert not seen.page.evaluate("laboratory.game.isGoing")
    check_equal(seen)
    assert seen.messages == []


def test_where_nothing_goes_over_tcp_there_is_no_game(opener: Opener) -> None:
    seen = opener()
    seen.choose("mm1")
    assert seen.page.is_disabled("#begin")
    assert seen.page.is_visible("#game-lack")
    seen.choose("bbr-against-cubic")
    assert not seen.page.is_visible("#game-lack")
    assert seen.page.locator("#player option").all_inner_texts() == ["cubic", "bbr"]
    seen.after(typed("count-reno", "1"))
    assert seen.page.locator("#player option").count() == 3


def _hash(moves: object) -> str:
    path = "flows[download].tcp.cwnd_changes"
    by_hand = ["flows[download].tcp.congestion_control", "manual"]
    state = {"v": 1, "preset": PRESET, "own": None, "changes": [by_hand, [path, moves]]}
    return "#s=" + base64.urlsafe_b64encode(json.dumps(state).encode()).decode().rstrip("=")


@pytest.mark.parametrize(
    "moves",
    [
        [{"at_ns": 5, "cwnd_pkts": 0}],
        [{"at_ns": 9, "cwnd_pkts": 7}, {"at_ns": 5, "cwnd_pkts": 8}],
        [{"at_ns": 1e300, "cwnd_pkts": 7}],
        [{"at_ns": 1, "cwnd_pkts": "<script>"}],
        [{"at_ns": at, "cwnd_pkts": 1} for at in range(2001)],
        [[[[[]]]]],
        {"at_ns": 1},
    ],
    ids=["no packets", "back in time", "no instant", "script", "many", "lists", "table"],
)
def test_hostile_moves_give_a_message(opener: Opener, moves: object) -> None:
    seen = opener()
    seen.page.evaluate(f"location.hash = {json.dumps(_hash(moves))}")
    seen.until("!document.getElementById('message').hidden")
    seen.choose("mm1")
    check_equal(seen)
    assert seen.messages == []


@pytest.mark.parametrize("width", [390, 820, 1440])
def test_panel_and_score_fit(opener: Opener, width: int) -> None:
    moves = [{"at_ns": 1_000_000_000, "cwnd_pkts": 25}]
    seen = opener(_hash(moves), width=width)
    seen.until(f"laboratory.game.scores.size === {len(PLAYERS)}")
    assert seen.page.evaluate("document.documentElement.scrollWidth") == width
    assert seen.page.is_visible("#score")
    assert seen.messages == []
