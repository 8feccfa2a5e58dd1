"""``[sweep]``: cells, their bases, and errors."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from dumbbell.compare import Comparison, Outcome, Sweep, sentences, sweep_of
from dumbbell.compare.judging import BackendAgreement
from dumbbell.compare.quantity import Quantity
from dumbbell.compare.sweep_page import runs_frame
from dumbbell.compare.sweep_plans import HeatMap, Lines, Pareto, better_sign
from dumbbell.compare.sweeps import MOST_CELLS
from dumbbell.errors import SpecError
from dumbbell.spec import Setting
from small_networks import home_line

LINE = home_line("2s")
QDISC, DELAY, RATE = "links[isp->home].qdisc", "links[server->isp].delay", "links[isp->home].rate"
CALL = "probe[call].rtt_p95_ms"
CROSSED = f"""
[sweep]
replications = 4
quantities = ["{CALL}", "flows[bulk].total_goodput_bps"]
"{QDISC}" = ["pfifo limit 200", "fq_codel"]
"{DELAY}" = ["5ms", "40ms"]
"""


def sweep(tables: str, *settings: str) -> Sweep:
    return sweep_of(LINE + tables, [Setting.parse(each) for each in settings])


@pytest.fixture(scope="module")
def found() -> Comparison:
    return sweep(CROSSED).run()


def test_values_are_crossed_and_cells_know_where_they_stand() -> None:
    made = sweep(CROSSED)
    assert [each.label for each in made.cells] == [
        "pfifo limit 200, 5 ms",
        "pfifo limit 200, 40 ms",
        "fq_codel, 5 ms",
        "fq_codel, 40 ms",
    ]
    assert made.grid.coordinates(made.cells[1].place) == {QDISC: "pfifo limit 200", DELAY: 40.0}
    described = made.cells[3].experiment.resolved()
    assert described["links"][0]["forward"]["delay_ns"] == 40_000_000
    assert described["links"][1]["forward"]["qdisc"]["kind"] == "fq_codel"
    assert made.replications == 4


def test_zipped_values_go_together() -> None:
    made = sweep(f"""
[sweep]
"{QDISC}" = ["pfifo", "pie"]
[[sweep.zip]]
"{DELAY}" = ["5ms", "40ms", "80ms"]
"{RATE}" = ["1mbit", "10mbit", "100mbit"]
""")
    assert len(made.cells) == 6
    assert {
        (made.grid.coordinates(each.place)[DELAY], made.grid.coordinates(each.place)[RATE])
        for each in made.cells
    } == {(5.0, 1.0), (40.0, 10.0), (80.0, 100.0)}


def test_ranges_and_texts_around_values() -> None:
    made = sweep(f"""
