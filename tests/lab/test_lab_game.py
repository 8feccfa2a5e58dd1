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


_HEARKENED = """() => {
  const { game } = laboratory, { heard } = Object.getPrototypeOf(game);
  const played = window.played = { moves: 0, isMovable: true, now_ns: NaN, standing: 0 };
  let moved_ns = -1;
  game.heard = (message) => {
    heard.call(game, message);
    if (message.kind !== "played") return;
    const { moves, now_ns, packets } = message;
    if (moves !== played.moves) moved_ns = packets.until_ns;
    const isMovable = packets.until_ns > moved_ns;
    const standing = now_ns === played.now_ns ? played.standing + 1 : 0;
    Object.assign(played, { moves, isMovable, now_ns, standing });
  };
}"""
"""What the game's worker has said last; whether something has happened in the run since the last
move, as of several at one instant the last counts; and for how many messages it has stood still."""


def _begun(seen: Opened, pace: str) -> None:
    """A game of eight seconds, `times` times as slow: it is over then, whatever a test does."""
    seen.page.evaluate(_HEARKENED)
    seen.page.select_option("#pace", pace)
    seen.page.click("#begin")
    seen.until("laboratory.game.isGoing && document.getElementById('game-time').textContent")


KEYS = ["ArrowRight"] * 12 + ["ArrowLeft"] * 5 + ["PageUp", "Home"] + ["ArrowUp"] * 9


def _game(seen: Opened) -> None:
    """Eight seconds: up by keys, down, and at once with the slider."""
    done = seen.page.evaluate("laboratory.done")
    _begun(seen, "5")
    for place, key in enumerate(KEYS):
        seen.page.keyboard.press(key)
        seen.until(f"played.moves === {place + 1} && played.isMovable")
    seen.page.select_option("#pace", "1")
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
    assert toml.count("cwnd =") == len(KEYS)
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
    _begun(seen, "5")
    held = "Math.max(0, ...laboratory.now.series.queue.system_pkts.slice(-20))"
    seen.page.keyboard.press("Home")
    seen.until(f"laboratory.cursor_s > 1 && {held} <= 1")
    assert "window" not in seen.page.inner_text("#stage-words")
    # The run all but stands still while keys are pressed.
    seen.page.select_option("#pace", "1000")
    seen.page.focus("#window")
    for _ in range(60):
        seen.page.keyboard.press("ArrowRight")
    seen.page.select_option("#pace", "5")
    # Beyond 25 packets, those of the path, every packet waits.
    seen.until(f"{held} > 15")
    seen.until("Number.parseInt(document.getElementById('stage-words').textContent) > 10")
    assert seen.page.evaluate("Math.max(...laboratory.now.series.flows.groups[0].cwnd_pkts)") > 40
    seen.page.click("#wait")
    seen.until("played.standing > 0 || !laboratory.game.isGoing")
    stood_ns = seen.page.evaluate("played.now_ns")
    # Figures are made of some of the messages only: of one of these at least.
    seen.until("played.standing > 5 || !laboratory.game.isGoing")
    now_ns, stood = seen.page.evaluate("[played.now_ns, laboratory.cursor_s]")
    assert seen.page.evaluate("laboratory.game.isGoing")
    assert now_ns == stood_ns == pytest.approx(1e9 * stood)
    seen.page.click("#wait")
    seen.until(f"laboratory.cursor_s > {stood}")
    assert seen.messages == []


def test_a_game_that_is_stopped_leaves_what_was_there(opener: Opener) -> None:
    seen = opener()
    seen.choose(PRESET)
    digest, toml = seen.digest(), seen.toml()
    _begun(seen, "10")
    assert seen.page.is_disabled("#play")
    seen.page.keyboard.press("ArrowRight")
    seen.page.click("#begin")
    assert not seen.page.evaluate("laboratory.game.isGoing")
    assert (seen.digest(), seen.toml()) == (digest, toml)
    assert seen.page.is_enabled("#play")
    assert not seen.page.is_visible("#score")
    # So does any other change, which is followed.
    _begun(seen, "10")
    seen.after(moved("qdisc-limit_packets", 0.3))
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
