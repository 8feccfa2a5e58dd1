"""An agent learns to set a window by PPO, and is judged against CUBIC and BBR.

It trains on lines that are drawn anew for each episode (`[sweep]` in line.toml), and is judged on
lines with rates, delays or buffers outside of what was drawn, each with ten replications. CUBIC and
BBR see the same traffic. Needs stable-baselines3, which is no part of dumbbell:

    python -m pip install stable-baselines3
    python examples/learning/train.py
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np

import dumbbell
from dumbbell.compare.summary import summary_of
from dumbbell.learning import ENVIRONMENT
from dumbbell.spec import Setting
from dumbbell.stats import difference_interval, student_interval

LINE = Path(__file__).with_name("line.toml")
STEPS = 100_000
REPLICATIONS = 10
HISTORY = 4

Policy = Callable[[np.ndarray], Any]


@dataclass(frozen=True)
class Unseen:
    """A line outside of what was drawn for the training."""

    rate: str
    delay: str
    qdisc: str
    words: str


UNSEEN = (
    Unseen("2mbit", "20ms", "pfifo limit 50", "slower"),
    Unseen("100mbit", "20ms", "pfifo limit 500", "faster"),
    Unseen("20mbit", "80ms", "pfifo limit 200", "longer"),
    Unseen("20mbit", "20ms", "pfifo limit 15", "a small buffer"),
    Unseen("10mbit", "20ms", "pfifo limit 1000", "a large buffer"),
)


class ShareAndQueue(gymnasium.Wrapper):
    """The reward: the share of the line's rate, less what the queue and losses cost.

    A function of the interval alone does not know the line, but a wrapper does.
    """

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """As the environment's, with the other reward."""
        seen, _, terminated, truncated, said = self.env.step(action)
        links = self.env.unwrapped.spec_of_run["links"]
        rate_bps = links[-1]["forward"]["rate_bps"]
        rtt_ratio = float(seen[-1][0])
        share = said["delivery_rate_bps"] / rate_bps
        reward = share - 0.25 * min(rtt_ratio - 1.0, 4.0) - 5.0 * said["loss"]
        return seen, reward, terminated, truncated, said


def environment(source: str | Path = LINE, *, train: bool = True) -> gymnasium.Env:
    """What the agent acts in: the numbers that it sees have no scale of rates or times."""
    made = gymnasium.make(
        ENVIRONMENT,
        experiment=source,
        flow="download",
        randomise="sweep" if train else None,
        interval="1rtt",
        measures=("rtt_ratio", "rtt_gradient", "send_ratio", "loss"),
        history=HISTORY,
        most_factor=1.5,
    )
    return ShareAndQueue(made) if train else made


def trained(steps: int) -> Policy:
    """A policy, by PPO with two environments."""
    import torch
    from stable_baselines3 import PPO
    from stable_baselines3.common.env_util import make_vec_env

    # A network this small is slower on several.
    torch.set_num_threads(1)
    model = PPO(
        "MlpPolicy",
        make_vec_env(environment, n_envs=2, seed=1),
        seed=1,
        n_steps=1024,
        batch_size=256,
        gamma=0.9,
        learning_rate=1e-3,
        policy_kwargs={"net_arch": [32, 32]},
        device="cpu",
    )
    model.learn(steps)
    return lambda seen: model.predict(seen, deterministic=True)[0]


def numbers(run: dumbbell.Run) -> Mapping[str, float]:
    """Goodput in Mbit/s, and 95th percentile of a call's round trip in ms."""
    summary = summary_of(run)
    return {
        "goodput": summary["flow[download].goodput_bps"] * 1e-6,
        "rtt_p95": summary["probe[call].rtt_p95_ms"],
    }


def by_agent(policy: Policy, text: str, replication: int) -> dumbbell.Run:
    """A run whose download's window the policy sets."""
    acting = environment(text, train=False)
    seen, _ = acting.reset(options={"replication": replication})
    is_over = False
    while not is_over:
        seen, _, terminated, truncated, _ = acting.step(policy(seen))
        is_over = terminated or truncated
    return acting.unwrapped.finished_run()


def judge(policy: Policy, replications: int) -> None:
    """Print a table: means, and differences from the agent's with 95 % intervals."""
    for unseen in UNSEEN:
        text = LINE.read_text(encoding="utf-8")
        for old, new in (
            ('rate = "10mbit"', f'rate = "{unseen.rate}"'),
            ('delay = "20ms"', f'delay = "{unseen.delay}"'),
            ('qdisc = "pfifo limit 100"', f'qdisc = "{unseen.qdisc}"'),
        ):
            assert text.count(old) == 1
            text = text.replace(old, new)
        print(f"\n{unseen.words}: {unseen.rate}, {unseen.delay} one way, {unseen.qdisc}")
        agent = [numbers(by_agent(policy, text, each)) for each in range(replications)]
        for name in ("agent", "cubic", "bbr"):
            if name == "agent":
                found = agent
            else:
                setting = Setting("flows[download].tcp.congestion_control", name)
                described = dumbbell.Experiment.from_toml(text.split("[sweep]")[0], [setting])
                runs = [dumbbell.simulate(described, each) for each in range(replications)]
                found = [numbers(run) for run in runs]
            cells = []
            for key, unit in (("goodput", "Mbit/s"), ("rtt_p95", "ms")):
                own = [each[key] for each in found]
                of_agent = [each[key] for each in agent]
                mean = student_interval(own)
                cell = f"{mean.value:8.2f} ±{mean.half_width:5.2f} {unit}"
                if name != "agent":
                    difference = difference_interval(of_agent, own)
                    low, high = difference.low, difference.high
                    cell += f"  agent {difference.value:+8.2f} [{low:+.2f}, {high:+.2f}]"
                cells.append(cell)
            print(f"  {name:6}" + "   ".join(f"{cell:52}" for cell in cells).rstrip())


def main() -> None:
    """Train, then judge."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=STEPS)
    parser.add_argument("--replications", type=int, default=REPLICATIONS)
    options = parser.parse_args()
    began, began_cpu = time.monotonic(), time.process_time()
    policy = trained(options.steps)
    wall, cpu = time.monotonic() - began, time.process_time() - began_cpu
    print(
        f"trained with {options.steps:,} steps in {wall:.0f} s, {cpu:.0f} s of CPU time", flush=True
    )
    judge(policy, options.replications)


if __name__ == "__main__":
    main()