[sweep]
"{QDISC}" = {{ text = "pfifo limit {{}}", from = 10, to = 1000, steps = 3, scale = "log", name = "buffer", unit = "packets" }}
"{DELAY}" = {{ from = "5ms", to = "25ms", steps = 5 }}
""")  # noqa: E501  a value of TOML stands on one line
    buffer, delay = made.grid.axes
    assert buffer.values == ("pfifo limit 10", "pfifo limit 100", "pfifo limit 1000")
    assert buffer.coordinates == (10.0, 100.0, 1000.0)
    assert buffer.title == "buffer (packets)"
    assert buffer.is_log and not delay.is_log
    assert delay.values == ("5ms", "10ms", "15ms", "20ms", "25ms")
    assert delay.title == "delay (ms)"


def test_the_command_line_overrides_and_adds() -> None:
    fixed = sweep(CROSSED, f"{QDISC}=pie")
    assert [each.label for each in fixed.cells] == ["5 ms", "40 ms"]
    assert {each.experiment.resolved()["links"][1]["forward"]["qdisc"]["kind"]
            for each in fixed.cells} == {"pie"}  # fmt: skip
    other = sweep(CROSSED, f"{QDISC}=pie", f"{QDISC}=codel", "flows[bulk].count=3")
    assert [each.label for each in other.cells][:2] == ["pie, 5 ms", "pie, 40 ms"]
    assert all(len(each.experiment.resolved()["flows"]) == 3 for each in other.cells)
    more = sweep(CROSSED, "duration=1s", "duration=2s")
    assert len(more.cells) == 8
    assert more.grid.axes[-1].title == "duration (s)"


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (RATE, "links[1].rate"),
        (RATE, "links[isp->home].forward.rate"),
        ("links[1].reverse.rate", RATE),
    ],
)
def test_two_parameters_are_of_two_settings(one: str, other: str) -> None:
    values = '["1mbit", "2mbit"]'
    crossed = f'[sweep]\n"{one}" = {values}\n"{other}" = ["3mbit", "4mbit"]\n'
    zipped = f'[[sweep.zip]]\n"{one}" = {values}\n"{other}" = {values}\n'
    axis = f'[sweep]\n"{one}" = {values}\n'
    for tables, settings in (
        (crossed, ()),
        (zipped, ()),
        (axis + f'[[sweep.zip]]\n"{other}" = {values}\n', ()),
        (axis, ("links[0].delay=3ms", f"{DELAY}=5ms")),
        ("", (f"{one}=1mbit", f"{one}=2mbit", f"{other}=3mbit")),
    ):
        with pytest.raises(SpecError) as refused:
            sweep(tables, *settings)
        paths = {each.partition("=")[0] for each in settings} or {one, other}
        assert all(path in str(refused.value) for path in paths)
        assert refused.value.reason is not None


def test_the_command_line_may_spell_a_parameter_of_the_file_otherwise() -> None:
    fixed = sweep(CROSSED, "links[1].qdisc=pie")
    assert [each.label for each in fixed.cells] == ["5 ms", "40 ms"]
    assert {each.experiment.resolved()["links"][1]["forward"]["qdisc"]["kind"]
            for each in fixed.cells} == {"pie"}  # fmt: skip
    other = sweep(CROSSED, "links[1].qdisc=pie", "links[1].qdisc=codel")
    assert [each.label for each in other.cells][:2] == ["pie, 5 ms", "pie, 40 ms"]
    assert len(other.cells) == 4
    with pytest.raises(SpecError, match="sets the same value"):
        sweep(CROSSED, "links[1].forward.qdisc=pie")


@pytest.mark.parametrize(
    ("tables", "said"),
    [
        ("[sweep]\nreplication = 3", "sweep.replication: .*did you mean 'replications'"),
        (f'[sweep]\n"{DELAY}" = "5ms"', "sweep.links.*'5ms'.*a list of values"),
        ("[sweep]\nlinks.delay = [1]\n", 'in quotation marks, such as "links.delay"'),
        ('[sweep]\n"links[isp->hom].rate" = ["1mbit"]', "did you mean 'isp->home'"),
        (f'[sweep]\n"{DELAY}" = ["5ms", "5ms"]', "values that differ from each other"),
        ("[sweep]", "at least one path with values"),
        ("[sweep]\nreplications = 2\nprecision = 0.1", "either replications or precision"),
        (f'[[sweep.zip]]\n"{DELAY}" = ["5ms"]\n"{RATE}" = ["1mbit", "2mbit"]', "2 values"),
        ("[sweep]\nseed = { from = 1, to = 10000, steps = 10000 }\n"
         f'"{DELAY}" = ["1ms", "2ms"]', f"20000 cells.*at most {MOST_CELLS} cells"),
        (f'[sweep]\nquantities = ["probe[cal].rtt_p95_ms"]\n"{DELAY}" = ["5ms"]',
         r"sweep.quantities\[0\]: .*did you mean 'probe\[call\].rtt_p95_ms'"),
        ('[sweep]\n"" = [1, 2]', "a path such as"),
        ("[sweep]\nreplications = 0", "sweep.replications: '0'.* at least 1"),
        (f'[sweep]\n"{DELAY}" = []', "a list of at least 1"),
        (f'[sweep]\n"{DELAY}" = {{ from = nan, to = 3, steps = 3 }}',
         r"delay.from: 'nan'.*; a finite number"),
        (f'[sweep]\ncompare = "qdsc"\n"{QDISC}" = ["pie"]', "sweep.compare.*did you mean 'qdisc'"),
    ],
)  # fmt: skip
def test_what_is_refused_says_where_and_what_is_allowed(tables: str, said: str) -> None:
    with pytest.raises(SpecError, match=said):
        sweep(tables)


FIGURE = '[[figure]]\nkind = "lines"\nx = "delay"\n'


@pytest.mark.parametrize(
    ("figure", "said"),
    [
        (f'[[figure]]\nkind = "line"\nx = "delay"\ny = "{CALL}"', "did you mean 'lines'"),
        (FIGURE + f'y = "{CALL}"', "nothing for qdisc.*`colour`, `facet` or `where`"),
        (FIGURE + f'y = "{CALL}"\ncolour = "qdsc"', r"figure\[0\].colour.*did you mean 'qdisc'"),
        (FIGURE + 'y = "probe[call].rtt_p95_m"', r"figure\[0\].y.*did you mean 'rtt_p95_ms'"),
        (FIGURE + 'y = "flow[bulk].goodput_bps"', r"figure\[0\].y"),
        (FIGURE + f'y = "{CALL}"\nwhere = {{ qdisc = "fq_cdel" }}', "did you mean 'fq_codel'"),
        ('[[figure]]\nkind = "heatmap"\nx = "delay"\ny = "qdisc"', "colour"),
        ('[[figure]]\nkind = "pareto"\ny = "flows[bulk].total_goodput_bps"\n'
         'x = "queue[isp->home].arrival_rate_pps"', "x_better.*'less' or 'more'"),
    ],
)  # fmt: skip
def test_figures_are_checked_before_anything_is_run(figure: str, said: str) -> None:
    with pytest.raises(SpecError, match=said):
        sweep(CROSSED + figure)


def test_a_parameter_may_be_spelled_otherwise_wherever_it_is_named() -> None:
    """By what a path leads to and what a value sets, as with ``--set`` and in claims."""
    tables = CROSSED.replace("replications = 4", 'replications = 4\ncompare = "links[0].delay"')
    figures = f"""
