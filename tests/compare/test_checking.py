"""A user's own claims: cells, rules, evidence, errors."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from checking_samples import QDISC, claim, run, written

from dumbbell.claims import Origin, Side, Verdict, view_of
from dumbbell.claims.rules import (
    Direction,
    Equals,
    Equivalent,
    Law,
    Ordering,
    Preview,
    Published,
    PublishedInEnsemble,
    Share,
    Spread,
)
from dumbbell.compare import Quantity
from dumbbell.compare.checking import asserted, check
from dumbbell.compare.checking.amounts import PURE, Scale
from dumbbell.compare.checking.kinds import ORIGINS
from dumbbell.compare.executing import FailedTask, FinishedTask, Task, Threads
from dumbbell.errors import RunError, SpecError
from dumbbell.spec import Setting, claim_tables

# --- words and values ----------------------------------------------------------------------------


def test_the_words_are_those_of_the_rules() -> None:
    assert set(claim_tables.SIDES) == {each.value for each in Side}
    assert set(claim_tables.LAWS) == {each.value for each in Law}
    assert set(claim_tables.ORIGINS) == set(ORIGINS)
    assert set(ORIGINS.values()) == set(Origin)


@pytest.mark.parametrize(
    ("scale", "value", "expected"),
    [
        (Scale("ms", 1e3), "20ms", 20.0),
        (Scale("ms", 1e3), "-1.5s", -1500.0),
        (Scale("ms", 1.0), "250us", 0.25),
        (Scale("Mbit/s", 1e-6), "9.4mbit", 9.4),
        (Scale("packets/s", 1.0), "1.5kpps", 1500.0),
        (Scale("packets", 1.0), 12.0, 12.0),
        (Scale("%", 100.0), 0.05, 5.0),
        (PURE, 0.05, 0.05),
    ],
)
def test_values_have_the_unit_of_their_quantity(
    scale: Scale, value: str | float, expected: float
) -> None:
    assert scale.read(value, "claim[0].value") == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize(
    ("scale", "value", "hint"),
    [
        (Scale("ms", 1e3), 20.0, "20ms"),
        (Scale("Mbit/s", 1e-6), 9.5, "9.5mbit"),
        (Scale("Mbit/s", 1e-6), "9.4", None),
        (Scale("%", 100.0), "5%", "0.05"),
        (Scale("packets", 1.0), "12 packets", None),
    ],
)
def test_a_value_without_its_unit_is_refused(
    scale: Scale, value: str | float, hint: str | None
) -> None:
    with pytest.raises(SpecError) as refused:
        scale.read(value, "claim[0].value")
    assert refused.value.path == "claim[0].value"
    assert refused.value.hint == hint or hint is None


@pytest.mark.parametrize(
    ("scale", "printed", "rounding"),
    [
        (Scale("ms", 1e3), "15.60ms", 0.005),
        (Scale("ms", 1e3), "110ms", 0.5),
        (Scale("Mbit/s", 1e-6), "9.4mbit", 0.05),
        (PURE, 0.546, 0.0005),
        (PURE, 10.0, 0.5),
    ],
)
def test_print_leaves_half_of_its_last_digit_open(
    scale: Scale, printed: str | float, rounding: float
) -> None:
    assert scale.rounding(printed, "claim[0].printed") == pytest.approx(rounding)


# --- rules and evidence --------------------------------------------------------------------------


def test_a_mean_against_a_value(tmp_path: Path) -> None:
    text = 'kind = "equals"\nquantity = "queue[isp->home].throughput_bps"\n'
    checked = run(tmp_path, text + 'value = "10mbit"\nmargin = "2%"')
    (judged,) = checked.judged
    rule = judged.claim.rule
    assert isinstance(rule, Equals)
    assert (rule.value, rule.unit, rule.origin) == (10.0, "Mbit/s", Origin.THEORY)
    assert rule.margin == pytest.approx(0.2)
    values = checked.comparison.replicates("line").values(
        _quantity("queue[isp->home].throughput_bps")
    )
    assert judged.found.value == pytest.approx(values.mean() / 1e6)
    assert judged.verdict is Verdict.REPRODUCED
    assert not checked.contradicted and not checked.undecided


def test_a_ratio_of_means_and_a_difference(tmp_path: Path) -> None:
    text = f"""kind = "equals"
