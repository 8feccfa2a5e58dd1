"""Advice on lines that are known: what is chosen, what is refused, and what it types."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from dumbbell import _engine, simulate
from dumbbell.errors import SpecError
from dumbbell.metrics import goodput_bps, ping_rtt_quantiles_ms
from dumbbell.spec import Experiment
from dumbbell.spec.home import Technology
from dumbbell.twin.advice.advising import Trial, advise, chosen, use_experiment, why_no_advice
from dumbbell.twin.advice.candidates import Candidate, candidates
from dumbbell.twin.advice.known_line import KnownLine, known_line, known_line_of, read_known_line
from dumbbell.twin.advice.uses import PROBE, USES, flow_names, use_of
from dumbbell.twin.fitting import Loaded
from dumbbell.twin.line import PLAIN, Line, LineEnd, QueueModel
from dumbbell.twin.prediction import predict
from dumbbell.twin.result import Trust, Twin
from dumbbell.twin.scene import MeasuredFlow, Scene, Way
from dumbbell.twin.simulated import simulated
from dumbbell.twin.typed import TypedNumbers, twin_of_numbers

BACKUP = USES[0]


def bloated() -> Twin:
    """2 Mbit/s up with 480 ms of buffer, 8 down with little."""
    typed = TypedNumbers(2_000_000, 8_000_000, 20_000_000, 500_000_000, 25_000_000)
    return twin_of_numbers(typed, seed=1)


def trial(name: str, waits_ms: float, mbps: float) -> Trial:
    qdisc = "" if name == "nothing" else "cake"
    goodput = {Way.UP: (mbps - 0.01, mbps + 0.01)}
    return Trial(Candidate(name, qdisc), (waits_ms - 0.1, waits_ms + 0.1), (0.0, 0.0), goodput)


@pytest.mark.parametrize(
    ("trials", "best", "runner_up"),
    [
        # As short as the shortest within 2 ms, then the most throughput.
        ([("nothing", 500, 10.0), ("a", 20, 8.0), ("b", 21.5, 9.0)], "b", "a"),
        ([("nothing", 500, 10.0), ("a", 20, 8.0), ("b", 22.5, 9.0)], "a", "b"),
        # Nothing at all, where it is as good.
        ([("nothing", 20, 9.95), ("a", 20, 10.0)], "nothing", "a"),
        ([("nothing", 20, 9.5), ("a", 20, 10.0)], "a", "nothing"),
    ],
)
def test_the_rule(trials: list[tuple[str, float, float]], best: str, runner_up: str) -> None:
    advice = chosen(BACKUP, [trial(*each) for each in trials])
    assert advice.best.candidate.name == best
    assert advice.runner_up.candidate.name == runner_up


@pytest.mark.slow
def test_a_bloated_upload_gets_shaped_and_the_call_stops_waiting() -> None:
    known = known_line_of(bloated())
    advice = advise(known, BACKUP, jobs=1)
    assert advice.best.candidate.qdisc in ("cake", "fq_codel")
    assert advice.nothing.round_trip.value > 250
    assert advice.best.round_trip.value < 60
    # Within the rate that is left: at least 80 % of it, and no more than all.
    assert 0.75 * 2.0 < advice.best.goodput(Way.UP).value < 2.1
    again = advise(known, BACKUP, jobs=2)
    assert again == advice


def test_what_was_not_measured_and_what_predicts_badly_get_no_advice() -> None:
    document = bloated().document
    document["trust"] = Trust.FAILS.value
    assert "does not predict" in why_no_advice(known_line(document, "twin"), BACKUP)
    document = bloated().document
    document["parameters"] = [p for p in document["parameters"] if p["name"] != "rate up"]
    assert "not measured up" in why_no_advice(known_line(document, "twin"), BACKUP)
    document = bloated().document
    document["disciplines"] = {"up": {"distances": {"FIFO": 87.2, "AQM": None}}}
    assert "explains the delays up" in why_no_advice(known_line(document, "twin"), BACKUP)
    document["disciplines"] = {"up": {"distances": {"FIFO": 2.1}}}
    assert not why_no_advice(known_line(document, "twin"), BACKUP)


def test_settings_are_lines_that_an_experiment_takes_and_a_router_too() -> None:
    twin = bloated()
    for each in candidates(twin.line, list(Way)):
        line = each.on(twin.line)
        Experiment.model_validate({"duration": "1s", "links": line.links()})
        if not each.qdisc:
            assert line.router_up == PLAIN and not each.tc_lines and not each.sqm_stanza
            continue
        up_kbit = dict(each.rates_bps)[Way.UP] // 1000
        assert f"{up_kbit}kbit" in each.tc_lines[0] and f"{up_kbit}kbit" in line.router_up
        assert f"option upload '{up_kbit}'" in each.sqm_stanza
        assert 0.79 * twin.line.up.rate_bps < 1000 * up_kbit < twin.line.up.rate_bps


@pytest.mark.parametrize("kind", list(Technology), ids=lambda kind: kind.word)
def test_a_technology_keeps_the_rate_of_full_packets(kind: Technology) -> None:
    """Small packets take longer, by the overhead; a flow gets what it gets without."""
    up, down = (LineEnd(rate, QueueModel.FIFO, 120_000) for rate in (2_000_000, 8_000_000))
    plain = Line(up, down, 20_000_000)
    goodputs, waits_ms = [], []
    for line in (plain, replace(plain, technology=kind)):
        run = simulate(use_experiment(line, BACKUP, seed=1))
        goodputs.append(sum(goodput_bps(run, name) for name in flow_names(BACKUP.flows)))
        idle = Experiment.model_validate(
            {"duration": "2s", "links": line.links(), "probes": [dict(BACKUP.probe)]}
        )
        waits_ms.append(float(ping_rtt_quantiles_ms(simulate(idle), 0.5, [PROBE])))
    assert goodputs[1] == pytest.approx(goodputs[0], rel=0.01)
    # 200 bytes of IP packet at 2 and 8 Mbit/s, beside 214 with an Ethernet header.
    full = kind.full_packet_bytes / 1514
    small = {
        "atm": 53 * -(-(200 + kind.overhead_bytes) // 48),
        "ptm": (200 + kind.overhead_bytes) * 65 / 64,
    }
    on_line = small.get(kind.framing.value, 200 + kind.overhead_bytes)
    longer_ms = 8e3 * (on_line / full - 214) * (1 / plain.up.rate_bps + 1 / plain.down.rate_bps)
    assert waits_ms[1] - waits_ms[0] == pytest.approx(longer_ms, abs=0.02)


def test_on_a_line_of_known_technology_cake_is_tried_with_its_overhead() -> None:
    known = known_line_of(bloated()).of_technology(Technology.ADSL_PPPOE)
    assert {line.technology for line in known.drawn(5, 1)} == {Technology.ADSL_PPPOE}
    tried = list(candidates(known.line, [Way.UP]))
    with_overhead = [each for each in tried if each.overhead]
    assert len(with_overhead) == 5 and len(tried) == 14
    for each in with_overhead:
        assert each.tc_lines[0].endswith("besteffort pppoe-llcsnap")
        assert "option eqdisc_opts 'pppoe-llcsnap'" in each.sqm_stanza
        up_bps = dict(each.rates_bps)[Way.UP]
        # 33 cells of 53 bytes take the time of 1514.
        assert up_bps < known.line.up.rate_bps * 33 * 53 / 1514
        Experiment.model_validate({"duration": "1s", "links": each.on(known.line).links()})


def test_lines_are_drawn_from_the_intervals_the_first_is_the_twins() -> None:
    known = known_line_of(bloated())
    drawn = known.drawn(200, seed=1)
    assert drawn[0] == known.line and drawn == known.drawn(200, seed=1)
    rates = sorted(line.up.rate_bps / known.line.up.rate_bps for line in drawn[1:])
    assert 0.93 < rates[10] < 0.97
    assert 1.03 < rates[-10] < 1.07


def test_uses_have_words_and_sentences_and_may_be_a_file(tmp_path: Path) -> None:
    assert use_of("a call while a backup runs") is use_of("call-and-backup") is BACKUP
    with pytest.raises(SpecError, match="call-and-backup"):
        use_of("call-and-backups")
    mine = tmp_path / "mine.toml"
    mine.write_text(
        '[[flows]]\nname = "films"\nfrom = "server"\nto = "laptop"\nsource = { kind = "greedy" }\n'
        '[[probes]]\nname = "shell"\nfrom = "laptop"\nto = "server"\ninterval = "100ms"\n'
    )
    use = use_of(str(mine))
    assert use.ways == [Way.DOWN] and use.what == "shell"
    mine.write_text("duration = '1s'\n")
    with pytest.raises(SpecError, match="probes"):
        use_of(str(mine))


@pytest.mark.parametrize(
    "change",
    [
        {"trust": "\x1b[31m"},
        {"line": []},
        {"line": {"rtt_ns": float("inf")}},
        {"parameters": 7},
        {"line": {"rtt_ns": 10**7, "up": {"model": "bfifo", "rate_bps": -1, "size": 9000}}},
    ],
)
def test_a_damaged_twin_is_refused(tmp_path: Path, change: dict[str, object]) -> None:
    file = tmp_path / "twin.json"
    file.write_text(json.dumps(bloated().document | change))
    with pytest.raises(SpecError) as refused:
        read_known_line(file)
    assert "\x1b" not in str(refused.value)


def test_on_a_line_far_slower_up_cake_also_filters_acknowledgements() -> None:
    up, down = (LineEnd(rate, QueueModel.FIFO, 120_000) for rate in (1_000_000, 10_000_000))
    line = Line(up, down, 20_000_000)
    filtering = [each for each in candidates(line, list(Way)) if each.filters_acks]
    assert filtering[0].name == "cake ack-filter at 80 %"
    assert len(filtering) == 5
    for each in filtering:
        assert each.tc_lines[0].endswith("besteffort ack-filter")
        assert each.tc_lines[-1].endswith("besteffort")
        assert "option eqdisc_opts 'ack-filter'" in each.sqm_stanza
        assert "option iqdisc_opts ''" in each.sqm_stanza
        routed = each.on(line)
        assert "ack-filter" in routed.router_up and "ack-filter" not in routed.router_down
        Experiment.model_validate({"duration": "1s", "links": routed.links()})
    faster = replace(line, up=replace(up, rate_bps=1_010_000))
    for known, ways in ((faster, list(Way)), (line, [Way.UP])):
        assert not any(each.filters_acks for each in candidates(known, ways))


def test_a_twin_is_read_back_as_it_was_written(tmp_path: Path) -> None:
    (tmp_path / "twin.json").write_text(json.dumps(bloated().document))
    read = read_known_line(tmp_path)
    assert isinstance(read, KnownLine) and read == known_line_of(bloated())


def test_typed_commands_are_what_was_simulated() -> None:
    known = known_line_of(bloated())
    for candidate in candidates(known.line, list(Way)):
        if not candidate.qdisc:
            assert candidate.tc_lines == []
            continue
        script = json.loads(_engine.split_script("\n".join(candidate.tc_lines)) or "{}")
        simulated_as = candidate.on(known.line)
        for text, of_router in (
            (script["qdisc"], simulated_as.router_up),
            (script["arriving_qdisc"], simulated_as.router_down),
        ):
            assert _engine.parse_qdisc(text) == _engine.parse_qdisc(of_router)


@pytest.mark.slow
def test_a_promise_is_kept_by_the_advised_line_and_not_by_the_line_as_it_was() -> None:
    known = known_line_of(bloated())
    cake = next(each for each in candidates(known.line, [Way.UP]) if each.name == "cake at 90 %")
    advised = cake.on(known.line)
    t_s = np.array([0.0, 15.0])
    upload = MeasuredFlow(Way.UP, t_s, t_s * 2e5, np.full(2, np.nan))
    load = Scene(source="upload", begin_s=0.0, end_s=15.0, flows=(upload,))

    def measured_on(line: Line) -> Scene:
        ((scene,),) = simulated([line], load, seed=9, replications=range(1), jobs=1)
        return scene

    def promise(afterwards: Scene) -> list[bool]:
        found = predict(advised, [Loaded(afterwards)], seed=4, jobs=1)
        return [each.is_inside for each in found]

    assert promise(measured_on(advised)) == [True, True, True]
    assert not all(promise(measured_on(known.line)))
