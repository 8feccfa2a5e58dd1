"""The simple claims of the five studies, written as files, give the verdicts of the studies.

Not written so: what is read from single packets or from samples (buckets, tc's delay, the printed
tables of traffic-policing), what is fitted first, levels that one point of a grid explains
together, and quantiles of pings pooled over two senders.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import pytest

from dumbbell.claims import view_of
from dumbbell.compare.checking import Checked, asserted, check
from dumbbell.spec import Experiment
from dumbbell.spec.unresolve import as_written
from dumbbell.studies.buffer_sizing import arms as buffer_arms
from dumbbell.studies.pie_rrul import arms as pie_arms
from dumbbell.studies.queue_size_delay import limits, packets_per_second
from dumbbell.studies.statistical_multiplexing.claims import multiplexing

FILES = Path(__file__).parent / "study_claims"
FULL = json.loads((FILES.parents[1] / "studies" / "full_verdicts.json").read_text())


def verdicts(checked: Checked) -> dict[str, str]:
    return {each.claim.id: view_of(each).verdict_text for each in checked.judged}


def published(study: str, names: Iterable[str]) -> dict[str, str]:
    return {name: FULL[study][f"sim/{name}"]["verdict"] for name in names}


def judged(study: str, file: Path, replications: int) -> Checked:
    checked = check(asserted(file), replications=replications)
    found = verdicts(checked)
    assert found == published(study, found)
    return checked


def test_queue_size_and_delay() -> None:
    checked = judged("queue-size-delay", FILES / "queue-size-delay.toml", 20)
    rules = {each.claim.id: each.claim.rule for each in checked.judged}
    packet = pytest.approx(limits.PACKET_MS)
    assert rules["peak-ideal-40kb"].bound == pytest.approx(  # type: ignore[attr-defined]
        limits.largest_delay_ms(limits.ALL_BYTES["40kb"])
    )
    assert rules["peak-ideal-40kb"].packet == packet  # type: ignore[attr-defined]
    ping = rules["ping-peak-40kb"]
    assert ping.value == pytest.approx(limits.mean_ping_peak_ms("40kb"), rel=1e-5)  # type: ignore[attr-defined]
    assert ping.margin == packet  # type: ignore[attr-defined]
    infinite = next(each for each in checked.comparison.cells if "pps" in each.label)
    assert float(infinite.label.removesuffix("pps")) == pytest.approx(packets_per_second(8.0))


def test_queue_size_and_delay_without_randomness() -> None:
    checked = judged("queue-size-delay", FILES / "queue-size-delay-constant.toml", 3)
    loss = next(each.claim.rule for each in checked.judged if "loss" in each.claim.id)
    expected = pytest.approx(100 * limits.constant_loss("40kb"))
    assert loss.value == expected  # type: ignore[attr-defined]


def test_traffic_policing() -> None:
    judged("traffic-policing", FILES / "traffic-policing.toml", 5)


@pytest.mark.long
def test_statistical_multiplexing() -> None:
    checked = judged("statistical-multiplexing", FILES / "statistical-multiplexing.toml", 48)
    values = [each.claim.rule.value for each in checked.judged]  # type: ignore[attr-defined]
    law = multiplexing(2)
    assert values == pytest.approx([1e3 * law.T_sm, 1e3 * law.T_tdm, law.factor, 1.0])


@pytest.mark.long
def test_pie_and_rrul(tmp_path: Path) -> None:
    description = pie_arms.experiment(pie_arms.Setting().qdisc())
    file = with_claims(tmp_path, description, "pie-rrul")
    judged("pie-rrul", file, 3)


@pytest.mark.long
def test_buffer_sizing(tmp_path: Path) -> None:
    point = buffer_arms.LIGHT[0]
    description = buffer_arms.experiment(point, "persistent", 500, seed=1, duration_s=150)
    file = with_claims(tmp_path, description, "buffer-sizing")
    judged("buffer-sizing", file, 3)


def with_claims(folder: Path, description: Experiment, study: str) -> Path:
    """A file with a study's own description and the claims kept here."""
    described = as_written(description.resolved())
    text = "".join(f"{key} = {_toml(value)}\n" for key, value in described.items())
    file = folder / f"{study}.toml"
    file.write_text(text + (FILES / f"{study}.claims.toml").read_text())
    assert Experiment.from_toml(file).resolved_json() == description.resolved_json()
    return file


def _toml(value: Any) -> str:
    if isinstance(value, Mapping):
        pairs = (f"{json.dumps(key)} = {_toml(each)}" for key, each in value.items())
        return f"{{ {', '.join(pairs)} }}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(_toml(each) for each in value)}]"
    return json.dumps(value)
