"""bbr-share and l4s-adoption: what was printed, and the experiments as the sources set them."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dumbbell.claims import Verdict
from dumbbell.replication import Replications
from dumbbell.studies import StudyOptions, bbr_share, l4s_adoption
from dumbbell.studies.settings import Settings, Sought
from dumbbell.studies.short import ComparedPart, Trial


def the(experiment: Any, name: str) -> Any:
    (flow,) = (each for each in experiment.resolved()["flows"] if each["name"] == name)
    return flow


def line_of(experiment: Any) -> Any:
    return experiment.resolved()["links"][-1]["forward"]


def test_every_printed_cell_of_bbr_share_has_its_trials() -> None:
    assert len(bbr_share.PRINTED) == 3 * 7 * 6
    # One trial was left out, because its flows have more than the line together.
    assert {cell for cell, of in bbr_share.PRINTED.items() if len(of) != 3} == {("c", 64, 8)}
    for cell, trials in bbr_share.PRINTED.items():
        assert min(trials) > 0 and max(trials) < bbr_share.PANELS[cell[0]].rate
        assert 0 < bbr_share.model_mbps(cell) < bbr_share.PANELS[cell[0]].rate
    assert bbr_share.printed(("a", 1, 1)) == (8.11, 8.16)
    assert bbr_share.printed(("b", 16, 1)) == (21.22, 21.91)
    assert bbr_share.printed(("c", 64, 32)) == (5.34, 5.40)


def test_full_judges_all_cells_and_the_settings_and_quick_seven() -> None:
    full = bbr_share.BbrShare(StudyOptions(quick=False))
    assert {each.id for each in full.trials} == set(bbr_share.CELLS)
    assert any(isinstance(part, Settings) for part in full.parts)
    quick = bbr_share.BbrShare(StudyOptions(quick=True))
    assert len(quick.trials) == 7 and not any(isinstance(p, Settings) for p in quick.parts)


def test_a_cell_is_set_as_the_authors_notebook_has_it() -> None:
    of_b = bbr_share.line(1, ("b", 16, 4))
    resolved = of_b.resolved()
    assert resolved["duration_ns"] - resolved["warm_up_ns"] == 400_000_000_000
    # 50 Mbit/s times 30 ms are 187.5 kb, of 1024 bytes each.
    assert line_of(of_b)["qdisc"]["limit_bytes"] == 16 * 187_500 * 1024 // 1000
    assert line_of(of_b)["rate_bps"] == 50_000_000
    assert the(of_b, "other")["tcp"]["congestion_control"] == "cubic"
    assert the(of_b, "other")["tcp"]["receive_window_bytes"] == 32 << 20
    assert the(bbr_share.line(1, ("c", 1, 1)), "other")["tcp"]["congestion_control"] == "reno"


def test_the_kernel_runs_only_the_short_runs_of_panel_a() -> None:
    study = bbr_share.BbrShare(StudyOptions(quick=False, backends=("sim", "kernel")))
    asked = list(study.on_kernel())
    assert len(asked) == 42
    lengths = [each.resolved()["duration_ns"] // 1_000_000_000 for each in asked]
    assert [lengths.count(of) for of in (120, 240, 400)] == [37, 2, 3]
    assert {each.resolved()["guest"] for each in asked} == {"module"}


def searches() -> dict[str, Sought]:
    study = bbr_share.BbrShare(StudyOptions(quick=False))
    return {part.name: part.sought for part in study.parts if isinstance(part, Settings)}


def test_every_setting_differs_from_the_notebooks() -> None:
    deep, shallow = searches()["deep-buffers"], searches()["shallow-buffers"]
    for sought, settings, cells in ((deep, 9, 3), (shallow, 8, 4)):
        made = {key: each.resolved() for key, each in sought.arms.items()}
        assert len({str(each) for each in made.values()}) == len(made) == settings * cells
    told = deep.arms["as the notebook", "CUBIC on 50 Mbit/s, 16 BDP"].resolved()
    assert told == bbr_share.line(1, ("b", 16, 1)).resolved()
    assert shallow.printed["Reno on 10 Mbit/s, 2 BDP"] == bbr_share.printed(("c", 2, 1))


def test_a_longer_path_and_a_buffer_that_counts_payload_are_what_they_say() -> None:
    usual, both = (
        searches()["shallow-buffers"].arms[words, "CUBIC on 10 Mbit/s, 2 BDP"]
        for words in ("as the notebook", "both")
    )
    trips = [
        2 * sum(link["forward"]["delay_ns"] for link in each.resolved()["links"])
        for each in (usual, both)
    ]
    assert [each / 1e6 for each in trips] == pytest.approx([40, 40.4])
    limits = [line_of(each)["qdisc"]["limit_bytes"] for each in (usual, both)]
    assert limits[1] / limits[0] == pytest.approx(1514 / 1448, rel=1e-4)


def test_the_kernel_has_the_rows_of_cubic_at_10_mbit() -> None:
    study = l4s_adoption.L4sAdoption(StudyOptions(quick=True, backends=("kernel",)))
    asked = list(study.on_kernel())
    assert len(asked) == len(l4s_adoption.COMPARED) == 12
    for each in asked:
        resolved = each.resolved()
        greedy = [flow["tcp"] for flow in resolved["flows"] if flow["tcp"]]
        assert {tcp["congestion_control"] for tcp in greedy} == {"cubic"}
        assert all(tcp["ecn"] and tcp["gso_max_segs"] == 1 for tcp in greedy)
        assert (resolved["duration_ns"], resolved["warm_up_ns"]) == (120 * 10**9, 30 * 10**9)
    runs = {each.id: each.kernel_runs for each in study.trials if each.compared}
    assert {runs[id_] for id_ in runs if "pfifo" in id_} == {20}
    assert {runs[id_] for id_ in runs if "fq_codel" in id_} == {5}


def found_of(by_setting: dict[str, float]) -> Any:
    rng = np.random.default_rng(3)
    sought = searches()["deep-buffers"]
    values = {
        (setting, name): tuple(
            sum(sought.printed[name]) / 2 * by_setting.get(setting, 0.2) + rng.normal(0, 0.1, 10)
        )
        for setting, name in sought.arms
    }
    return Replications(values, n=10, stopped_because="")


def test_the_setting_that_gives_all_cells_is_named() -> None:
    part = Settings(searches()["deep-buffers"])
    (judged,) = part.judge(found_of({"as the notebook": 1.0}))
    assert judged.verdict is Verdict.EXPLAINED_AT
    assert judged.decision.at == ({"settings": "as the notebook"},)
    (judged,) = part.judge(found_of({}))
    assert judged.verdict is Verdict.NOT_EXPLAINED
    (table,) = part.tables(found_of({}))
    assert [row.name for row in table.rows] == ["printed", *bbr_share.DEEP]


def test_rows_of_l4s_are_those_of_the_sources_but_for_one_discipline() -> None:
    rows = l4s_adoption.ROWS.values()
    of_2025 = [row for row in rows if row.is_of_2025]
    assert len(of_2025) == 9 * 5 and all(len(row.printed) == 10 for row in of_2025)
    assert len(rows) - len(of_2025) == 192 - 48
    assert len(l4s_adoption.CUBIC) == 24
    middle, half = l4s_adoption.ROWS["2025-dualpi2-2-bdp"].interval()
    assert middle == pytest.approx(42.35, abs=0.01) and 0.5 < half < 1.5
    assert l4s_adoption.DECIDING["2020"].interval() == (34.09, 0.005)


def test_rows_of_l4s_are_set_as_their_sources_say() -> None:
    of_2025 = l4s_adoption.experiment(1, l4s_adoption.ROWS["2025-codel-2-bdp"])
    qdisc = line_of(of_2025)["qdisc"]
    assert qdisc["kind"] == "codel" and qdisc["limit_packets"] == 167
    assert not the(of_2025, "second")["tcp"]["ecn"]
    assert the(of_2025, "first")["tcp"].get("rtt_independence", True)
    assert of_2025.resolved()["duration_ns"] == 60_000_000_000
    id_ = "2020-pfifo-50-prague-80-cubic-20"
    of_2020 = l4s_adoption.experiment(1, l4s_adoption.ROWS[id_])
    assert line_of(of_2020)["qdisc"]["limit_packets"] == 1000
    assert the(of_2020, "second")["tcp"]["ecn"]
    assert not the(of_2020, "first")["tcp"]["rtt_independence"]
    assert the(of_2020, "first")["from"] != the(of_2020, "second")["from"]
    delays = {link["a"]: link["forward"]["delay_ns"] for link in of_2020.resolved()["links"]}
    assert 2 * (delays["far"] + delays["router"]) == 80_000_000
    assert 2 * (delays["sender"] + delays["router"]) == 20_000_000


def test_both_settings_are_varied_in_each_sources_network() -> None:
    for year in l4s_adoption.DECIDING:
        trial = l4s_adoption.deciding(1, year)
        assert len(trial.arms) == 4
        made = {
            (
                line_of(each)["qdisc"]["target_ns"],
                the(each, "first")["tcp"].get("rtt_independence", True),
            )
            for each in trial.arms.values()
        }
        assert made == {(ms * 1_000_000, on) for ms in (5, 15) for on in (True, False)}


@pytest.mark.usefixtures("pretended_kernel")
def test_backends_are_compared_by_the_short_runs() -> None:
    study = bbr_share.BbrShare(
        StudyOptions(quick=True, replications=5, backends=("kernel",), jobs=1)
    )
    short = study.trials[0]
    assert isinstance(short, Trial)
    study.parts = [part for part in study.parts if part.name == f"{short.id}, compared"]
    assert isinstance(study.parts[0], ComparedPart)
    report = study.report()
    (judged,) = report.judged
    assert judged.claim.id == f"{short.id}-agreement" and judged.verdict is Verdict.REPRODUCED
    (table,) = report.values
    assert table.columns == ["simulator", "Linux kernel"]
    assert not report.figures


AGREED = 42
"""Cells of figure 2a in which the kept run agrees, of 42."""
FULL = json.loads((Path(__file__).parent / "full_verdicts.json").read_text(encoding="utf-8"))


def test_in_the_kept_run_simulator_and_kernel_agree_wherever_they_were_compared() -> None:
    """Kept by ``dumbbell reproduce bbr-share --full --backend kernel``, of 0.14.0 and 0.15.0."""
    kept = {row.removeprefix("kernel/"): of["verdict"] for row, of in FULL["bbr-share"].items()}
    study = bbr_share.BbrShare(StudyOptions(quick=False, backends=("kernel",)))
    compared = {f"{each.id}-agreement" for each in study.trials if each.compared}
    assert len(compared) == 42 and set(kept) <= compared
    verdicts = Counter(kept.values())
    assert verdicts == {"reproduced": AGREED}
