"""Environments for agents: what the libraries check, determinism, what each number means."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from pettingzoo.test import parallel_api_test, parallel_seed_test

import dumbbell
from dumbbell.errors import SpecError
from dumbbell.learning import (
    ENVIRONMENT,
    CongestionControl,
    Interval,
    Measure,
    ParallelCongestionControl,
    parallel_env,
)
from dumbbell.learning.rules import DEFAULT_EXPERIMENT
from dumbbell.spec import Setting

MSS_BITS = 8 * 1448
LINE_BPS = 10e6 * 1448 / 1514
"""Payload at 10 Mbit/s."""

SHORT = DEFAULT_EXPERIMENT.replace('"30s"', '"2s"')
RANDOM = (
    SHORT
    + """
[[flows]]
name = "others"
from = "server"
to = "home"
source = { kind = "poisson", rate = "100pps", size = "exponential 500B" }
"""
)
FEATURES = tuple(measure.word for measure in Measure)


def factor(by: float, most: float = 1.5) -> np.ndarray:
    """The action that multiplies by a factor."""
    return np.array([np.log(by) / np.log(most)], dtype=np.float32)


HOLD = factor(1.0)


def episode(env: Any, actions: list[np.ndarray], **reset: Any) -> list[Any]:
    """All that an agent is told of an episode."""
    told: list[Any] = [env.reset(**reset)]
    for place in range(10_000):
        told.append(env.step(actions[place % len(actions)]))
        if told[-1][2] or told[-1][3]:
            return told
    raise AssertionError("the episode has no end")


def same(one: list[Any], other: list[Any]) -> bool:
    """Whether two episodes were told alike."""
    if len(one) != len(other):
        return False
    seen = [np.array_equal(a[0], b[0]) and a[1:] == b[1:] for a, b in zip(one, other, strict=True)]
    return all(seen)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"control": "pacing_rate", "reward": "aurora"},
        {"interval": "1.5rtt", "measures": FEATURES, "history": 1},
        {"factors": (0.5, 0.9, 1.0, 1.1, 2.0), "reward": "alpha_fairness"},
    ],
)
def test_gymnasiums_checker_finds_nothing(options: dict[str, Any]) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        # That there is nothing to be drawn, and that it was not made by its name.
        warnings.filterwarnings("ignore", message=".*render.*")
        warnings.filterwarnings("ignore", message=".*spec.*")
        check_env(CongestionControl(SHORT, **options))


@pytest.mark.parametrize("options", [{}, {"control": "pacing_rate", "shared_reward": True}])
def test_pettingzoos_checkers_find_nothing(options: dict[str, Any]) -> None:
    parallel_api_test(parallel_env(**options), num_cycles=300)
    parallel_seed_test(lambda: parallel_env(**options), num_cycles=50)


def test_it_has_its_name_and_its_usual_values() -> None:
    env = gymnasium.make(ENVIRONMENT)
    assert isinstance(env.unwrapped, CongestionControl)
    assert env.observation_space.shape == (8, 5)
    assert env.action_space.shape == (1,)


def test_the_same_seed_gives_the_same_episodes() -> None:
    randomise = {"links[router->home].rate": {"from": "2mbit", "to": "20mbit", "scale": "log"}}
    actions = [factor(1.4), factor(0.9), HOLD]

    def two(seed: int) -> list[list[Any]]:
        env = CongestionControl(RANDOM, flow="download", randomise=randomise)
        return [episode(env, actions, seed=seed), episode(env, actions)]

    first = two(5)
    again = two(5)
    assert same(first[0], again[0]) and same(first[1], again[1])
    assert not same(first[0], first[1])
    assert not same(first[0], two(6)[0])


def test_the_same_seed_gives_the_same_tables() -> None:
    def digest(seed: int) -> str:
        env = CongestionControl(RANDOM, flow="download")
        episode(env, [factor(1.1)], seed=seed)
        found: str = env.finished_run().meta["digest"]
        return found

    assert digest(3) == digest(3)
    assert digest(3) != digest(4)


def test_vectors_of_environments_are_their_environments() -> None:
    def vector(kind: str) -> list[np.ndarray]:
        vectors = gymnasium.make_vec(
            ENVIRONMENT,
            num_envs=2,
            vectorization_mode=kind,
            experiment=RANDOM,
            flow="download",
        )
        seen = [vectors.reset(seed=7)[0]]
        actions = np.full((2, 1), 0.5, np.float32)
        seen += [vectors.step(actions)[0] for _ in range(5)]
        vectors.close()
        return seen

    side_by_side = vector("sync")
    alone = CongestionControl(RANDOM, flow="download")
    seen = [alone.reset(seed=8)[0]]
    seen += [alone.step(np.array([0.5], np.float32))[0] for _ in range(5)]
    for both, single in zip(side_by_side, seen, strict=True):
        assert np.array_equal(both[1], single)
    for one, other in zip(side_by_side, vector("async"), strict=True):
        assert np.array_equal(one, other)


def test_what_a_full_line_looks_like() -> None:
    env = CongestionControl(SHORT, measures=FEATURES, history=2)
    env.reset(seed=1)
    env.step(factor(1.5))
    for by in (1.5, 1.5, 50 / 33.75):
        env.step(factor(by))
    for _ in range(6):
        seen, _, _, _, said = env.step(HOLD)
    last = dict(zip(FEATURES, seen[-1], strict=True))
    assert said["cwnd_pkts"] == last["cwnd"] in (49, 50)
    # Whole packets in 100 ms, and a delayed acknowledgement more or less.
    assert last["delivery_rate"] == pytest.approx(LINE_BPS / 1e6, rel=0.03)
    assert last["send_rate"] == pytest.approx(LINE_BPS / 1e6, rel=0.03)
    # Little's law: 50 packets in flight at a packet each 1.2112 ms.
    assert last["rtt"] == pytest.approx(50 * 1.2112, rel=0.03)
    assert last["rtt_ratio"] == pytest.approx(50 * 1.2112 / 41.2, rel=0.05)
    assert last["send_ratio"] == pytest.approx(1.0, abs=0.05)
    assert abs(last["rtt_gradient"]) < 0.01
    assert last["loss"] == 0.0


def test_rates_are_kept_and_factors_add_up() -> None:
    env = CongestionControl(SHORT, control="pacing_rate", factors=(0.5, 1.0, 1.02))
    env.reset(seed=1)
    _, _, _, _, said = env.step(1)
    begun = said["send_rate_bps"]
    for _ in range(10):
        _, _, _, _, said = env.step(2)
    assert said["send_rate_bps"] == pytest.approx(begun * 1.02**9.5, rel=0.06)
    env.step(0)
    _, _, _, _, said = env.step(1)
    assert said["send_rate_bps"] == pytest.approx(begun * 1.02**10 / 2, rel=0.1)


def test_small_factors_on_a_window_add_up() -> None:
    env = CongestionControl(SHORT, factors=(1.0, 1.05))
    env.reset(seed=1)
    for _ in range(5):
        _, _, _, _, said = env.step(1)
    # 10 * 1.05**5, of which each step alone would have left 10.
    assert said["cwnd_pkts"] == 12


def test_a_step_lasts_round_trips() -> None:
    env = CongestionControl(SHORT, interval="2rtt")
    _, said = env.reset(seed=1)
    before = said["time_s"]
    _, _, _, _, said = env.step(HOLD)
    assert said["time_s"] - before == pytest.approx(2 * 0.0401, rel=0.05)


def test_an_episode_ends_with_the_run_or_with_the_transfer() -> None:
    truncated = episode(CongestionControl(SHORT), [HOLD], seed=1)[-1]
    assert truncated[2:4] == (False, True)
    assert truncated[4]["time_s"] == 2.0
    sized = SHORT.replace('kind = "greedy"', 'kind = "sized", size = "200kB"')
    terminated = episode(CongestionControl(sized), [HOLD], seed=1)
    assert terminated[-1][2:4] == (True, False)
    assert terminated[-1][4]["time_s"] < 1.9


def test_a_window_that_is_held_is_the_window_by_hand() -> None:
    env = CongestionControl(RANDOM, flow="download")
    episode(env, [HOLD], seed=1, options={"replication": 3})
    ours = env.finished_run()
    assert ours.replication == 3
    by_hand = dumbbell.Experiment.from_toml(
        RANDOM, [Setting("flows[download].tcp.congestion_control", "manual")]
    )
    assert ours.meta["digest"] == dumbbell.simulate(by_hand, 3).meta["digest"]
    assert ours.meta["agents"] == {"flows": ["download"], "control": "cwnd"}


@pytest.mark.parametrize(
    ("reward", "expected"),
    [
        ("power", lambda mbps, rtt_s, pps: mbps / rtt_s),
        ("aurora", lambda mbps, rtt_s, pps: (10 * pps - 1000 * rtt_s) / 1000),
        ("alpha_fairness", lambda mbps, rtt_s, pps: np.log(mbps)),
        (lambda interval: interval.cwnd_pkts, lambda mbps, rtt_s, pps: 10),
    ],
)
def test_rewards(reward: Any, expected: Any) -> None:
    env = CongestionControl(SHORT, reward=reward)
    env.reset(seed=1)
    for _ in range(3):
        _, given, _, _, said = env.step(HOLD)
    rate_bps = said["delivery_rate_bps"]
    assert given == pytest.approx(expected(rate_bps / 1e6, said["rtt_s"], rate_bps / MSS_BITS))


def test_a_loss_costs() -> None:
    seen: list[Interval] = []

    def remember(interval: Interval) -> float:
        seen.append(interval)
        return 0.0

    env = CongestionControl(SHORT, reward=remember)
    episode(env, [factor(1.5)], seed=1)
    assert max(each.loss for each in seen) > 0.2
    assert all(0.0 <= each.loss <= 1.0 for each in seen)
    sent = sum(each.sent_pkts for each in seen)
    assert sent > sum(each.delivered_pkts for each in seen)


def drawn(randomise: Any, n: int = 200, source: str = SHORT) -> list[dict[str, Any]]:
    """The last link's values in some episodes."""
    env = CongestionControl(source, randomise=randomise)
    found = []
    env.reset(seed=1)
    for _ in range(n):
        found.append(env._rules.described(env.np_random, None).spec["links"][-1]["forward"])
    return found