quantity = "probe[call].mean_rtt_ms"
where = {{ "{QDISC}" = "fq_codel" }}
divided_by = {{ where = {{ "{QDISC}" = "pfifo" }} }}
value = 1
margin = 0.5
"""
    more = """[[claim]]
kind = "equals"
statement = "The other way"
quantity = "probe[call].mean_rtt_ms"
less = { quantity = "probe[call].min_rtt_ms" }
value = "0ms"
margin = "1ms"
"""
    checked = run(tmp_path, text + more)
    ratio, difference = checked.judged
    # The file's own queue is a pfifo: its cell is the same.
    labels = [each.label for each in checked.comparison.cells]
    assert labels == ["fq_codel", "line"]
    above, below = (
        checked.comparison.replicates(label).values(_quantity("probe[call].mean_rtt_ms"))
        for label in labels
    )
    assert ratio.found.value == pytest.approx(above.mean() / below.mean())
    assert ratio.verdict is Verdict.NOT_REPRODUCED
    assert view_of(ratio).unit == "1"
    assert view_of(difference).unit == "ms"
    assert [each.claim.id for each in checked.contradicted] == ["claim-1", "claim-2"]


def test_an_order_along_values_against_a_cell_and_a_number(tmp_path: Path) -> None:
    rate = "links[isp->home].rate"
    text = f"""kind = "ordering"
quantity = "flows[bulk].total_goodput_bps"
along = {{ "{rate}" = ["5mbit", "10mbit", "20mbit"] }}
[[claim]]
kind = "ordering"
statement = "Less with fq_codel"
quantity = "probe[call].mean_rtt_ms"
where = {{ "{QDISC}" = "fq_codel" }}
below = {{ where = {{ "{QDISC}" = "pfifo" }} }}
[[claim]]
kind = "ordering"
statement = "Not above the rate"
quantity = "flows[bulk].total_goodput_bps"
above = "10mbit"
"""
    first, second, third = run(tmp_path, text).judged
    assert isinstance(first.claim.rule, Ordering)
    assert first.verdict is second.verdict is Verdict.REPRODUCED
    assert third.verdict is Verdict.NOT_REPRODUCED
    # 10000kbit and 10mbit are one cell, and the file's own.
    assert first.found.value is not None and first.found.value > 4.0


def test_the_same_within_what_matters(tmp_path: Path) -> None:
    text = f"""kind = "equivalent"
quantity = "flows[bulk].total_goodput_bps"
where = {{ "{QDISC}" = "fq_codel" }}
to = {{ where = {{ "{QDISC}" = "pie" }} }}
[[claim]]
kind = "equivalent"
statement = "Delays are not"
quantity = "probe[call].mean_rtt_ms"
along = {{ "{QDISC}" = ["pfifo", "fq_codel", "pie"] }}
"""
    rates, delays = run(tmp_path, text).judged
    assert isinstance(rates.claim.rule, Equivalent)
    # Of 10 Mbit/s 3 % is less than 3 Mbit/s; of delays 2 ms.
    assert rates.claim.rule.margin == pytest.approx(0.3)
    assert delays.claim.rule.margin == 2.0  # type: ignore[attr-defined]
    assert delays.verdict is Verdict.NOT_REPRODUCED


def test_flows_of_a_group(tmp_path: Path) -> None:
    text = f"""kind = "share"
quantity = "flow[bulk].goodput_bps"
where = {{ "links[isp->home].rate" = "20mbit" }}
better_than = {{ where = {{ "links[isp->home].rate" = "5mbit" }} }}
value = 0.5
side = "at least"
[[claim]]
kind = "spread"
statement = "Much the same"
quantity = "flow[bulk].goodput_bps"
where = {{ "{QDISC}" = "fq_codel" }}
value = 0.5
side = "at most"
"""
    share, spread = run(tmp_path, text).judged
    assert isinstance(share.claim.rule, Share) and isinstance(spread.claim.rule, Spread)
    assert share.found.value == 1.0
    assert share.verdict is spread.verdict is Verdict.REPRODUCED


def test_a_grid_is_a_direction(tmp_path: Path) -> None:
    text = """kind = "ordering"
quantity = "flows[bulk].total_goodput_bps"
where = { "links[isp->home].rate" = ["5mbit", "20mbit"], "links[server->isp].delay" = ["1ms"] }
above = "8mbit"
"""
    (judged,) = run(tmp_path, text).judged
    rule = judged.claim.rule
    assert isinstance(rule, Direction)
    assert view_of(judged).verdict_text == "depends on links[isp->home].rate"


def test_a_shorter_run_is_a_preview(tmp_path: Path) -> None:
    text = """kind = "published"
