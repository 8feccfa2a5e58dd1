"""Linux's sixteen controllers in the simulator against the kernel's, on six networks of the
reference grid; and our own against Linux's. The page's tables are of today's code.

`scripts/kernel_controllers.py` has the networks, the margins and what lies outside of them, and
renews what was kept of the kernel.
"""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
import reference_grid as grid

from dumbbell.backends.native import built, kernel_source
from dumbbell.backends.native.linux_source import DEBIANS
from dumbbell.spec.linux import keep, name_built

sys.path.insert(0, str(Path(__file__).parents[2] / "scripts"))
import kernel_controllers as linux

slow = [
    pytest.mark.slow,
    pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler (apt: gcc)"),
    pytest.mark.skipif(not DEBIANS.is_file(), reason=f"no {DEBIANS} (apt: linux-source-6.1)"),
]
KEPT: Mapping[str, linux.Runs] = linux.read_kept()["runs"]


@pytest.fixture(scope="module")
def debians(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """All of Debian's, built in a cache of this file's own."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
        patch.delenv("CC", raising=False)
        source = kernel_source(DEBIANS)
        place = str(source.place)
        kept = [keep(files, source.version, place) for files in source.controllers()]
        assert all(built(each.sha256) for each in kept)
        name_built(kept)
        yield


@pytest.fixture(scope="module")
def simulator(debians: None) -> Mapping[str, linux.Runs]:
    return {name: linux.measured(name, "sim") for name in KEPT}


@pytest.fixture(scope="module")
def page() -> str:
    return linux.PAGE.read_text(encoding="utf-8")


def test_what_has_run_on_the_kernel_is_whole() -> None:
    assert sorted(KEPT) == sorted(linux.NAMES)
    assert len(linux.NAMES) == 16
    for name, runs in KEPT.items():
        assert list(runs) == [cell.name for cell in linux.networks(name)]
        assert {len(rows) for rows in runs.values()} == {grid.REPLICATIONS}


def test_the_networks_are_the_grids() -> None:
    places = {(cell.queue, cell.rate_mbps, cell.rtt_ms, cell.flows) for cell in grid.cells()}
    assert set(linux.NETWORKS) <= places
    assert len(set(linux.NETWORKS)) == 6


def test_margins_are_those_that_hold_for_the_grid() -> None:
    import test_agreement as agreement

    margins = {measure: linux.MARGINS[measure] for measure in agreement.MEASURES}
    assert margins == agreement.BOUNDS
    assert linux.SMALL["queueing_delay_mean_ms"] == agreement.SMALL_DELAY_MS


def test_an_excess_is_counted_from_the_nearer_end() -> None:
    def excess(ours: float, measure: str = "goodput_mbps") -> float:
        return linux.Difference(measure, "place", [ours] * 3, [10.0, 9.0, 12.0]).excess

    assert excess(11) == 0
    assert excess(15) == pytest.approx(0.25)
    assert excess(6) == pytest.approx(1 / 3)
    assert excess(14, "retransmitted_pkts") == 0
    assert linux.Difference("retransmitted_pkts", "place", [6.0] * 3, [0.0] * 3).is_outside


class TestRuns:
    pytestmark = slow

    def test_what_is_outside_the_margins_is_named_with_its_cause(
        self, simulator: Mapping[str, linux.Runs]
    ) -> None:
        outside = {
            (name, each.place, each.measure): f"{each.simulator} {each.kernel}"
            for name in KEPT
            for each in linux.differences(simulator[name], KEPT[name])
            if each.is_outside
        }
        assert outside.keys() == linux.OUTSIDE.keys(), outside

    def test_the_page_has_the_table(self, simulator: Mapping[str, linux.Runs], page: str) -> None:
        assert linux.between(page, "beside the kernel")[1] == linux.kernel_table(simulator, KEPT)

    def test_ours_give_the_digests_of_linuxs_or_the_page_says_why(
        self, debians: None, page: str
    ) -> None:
        found = {name: linux.twins(name) for name in linux.TWINS}
        differing = {name for name, each in found.items() if each.same < len(each.ratios)}
        assert differing == set(linux.WHY)
        assert linux.between(page, "beside linux")[1] == linux.twins_table(found)
