"""A search for the unpublished setting finds the planted one, alone or of two, and says if none."""

from __future__ import annotations

from pathlib import Path

import pytest

from dumbbell.compare import cells_of, compare
from dumbbell.compare.explaining import Explanation, Pairs, explain, search_of
from dumbbell.compare.explaining.page import explanation_report
from dumbbell.compare.explaining.words import answer, remarks, to_json
from dumbbell.errors import SpecError
from dumbbell.spec import Setting

LINE = """
name = "line"
duration = "6s"
warm_up = "1s"
links = [
    { a = "server", b = "router", delay = "10ms" },
    { a = "router", b = "home", forward = { rate = "10mbit", qdisc = "pfifo limit 30" } },
]
[[flows]]
name = "bulk"
from = "server"
to = "home"
start_jitter = "200ms"
source = { kind = "greedy" }
tcp = { congestion_control = "reno" }
[[probes]]
name = "call"
from = "home"
to = "server"
interval = "20ms"
start_jitter = "20ms"
"""
QDISC = "links[router->home].forward.qdisc"
CONTROL = "flows[bulk].tcp.congestion_control"
DELAY = "links[server->router].delay"
UNKNOWNS = f"""
[[unknown]]
path = "{QDISC}"
text = "pfifo limit {{}}"
values = [30, 60]
name = "buffer"
unit = "packets"
[[unknown]]
path = "{CONTROL}"
values = ["reno", "cubic"]
[[unknown]]
path = "{DELAY}"
values = ["10ms", "20ms"]
"""
QUANTITIES = {
    "mean": "probe[call].mean_rtt_ms",
    "p95": "probe[call].rtt_p95_ms",
}


def planted(folder: Path, *settings: tuple[str, str], unknowns: str = UNKNOWNS) -> Path:
    """The line, with numbers printed of one run with these settings and another seed."""
    plain = folder / "plain.toml"
    plain.write_text(LINE)
    changed = [*(Setting(path, value) for path, value in settings), Setting("seed", 4711)]
    cells, _ = cells_of([plain], changed)
    found = compare(cells, replications=1)
    claims = "".join(
        f'[[claim]]\nid = "{id}"\nkind = "published"\nstatement = "It is so"\nsource = "a page"\n'
        f'quantity = "{path}"\nprinted = "{found.measured(path, cells[0].label).value:.1f}ms"\n'
        for id, path in QUANTITIES.items()
    )
    file = folder / "line.toml"
    file.write_text(LINE + unknowns + claims)
    return file


def explained(file: Path, pairs: Pairs = Pairs.AUTO) -> Explanation:
    return explain(search_of(file, pairs=pairs), pairs=pairs)


def labels(found: Explanation) -> list[str]:
    return [each.trial.label for each in found.explaining]


def test_a_planted_setting_is_found_and_the_others_are_excluded(tmp_path: Path) -> None:
    found = explained(planted(tmp_path, (QDISC, "pfifo limit 60")))
    assert labels(found) == ["buffer 60 packets"]
    assert answer(found).startswith("Buffer 60 packets alone gives all 2 printed numbers (p = ")
    assert "the file as it is does not (p < 0.0001)" in answer(found)
    assert {each.trial.label for each in found.excluded} == {
        "the file as it is",
        "congestion control cubic",
        "delay 20 ms",
    }
    assert not found.pairs_tried and len(found.fits) == 4
    assert any("3 pairs of settings were not tried" in each for each in remarks(found))


def test_two_planted_settings_are_found_together(tmp_path: Path) -> None:
    found = explained(planted(tmp_path, (QDISC, "pfifo limit 60"), (DELAY, "20ms")))
    assert labels(found) == ["buffer 60 packets and delay 20 ms"]
    assert answer(found).startswith(
        "No setting alone gives all 2 printed numbers; buffer 60 packets and delay 20 ms together"
    )
    assert found.pairs_tried and len(found.fits) == 7