[[figure]]
kind = "lines"
x = "links[0].delay"
y = "{CALL}"
colour = "links[1].qdisc"
[[figure]]
kind = "heatmap"
x = "delay"
y = "links[1].qdisc"
colour = "{CALL}"
[[figure]]
kind = "lines"
x = "links[0].delay"
y = "{CALL}"
where = {{ "links[1].qdisc" = "pfifo  limit 200" }}
[[figure]]
kind = "lines"
x = "links[1].qdisc"
y = "{CALL}"
where = {{ "links[0].delay" = "5000us" }}
"""
    as_named = (
        figures.replace("links[0].delay", "delay")
        .replace("links[1].qdisc", "qdisc")
        .replace("pfifo  limit", "pfifo limit")
        .replace("5000us", "5ms")
    )
    made, named = sweep(tables + figures), sweep(tables + as_named)
    assert made.grid.along == sweep(CROSSED).grid.number(DELAY, "")
    assert made.figures == named.figures
    # Of those that the command line gave one value, too.
    fixed = sweep(tables + figures, "links[1].qdisc=pie")
    assert len(fixed.figures) == 2 and fixed.grid.along == 0
    (line, _) = fixed.figures
    assert isinstance(line, Lines) and line.colour is None


@pytest.mark.parametrize("first", ["qdisc", QDISC])
def test_one_parameter_under_two_names_is_refused(first: str) -> None:
    where = f'"{first}" = "fq_codel", "links[1].qdisc" = "fq_codel"'
    with pytest.raises(SpecError, match="one parameter") as refused:
        sweep(CROSSED + FIGURE + f'y = "{CALL}"\nwhere = {{ {where} }}\n')
    assert refused.value.path == "figure[0].where.links[1].qdisc"
    assert refused.value.allowed == f"either {first} or links[1].qdisc"


def test_a_value_that_two_of_the_sweep_set_is_refused() -> None:
    qdiscs = f'"{QDISC}" = ["pfifo limit 20", "pfifo  limit 20"]'
    tables = f'[sweep]\n{qdiscs}\n"{DELAY}" = ["1ms", "9ms"]\n'
    figure = FIGURE + f'y = "{CALL}"\nwhere = {{ qdisc = "pfifo limit  20" }}\n'
    with pytest.raises(SpecError, match="each of them sets the same") as refused:
        sweep(tables + figure)
    assert refused.value.allowed == "one of pfifo limit 20, pfifo  limit 20"


def test_figures_do_without_a_parameter_that_has_one_value_by_now() -> None:
    tables = CROSSED + FIGURE + f'y = "{CALL}"\ncolour = "qdisc"\n'
    (plan,) = sweep(tables, f"{QDISC}=pie").figures
    assert isinstance(plan, Lines) and plan.colour is None
    assert not sweep(tables, f"{DELAY}=7ms").figures


def test_each_cell_is_compared_with_the_first_value_all_else_equal(found: Comparison) -> None:
    pairs = {(each.cell, each.base) for each in found.differences}
    assert pairs == {
        ("fq_codel, 5 ms", "pfifo limit 200, 5 ms"),
        ("fq_codel, 40 ms", "pfifo limit 200, 40 ms"),
    }
    assert len(found.differences) == 4
    row = found.difference(CALL, "fq_codel, 40 ms")
    before, after = (
        found.replicates(each, "").values(Quantity.parse(CALL))
        for each in ("pfifo limit 200, 40 ms", "fq_codel, 40 ms")
    )
    assert row.measured.value == pytest.approx((after - before).mean())
    assert row.outcome is Outcome.DIFFERS
    (said,) = sentences(found)
    assert said.startswith("fq_codel in place of pfifo limit 200, 2 pairs of cells: ")
    assert "call: round trip, 95 % lower in all (by " in said


def test_compare_names_another_parameter() -> None:
    made = sweep(CROSSED.replace("replications = 4", f'replications = 2\ncompare = "{DELAY}"'))
    bases = {(each.cell, each.base) for each in made.run().differences}
    assert ("fq_codel, 40 ms", "fq_codel, 5 ms") in bases


def test_it_says_in_how_many_cells_backends_agree(found: Comparison) -> None:
    delay, goodput = found.quantities
    labels = [cell.label for cell in found.cells]
    (number,) = {found.measured(delay, labels[0])}

    def beside(quantity: Quantity, outcomes: str, margin: float | None) -> list[BackendAgreement]:
        of = {"=": Outcome.SAME, "*": Outcome.DIFFERS, "?": Outcome.OPEN}
        return [
            BackendAgreement(quantity, label, "kernel", "sim", number, margin, of[each])
            for label, each in zip(labels, outcomes, strict=True)
        ]

    both = replace(found, backends=("sim", "kernel"))
    agreements = (*beside(delay, "==*?", 0.001), *beside(goodput, "====", 1e5))
    (said,) = [
        each
        for each in sentences(replace(both, agreements=agreements))
        if each.startswith("kernel and sim")
    ]
    assert said == (
        "kernel and sim, 4 cells: call: round trip, 95 % agree in 2, disagree in 1, "
        "not decided in 1; bulk: goodput, sum agree in all."
    )
    free = replace(both, quantities=(delay,), agreements=tuple(beside(delay, "????", None)))
    assert sentences(free)[-1].endswith("4 cells: call: round trip, 95 % without a margin in all.")


def test_a_wrong_cell_costs_itself() -> None:
    made = sweep(CROSSED.replace('"fq_codel"', '"fq_codel", "fq_codle"'))
    assert len(made.cells) == 4
    assert [each.label for each in made.refused] == ["fq_codle, 5 ms", "fq_codle, 40 ms"]
    assert made.grid.coordinates(made.refused[1].place) == {QDISC: "fq_codle", DELAY: 40.0}
    again = made.refused[0].command
    assert f"--set '{QDISC}=fq_codle'" in again and f"--set '{DELAY}=5ms'" in again
    assert len(made.run(replications=1).failed) == 2


def test_every_number_of_every_run_with_its_parameters(found: Comparison) -> None:
    assert found.grid is not None
    frame = runs_frame(found, found.grid)
    assert frame.height == 16
    assert frame[DELAY].to_list()[:8] == [5.0] * 4 + [40.0] * 4
    assert frame["replication"].to_list()[:5] == [0, 1, 2, 3, 0]
    of_cell = frame.filter((frame[QDISC] == "fq_codel") & (frame[DELAY] == 5.0))
    assert of_cell[CALL].to_numpy().tolist() == pytest.approx(
        found.replicates("fq_codel, 5 ms").values(Quantity.parse(CALL)).tolist()
    )


def test_a_precision_is_asked_of_each_cell_for_itself() -> None:
    tables = CROSSED.replace("replications = 4", "precision = 0.3")
    found = sweep(tables).run()
    assert not found.imprecise
    assert all("precise enough" in each.stopped_because for each in found.results.values())


def test_plans_by_default_say_which_is_better() -> None:
    assert better_sign(Quantity.parse(CALL)) == -1
    assert better_sign(Quantity.parse("flow[a].goodput_bps")) == 1
    assert better_sign(Quantity.parse("queue[a->b].loss_ratio")) == -1
    assert better_sign(Quantity.parse("queue[a->b].arrival_rate_pps")) is None


def test_the_example_is_one() -> None:
    made = sweep_of(Path(__file__).parents[2] / "examples" / "buffer-sweep.toml")
    assert len(made.cells) == 15
    kinds = [type(each) for each in made.figures]
    assert kinds == [Lines, Pareto] and HeatMap not in kinds


def test_a_count_may_be_swept_from_one() -> None:
    """The group's sum is a number of every cell, also of the one in which it is one flow."""
    made = sweep(
        """
[sweep]
replications = 2
quantities = ["flows[bulk].total_goodput_bps", "flows[bulk].goodput_share"]
"flows[bulk].count" = [1, 2]
"""
    )
    found = made.run()
    assert [each.path for each in found.quantities] == [
        "flows[bulk].total_goodput_bps",
        "flows[bulk].goodput_share",
    ]
    for cell in found.cells:
        assert found.measured("flows[bulk].total_goodput_bps", cell.label).value > 1e6
