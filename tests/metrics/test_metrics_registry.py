from __future__ import annotations

import inspect
from pathlib import Path

import pytest

from dumbbell import metrics
from dumbbell.metrics import METRICS

DOCS = Path(__file__).parents[2] / "docs" / "metrics.md"


def test_the_page_is_current() -> None:
    assert DOCS.read_text(encoding="utf-8") == metrics.metrics_markdown(), (
        "python -m dumbbell.metrics > docs/metrics.md"
    )


def test_every_public_function_of_a_run_is_registered() -> None:
    public = [getattr(metrics, name) for name in metrics.__all__]
    of_a_run = {
        each.__name__
        for each in public
        if inspect.isfunction(each) and "run" in inspect.signature(each).parameters
    }
    assert of_a_run == METRICS.keys()
    assert METRICS.keys() <= set(metrics.__all__)


@pytest.mark.parametrize("name", METRICS)
def test_a_metric_is_defined_with_its_unit(name: str) -> None:
    each = METRICS[name]
    assert each.definition
    assert each.unit
    suffixes = {"_s": "s", "_ms": "ms", "_bps": "bit/s", "_pps": "/s", "_pkts": "packets"}
    for suffix, unit in suffixes.items():
        if name.endswith(suffix):
            assert each.unit.endswith(unit), name


def test_importing_the_metrics_loads_no_plotting() -> None:
    page = metrics.metrics_markdown()
    assert page.count("### `") == len(METRICS)
