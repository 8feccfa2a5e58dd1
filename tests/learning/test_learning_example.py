"""The example that trains: its environment and its table; its training, if its library is there."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

SCRIPT = Path(__file__).parents[2] / "examples/learning/train.py"


@pytest.fixture
def example(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    spec = importlib.util.spec_from_file_location("train_example", SCRIPT)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, "train_example", module)
    spec.loader.exec_module(module)
    return module


def grown(seen: Any) -> np.ndarray:
    """A policy: a larger window while the round trip is short, a smaller one when it is long."""
    return np.array([np.clip(1.3 - seen[-1][0], -1.0, 1.0)], np.float32)


def test_its_reward_knows_the_line(example: ModuleType) -> None:
    env = example.environment()
    seen, _ = env.reset(seed=1)
    for _ in range(30):
        seen, reward, _, _, said = env.step(grown(seen))
    share = (
        said["delivery_rate_bps"] / env.unwrapped.spec_of_run["links"][-1]["forward"]["rate_bps"]
    )
    assert reward == pytest.approx(share - 0.25 * (seen[-1][0] - 1) - 5 * said["loss"], abs=1e-6)


def test_a_policy_is_judged(
    example: ModuleType, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(example, "UNSEEN", example.UNSEEN[:1])
    example.judge(grown, 2)
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines[2:]] == ["agent", "cubic", "bbr"]
    goodputs = [float(line.split()[1]) for line in lines[2:]]
    assert all(1.0 < goodput < 2.0 for goodput in goodputs)


def test_it_trains(example: ModuleType) -> None:
    pytest.importorskip("stable_baselines3")
    policy = example.trained(2048)
    seen, _ = example.environment().reset(seed=1)
    assert abs(float(policy(seen)[0])) <= 1.0
