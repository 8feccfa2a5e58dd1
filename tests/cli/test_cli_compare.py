"""``dumbbell run`` of several files, values or replications."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from dumbbell.compare.words import digits, with_reach
from small_networks import home_line

pytestmark = pytest.mark.programs

Dumbbell = Callable[..., tuple[int, str, str]]
QDISC = "links[isp->home].qdisc"

LINE = home_line("5s", warm_up="1s")


@pytest.fixture
def line(tmp_path: Path) -> str:
    (tmp_path / "line.toml").write_text(LINE)
    return "line.toml"


def rows(out: str) -> dict[str, list[str]]:
    """Cells of the table's rows, by what they are of."""
    found = {}
    for text in out.splitlines():
        name, *cells = [each for each in text.split("  ") if each.strip()] or [""]
        found.setdefault(name.strip(), [each.strip() for each in cells])
    return found


def test_values_of_one_path_are_compared(dumbbell: Dumbbell, line: str) -> None:
    arguments = ["run", line, "--set", f"{QDISC}=pfifo", "--set", f"{QDISC}=pie"]
    code, out, err = dumbbell(*arguments, "--replications", "4")
    assert code == 0
    assert "line: 4 replications of each" in out
    call = rows(out)["call: round trip, mean"]
    unit, before, after, difference = call
    assert unit == "ms"
    assert "±" in before and "±" in after
    assert difference.startswith("-") and difference.endswith("*")
    assert "pie in place of pfifo: " in out
    assert "of 8 runs" in err  # plain lines where no terminal is
    assert "\x1b" not in out + err
    found = json.loads(dumbbell(*arguments, "--replications", "4", "--json")[1])
    assert [each["cell"] for each in found["cells"]] == ["pfifo", "pie"]
    assert found["cells"][1]["settings"] == {QDISC: "pie"}
    row = next(each for each in found["rows"] if each["quantity"] == "probe[call].mean_rtt_ms")
    number = row["numbers"][0]
    assert number["low"] < number["value"] < number["high"]
    assert before == with_reach(number["value"], number["high"] - number["value"])
    runs = found["runs"][0]["values"]["probe[call].mean_rtt_ms"]
    assert sum(runs) / 4 == pytest.approx(number["value"])
    (difference_json,) = [
        each for each in found["differences"] if each["quantity"] == "probe[call].mean_rtt_ms"
    ]
    assert difference_json["outcome"] == "differs"
    assert difference_json["p_value"] < 0.05
    assert found["failed"] == []


def test_a_file_may_be_replicated_alone(dumbbell: Dumbbell, line: str) -> None:
    code, out, _ = dumbbell("run", line, "--replications", "3")
    assert code == 0
    assert "line: 3 replications of each" in out
    assert "in place of" not in out
    code, out, _ = dumbbell("run", line, "--precision", "0.5")
    assert (code, "line: 10 replications of each" in out) == (0, True)


def test_files_are_compared(dumbbell: Dumbbell, line: str, tmp_path: Path) -> None:
    (tmp_path / "fast.toml").write_text(LINE.replace("10mbit", "20mbit"))
    code, out, _ = dumbbell("run", line, "fast.toml", "--replications", "3")
    assert code == 0
    assert "fast in place of line: " in out


def test_a_wrong_cell_is_reported_and_the_rest_finishes(dumbbell: Dumbbell, line: str) -> None:
    values = [f"{QDISC}={each}" for each in ("pfifo", "piee", "pie")]
    arguments = [part for each in values for part in ("--set", each)]
    code, out, err = dumbbell("run", line, *arguments, "--replications", "2")
    assert code == 1
    assert "pie in place of pfifo" in out
    assert "error: piee: links[1].qdisc: 'piee'" in err
    assert "did you mean 'pie'?" in err
    assert f"again: dumbbell run line.toml --set '{QDISC}=piee'" in err
    found = json.loads(dumbbell("run", line, *arguments, "--replications", "2", "--json")[1])
    assert [each["cell"] for each in found["failed"]] == ["piee"]
    assert dumbbell("run", line, "--set", "sed=1", "--set", "sed=2")[0] == 2


def test_where_nothing_is_random_it_says_so(dumbbell: Dumbbell, line: str, tmp_path: Path) -> None:
    (tmp_path / line).write_text(LINE.replace('start_jitter = "200ms"', ""))
    code, out, _ = dumbbell("run", line, "--replications", "3")
    assert code == 0
    assert "Nothing is random in line" in out
    assert "up to 1 % shorter or longer" in out
    assert "±" not in out
    assert "[" in rows(out)["call: round trip, mean"][1]
    code, out, _ = dumbbell("run", line, "--replications", "1")
    assert code == 0
    assert "one run of each, so there are no intervals" in out
    assert "[" not in out
    assert "±" not in out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--replications", "2", "--precision", "0.1"), "either --replications or --precision"),
        (("--replications", "2", "--replication", "1"), "error: --replication"),
        (("--backend", "sim,simm"), "did you mean 'sim'?"),
        (("--precision", "-1"), "above 0, such as 0.05"),
        (("--precision", "0.1", "--set", "flows[0].start_jitter=0s"), "nothing is random"),
    ],
)
def test_what_does_not_go_together(
    dumbbell: Dumbbell, line: str, arguments: tuple[str, ...], message: str
) -> None:
    code, out, err = dumbbell("run", line, *arguments)
    assert (code, out) == (2, "")
    assert message in err


def test_what_takes_minutes_says_so_first(
    dumbbell: Dumbbell, line: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from dumbbell.cli.common import confirmation

    arguments = ("run", line, "--replications", "4", "--jobs", "1")
    assert "this takes" not in dumbbell(*arguments)[2]
    monkeypatch.setattr(confirmation, "LONG_S", 1e-3)
    assert "this takes some 1 minutes" in dumbbell(*arguments)[2]


def test_many_cells_have_a_table_of_differences(dumbbell: Dumbbell, line: str) -> None:
    rates = [f"links[isp->home].rate={each}mbit" for each in (10, 12, 14, 16)]
    arguments = [part for each in rates for part in ("--set", each)]
    code, out, _ = dumbbell("run", line, *arguments, "--replications", "2")
    assert code == 0
    assert "Less 10mbit" in out
    assert out.count("call: round trip, mean ") >= 2


def test_numbers_are_printed_for_people() -> None:
    printed = {v: digits(v) for v in (0.0, 41.424, 0.978, 12345.6, 0.00012, 237.0, float("inf"))}
    assert [*printed.values()] == ["0.00", "41.4", "0.978", "12346", "1.20e-04", "237", "-"]
    assert with_reach(31.04, 0.002) == "31.04 ±0.01"
    assert with_reach(31.04, 1.234) == "31.0 ±1.2"
    assert with_reach(537.6, 12.34) == "538 ±12"
    assert with_reach(99.953, 0.021) == "99.95 ±0.02"
    assert with_reach(0.5, 3.21) == "0.5 ±3.2"
    assert with_reach(2e-5, 3e-6) == "2.00e-05 ±3.0e-06"