source = "A paper"
quantity = "probe[call].mean_rtt_ms"
printed = "200ms"
as_published = { duration = "4s" }
"""
    file = written(tmp_path, claim(text))
    (whole,) = asserted(file).plans
    assert isinstance(whole.claim.rule, Published)
    assert whole.claim.rule.rounding == pytest.approx(0.5)
    (short,) = asserted(file, [Setting("duration", "2s")]).plans
    assert isinstance(short.claim.rule, Preview)
    (lack,) = short.claim.rule.shortfalls
    assert lack.words == "duration 2 s, published 4 s"


def test_where_nothing_is_random_print_is_held_against_an_ensemble(tmp_path: Path) -> None:
    text = 'kind = "published"\nsource = "A paper"\nquantity = "probe[call].mean_rtt_ms"\n'
    file = written(tmp_path, claim(text + 'printed = "200ms"'), jitter="")
    claims = asserted(file)
    rule = claims.plans[0].claim.rule
    assert isinstance(rule, PublishedInEnsemble)
    assert claims.replications == 39
    (judged,) = check(claims, replications=3).judged
    assert judged.verdict is Verdict.INCONCLUSIVE


def test_agreement_needs_two_backends(tmp_path: Path) -> None:
    text = 'kind = "agreement"\nquantity = "probe[call].mean_rtt_ms"'
    (judged,) = run(tmp_path, text, 1).judged
    assert judged.verdict is Verdict.NOT_TESTABLE
    assert "--backend sim,kernel" in judged.note


def test_a_calibration_needs_no_runs_and_counts_nowhere(tmp_path: Path) -> None:
    text = 'kind = "calibration"\nparameter = "the load"\nvalue = 92\nused = "six quartiles"'
    checked = run(tmp_path, text, 1)
    assert checked.judged[0].verdict is Verdict.CALIBRATION
    assert not checked.contradicted and not checked.undecided


@dataclass
class Failing:
    """Threads, on which every run of a cell fails whose description has a word in it."""

    word: str
    threads: Threads = field(default_factory=Threads)

    def check(self, task: Task) -> None:
        self.threads.check(task)

    def run(self, tasks: Sequence[Task], **options: Any) -> Iterator[FinishedTask | FailedTask]:
        for each in self.threads.run(tasks, **options):
            fails = self.word in tasks[each.index].description
            yield FailedTask(each.index, RunError("it broke")) if fails else each


def test_what_a_failed_cell_would_have_told_is_not_testable(tmp_path: Path) -> None:
    text = 'kind = "ordering"\nquantity = "probe[call].mean_rtt_ms"\nabove = "1ms"\n'
    other = f'[[claim]]\nstatement = "And there"\n{text}where = {{ "{QDISC}" = "fq_codel" }}\n'
    claims = asserted(written(tmp_path, claim(text) + other))
    checked = check(claims, replications=3, executor=Failing('"fq_codel"'))
    assert [each.verdict for each in checked.judged] == [Verdict.REPRODUCED, Verdict.NOT_TESTABLE]
    assert "fq_codel has no runs on sim" in checked.judged[1].note
    assert [str(each.error) for each in checked.comparison.failed] == ["it broke"]


# --- errors --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "path", "hint"),
    [
        ('kind = "equal"', "claim[0].kind", "equals"),
        ('kind = "equals"\nquantity = "x"\nvalue = 1\nmargn = 1', "claim[0].margn", "margin"),
        (
            'kind = "equals"\nquantity = "probe[cal].mean_rtt_ms"\nvalue = "1ms"\nmargin = "1ms"',
            "claim[0].quantity",
            "probe[call].mean_rtt_ms",
        ),
        (
            'kind = "equals"\nquantity = "flow[bulk].goodput_bps"\nvalue = "1mbit"\nmargin = "1%"',
            "claim[0].quantity",
            "flow[bulk-1].goodput_bps",
        ),
        (
            'kind = "equals"\nquantity = "probe[call].mean_rtt"\nvalue = "1ms"\nmargin = "1ms"',
            "claim[0].quantity",
            "mean_rtt_ms",
        ),
        (
            'kind = "equals"\nquantity = "probe[call].mean_rtt_ms"\nvalue = 20\nmargin = "1ms"',
            "claim[0].value",
            "20ms",
        ),
        (
            'kind = "equals"\nquantity = "probe[call].mean_rtt_ms"\nvalue = "1ms"\nmargin = "-1ms"',
            "claim[0].margin",
            None,
        ),
        (
            'kind = "published"\nquantity = "probe[call].mean_rtt_ms"\nprinted = "1ms"',
            "claim[0].source",
            None,
        ),
        (
            'kind = "ordering"\nquantity = "probe[call].mean_rtt_ms"\nabove = { were = {} }',
            "claim[0].above.were",
            "where",
        ),
        (
            'kind = "ordering"\nquantity = "probe[call].mean_rtt_ms"\nabove = "1ms"\n'
            'where = { "links[isp->hom].qdisc" = "pie" }',
            "claim[0].where: links[isp->hom]",
            "isp->home",
        ),
        ('kind = "ordering"\nquantity = "probe[call].mean_rtt_ms"', "claim[0]", None),
        (
            'kind = "equivalent"\nquantity = "probe[call].loss_ratio"\n'
            'to = { where = { duration = "3s" } }',
            "claim[0].margin",
            None,
        ),
        (
            'kind = "check"\nquantity = "probe[call].mean_rtt_ms"\nvalue = "1ms"\nbecause = "so"\n'
            'where = { duration = ["2s", "3s"] }',
            "claim[0].where: duration",
            None,
        ),
        *(
            (
                f'kind = "ordering"\nquantity = "probe[call].mean_rtt_ms"\nabove = {wrong}',
                "claim[0].above",
                None,
            )
            for wrong in ("nan", "-inf", "1" + 400 * "0", "true")
        ),
        (
            'kind = "ordering"\nquantity = "probe[call].mean_rtt_ms"\nabove = "1ms"\n'
            "where = { seed = [] }",
            "claim[0].where.seed",
            None,
        ),
        (
            'kind = "equals"\nquantity = "network.mean_completion_time_s"\nvalue = "1s"\n'
            'margin = "1s"',
            "claim[0].quantity",
            None,
        ),
    ],
)
def test_a_wrong_claim_says_where_and_what(
    tmp_path: Path, text: str, path: str, hint: str | None
) -> None:
    with pytest.raises(SpecError) as refused:
        asserted(written(tmp_path, claim(text)))
    assert refused.value.path == path
    assert refused.value.hint == hint
    assert refused.value.allowed


def test_a_file_without_claims_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SpecError, match=r"\[\[claim\]\] tables"):
        asserted(written(tmp_path, ""))


def test_of_several_cells_where_has_to_choose_one(tmp_path: Path) -> None:
    """As a sweep gives them."""
    text = 'kind = "ordering"\nquantity = "probe[call].mean_rtt_ms"\nabove = "1ms"\n'
    several = [Setting(QDISC, each) for each in ("pfifo", "pie")]
    with pytest.raises(SpecError, match="leave one cell of 2"):
        asserted(written(tmp_path, claim(text)), several)
    chosen = written(tmp_path, claim(text + 'where = { "links[1].forward.qdisc" = "pie" }'))
    (cell,) = asserted(chosen, several).cells
    assert cell.label == "pie"
    wrong = written(tmp_path, claim(text + f'where = {{ "{QDISC}" = "pie limit 9" }}'))
    with pytest.raises(SpecError, match="a cell of the sweep"):
        asserted(wrong, several)


SWEEP = f"""
[sweep]
replications = 3
"{QDISC}" = ["pfifo", "fq_codel"]
"links[isp->home].rate" = ["5mbit", "10mbit"]
"""


def test_cells_of_a_sweep_are_chosen_by_their_settings(tmp_path: Path) -> None:
    text = f"""kind = "ordering"