def test_values_are_drawn_as_in_a_sweep() -> None:
    rates = [
        each["rate_bps"]
        for each in drawn(
            {"links[router->home].rate": {"from": "1mbit", "to": "100mbit", "scale": "log"}}
        )
    ]
    assert min(rates) >= 1e6 and max(rates) <= 1e8 and len(set(rates)) > 150
    # Equal ratios: as many below 10 Mbit/s as above. Binomial, n = 200: beyond 5 deviations.
    assert abs(sum(rate < 1e7 for rate in rates) - 100) < 36
    delays = {
        each["delay_ns"] for each in drawn({"links[router->home].delay": ["5ms", "10ms", "80ms"]})
    }
    assert delays == {5_000_000, 10_000_000, 80_000_000}
    limits = {
        each["qdisc"]["limit_packets"]
        for each in drawn(
            {
                "links[router->home].forward.qdisc": {
                    "text": "pfifo limit {}",
                    "from": 10,
                    "to": 12,
                }
            }
        )
    }
    assert limits == {10, 11, 12}
    together = drawn(
        {
            "zip": [
                {
                    "links[router->home].rate": ["1mbit", "2mbit"],
                    "links[router->home].delay": ["1ms", "2ms"],
                }
            ]
        }
    )
    pairs = {(each["rate_bps"] // 10**6, each["delay_ns"] // 10**6) for each in together}
    assert pairs == {(1, 1), (2, 2)}


def test_the_files_own_sweep_is_drawn_from() -> None:
    swept = SHORT + '[sweep]\nreplications = 3\n"links[router->home].rate" = ["1mbit", "3mbit"]\n'
    rates = {each["rate_bps"] for each in drawn("sweep", source=swept)}
    assert rates == {1_000_000, 3_000_000}


def test_two_agents_share_a_line() -> None:
    env = ParallelCongestionControl(shared_reward=True)
    observations, _ = env.reset(seed=1)
    assert list(observations) == ["first", "second"]
    rates: dict[str, list[float]] = {"first": [], "second": []}
    n = 0
    while env.agents:
        actions = dict.fromkeys(env.agents, HOLD)
        _, rewards, _, truncated, said = env.step(actions)
        assert rewards["first"] == rewards["second"]
        if 30 <= n < 290:
            for name, each in said.items():
                rates[name].append(each["delivery_rate_bps"])
        n += 1
    assert truncated == {"first": True, "second": True}
    # A window of 10 each over 40 ms and what a burst takes on the line.
    for each in rates.values():
        assert 10 * MSS_BITS / 0.053 < np.mean(each) < 10 * MSS_BITS / 0.040
    assert n == pytest.approx(300, abs=1)
    assert env.finished_run().meta["agents"]["flows"] == ["first", "second"]


def test_an_agent_whose_transfer_is_done_leaves() -> None:
    text = (
        RANDOM.split('\n[[flows]]\nname = "others"')[0]
        + """
[[flows]]
name = "short"
from = "server"
to = "home"
source = { kind = "sized", size = "100kB" }
"""
    )
    env = parallel_env(text)
    env.reset(seed=1)
    assert env.agents == ["download", "short"]
    while "short" in env.agents:
        _, _, terminated, _, _ = env.step(dict.fromkeys(env.agents, HOLD))
    assert terminated == {"download": False, "short": True}
    observations, _, _, _, _ = env.step({"download": HOLD})
    assert list(observations) == ["download"]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"flow": "downlod"}, "download"),
        ({"control": "rate"}, "pacing_rate"),
        ({"interval": "fast"}, "1.5rtt"),
        ({"interval": "1us"}, "1 ms"),
        ({"measures": ()}, "send_rate"),
        ({"measures": ("los",)}, "loss"),
        ({"measures": ("loss", "loss")}, "once"),
        ({"history": 0}, "1 to 1000"),
        ({"most_factor": 1.0}, "above 1"),
        ({"factors": (1.0,)}, "two or more"),
        ({"factors": (1.0, 0.0)}, r"factors\[1\]"),
        ({"reward": "powr"}, "power"),
        ({"randomise": {"links[9].rate": ["1mbit"]}}, "links"),
        ({"randomise": {"links[router->home].rate": {"from": "1mbit", "to": "1ms"}}}, "unit"),
        ({"randomise": "swep"}, "sweep"),
        ({"randomise": "sweep"}, "table"),
        ({"render_mode": "human"}, "None"),
    ],
)
def test_what_is_not_allowed_is_said(options: dict[str, Any], words: str) -> None:
    with pytest.raises(SpecError, match=words):
        CongestionControl(SHORT, **options)


def test_several_flows_want_a_name() -> None:
    two = RANDOM + '[[flows]]\nname="b"\nfrom="server"\nto="home"\nsource={ kind = "greedy" }\n'
    with pytest.raises(SpecError, match="one of download, b"):
        CongestionControl(two)
    with pytest.raises(SpecError, match="replication"):
        CongestionControl(SHORT).reset(options={"replication": -1})
    with pytest.raises(gymnasium.error.ResetNeeded):
        CongestionControl(SHORT).step(HOLD)


def test_a_flow_with_many_connections_has_no_agent(tmp_path: Path) -> None:
    arrivals = SHORT.replace(
        'kind = "greedy"', 'kind = "arrivals", gap = "exponential 100ms", size = "constant 30kB"'
    )
    file = tmp_path / "arrivals.toml"
    file.write_text(arrivals, encoding="utf-8")
    with pytest.raises(SpecError, match="one connection at a time"):
        CongestionControl(file)