def test_what_nothing_explains_is_said_so(tmp_path: Path) -> None:
    found = explained(planted(tmp_path, (QDISC, "pfifo limit 200")))
    assert labels(found) == []
    said = answer(found)
    assert said.startswith(
        "None of the 7 settings tried gives all 2 printed numbers; all are excluded at 95 %."
    )
    assert "The nearest, buffer 60 packets" in said and "misses mean, p95" in said
    assert to_json(found)["explained"] is False


def test_a_file_that_gives_its_numbers_needs_no_reason(tmp_path: Path) -> None:
    found = explained(planted(tmp_path))
    assert labels(found) == ["the file as it is"]
    assert "The file as it is gives all 2 printed numbers" in answer(found)
    assert found.search.same == ("buffer 30 packets", "congestion control reno", "delay 10 ms")


def test_settings_that_cannot_be_told_apart_are_all_named(tmp_path: Path) -> None:
    more = '[[unknown]]\npath = "links[router->home].delay"\nvalues = ["10ms"]\nname = "beyond"\n'
    found = explained(planted(tmp_path, (DELAY, "20ms"), unknowns=UNKNOWNS + more))
    assert sorted(labels(found)) == ["beyond 10 ms", "delay 20 ms"]
    assert "with 10 runs it cannot be told from the first" in answer(found)


def test_one_value_of_several_paths(tmp_path: Path) -> None:
    both = f'[[unknown]]\npath = ["{DELAY}", "links[router->home].delay"]\nvalues = ["20ms"]\n'
    found = explained(
        planted(tmp_path, (DELAY, "20ms"), ("links[router->home].delay", "20ms"), unknowns=both)
    )
    assert labels(found) == ["delay 20 ms"]


def test_the_page_has_the_answer_and_every_setting(tmp_path: Path) -> None:
    found = explained(planted(tmp_path, (QDISC, "pfifo limit 60")))
    report = explanation_report(found)
    assert report.summary == answer(found)
    assert [row.name for row in report.values[0].rows] == [each.trial.label for each in found.fits]
    assert [figure.title for figure in report.figures] == ["mean", "p95"]


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('values = ["10ms", "20ms"]', 'values = ["10ms", "20"]', r"unknown\[2\], value 2"),
        (DELAY, "links[sever->router].delay", r"unknown\[2\], value 1.*server->router"),
        ('values = ["10ms", "20ms"]', 'from = "1ms"', r"unknown\[2\]"),
        ('values = ["10ms", "20ms"]', "values = 5", r"unknown\[2\].values"),
        ('source = "a page"', 'source = "a page"\nlaw = "any"', "claim mean: law"),
    ],
)
def test_what_is_refused(tmp_path: Path, old: str, new: str, said: str) -> None:
    file = planted(tmp_path)
    file.write_text(file.read_text().replace(old, new))
    with pytest.raises(SpecError, match=said):
        search_of(file)


def test_a_file_without_printed_numbers_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "line.toml"
    below = '[[claim]]\nkind = "ordering"\nstatement = "So"\nbelow = "90ms"\n'
    file.write_text(f'{LINE}{UNKNOWNS}{below}quantity = "probe[call].mean_rtt_ms"\n')
    with pytest.raises(SpecError, match='kind = "published"'):
        search_of(file)


def test_a_file_without_unknowns_and_too_many_of_them_are_refused(tmp_path: Path) -> None:
    with pytest.raises(SpecError, match=r"\[\[unknown\]\] tables"):
        search_of(planted(tmp_path, unknowns=""))
    many = "".join(
        f'[[unknown]]\npath = "{path}"\nfrom = "1ms"\nto = "40ms"\nsteps = 40\n'
        for path in (DELAY, "links[router->home].delay")
    )
    with pytest.raises(SpecError, match="at most 500 settings: fewer values, or --pairs never"):
        search_of(planted(tmp_path, unknowns=many))


def test_too_few_replications_for_the_joint_test_are_refused(tmp_path: Path) -> None:
    search = search_of(planted(tmp_path))
    assert search.groups == (("mean", "p95"),) and search.fewest == 10
    with pytest.raises(SpecError, match="at least 10"):
        explain(search, replications=9)