quantity = "probe[call].mean_rtt_ms"
where = {{ "{QDISC}" = "fq_codel", "links[1].rate" = ["5mbit", "10000kbit"] }}
below = {{ where = {{ "{QDISC}" = "pfifo" }} }}
"""
    claims = asserted(written(tmp_path, SWEEP + claim(text)))
    assert len(claims.cells) == 4
    assert {len(cell.place) for cell in claims.cells} == {2}
    (judged,) = check(claims, replications=3).judged
    assert isinstance(judged.claim.rule, Direction)
    assert judged.verdict is Verdict.REPRODUCED
    with pytest.raises(SpecError, match="leave one cell of 2") as refused:
        asserted(written(tmp_path, SWEEP + claim(text.replace(', "links[1].rate"', "} #"))))
    assert refused.value.path == "claim[0].where"
    with pytest.raises(SpecError, match="a cell of the sweep") as refused:
        asserted(written(tmp_path, SWEEP + claim(text.replace('"fq_codel"', '"codel"'))))
    assert refused.value.hint == "fq_codel"


def test_along_finds_its_parameter_without_where(tmp_path: Path) -> None:
    rest = 'where = { "links[1].rate" = "5mbit" }\n'
    for kind, quantity in (
        ("ordering", "probe[call].mean_rtt_ms"),
        ("equivalent", "flows[bulk].total_goodput_bps"),
    ):
        for spelled in (QDISC, "links[1].forward.qdisc"):
            text = f"""kind = "{kind}"
quantity = "{quantity}"
along = {{ "{spelled}" = ["fq_codel", "pfifo"] }}
"""
            claims = asserted(written(tmp_path, SWEEP + claim(text + rest)))
            assert [each.label for each in claims.cells] == [
                "fq_codel, 5 Mbit/s",
                "pfifo, 5 Mbit/s",
            ]
            (judged,) = check(claims, replications=3).judged
            assert judged.verdict is (
                Verdict.REPRODUCED if kind == "ordering" else Verdict.INCONCLUSIVE
            )
            with pytest.raises(SpecError, match="leave one cell of 2") as refused:
                asserted(written(tmp_path, SWEEP + claim(text)))
            assert refused.value.path == "claim[0].along"


def test_a_claim_says_of_a_setting_once_what_it_is(tmp_path: Path) -> None:
    text = 'kind = "ordering"\nquantity = "probe[call].mean_rtt_ms"\n'
    twice = f'above = "1ms"\nwhere = {{ "{QDISC}" = "pie", "links[1].forward.qdisc" = "codel" }}'
    with pytest.raises(SpecError, match="sets the same value") as refused:
        asserted(written(tmp_path, claim(text + twice)))
    assert refused.value.path == "claim[0].where: links[1].forward.qdisc"
    # What is otherwise in the other cell stands in place of what is here, spelled as one likes.
    here = f'where = {{ "{QDISC}" = "pie" }}\n'
    other = 'above = { where = { "links[1].forward.qdisc" = "codel" } }'
    claims = asserted(written(tmp_path, claim(text + here + other)))
    assert [each.label for each in claims.cells] == ["pie", "codel"]
    assert [len(each.settings) for each in claims.cells] == [1, 1]


def test_a_cell_of_a_claim_can_be_run_as_printed(tmp_path: Path) -> None:
    text = 'kind = "ordering"\nquantity = "probe[call].mean_rtt_ms"\nabove = "1ms"\n'
    file = written(tmp_path, claim(text + 'where = { "links[1].forward.qdisc" = "pie" }'))
    (cell,) = asserted(file, [Setting(QDISC, "codel")]).cells
    assert cell.settings == (Setting("links[1].forward.qdisc", "pie"),)
    with pytest.raises(SpecError, match="sets the same value") as refused:
        asserted(file, [Setting("links[isp->home].qdisc", "codel")])
    said = str(refused.value)
    assert "links[1].forward.qdisc" in said and "links[isp->home].qdisc" in said


def _quantity(path: str) -> Quantity:
    return Quantity.parse(path)


COUNTED = """
duration = "3s"
links = [{{ a = "a", b = "r" }}, {{ a = "r", b = "b", delay = "10ms", rate = "10mbit" }}]
[[flows]]
name = "bbr"
count = {count}
from = "a"
to = "b"
start_jitter = "10ms"
source = {{ kind = "greedy" }}
[[claim]]
kind = "ordering"
statement = "sum of the group"
quantity = "flows[bbr].total_goodput_bps"
above = "1mbit"
[[claim]]
kind = "equals"
statement = "nothing else gets anything"
quantity = "flows[bbr].goodput_share"
value = 1.0
margin = 0.01
"""


@pytest.mark.parametrize("count", [1, 4])
def test_a_group_is_one_for_any_count(tmp_path: Path, count: int) -> None:
    """A file that says ``count = 1`` for now has the numbers that it will have with 32."""
    file = tmp_path / "counted.toml"
    file.write_text(COUNTED.format(count=count))
    checked = check(asserted(file), replications=3)
    assert [each.verdict for each in checked.judged] == [Verdict.REPRODUCED] * 2
