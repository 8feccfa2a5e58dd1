"""The laboratory in Chromium: quiet, offline, driven by a person, equal to ``dumbbell run``."""

from __future__ import annotations

from pathlib import Path

import pytest
from lab_page import WIDTHS, Opener, check_equal, moved, preset_ids, typed

from browsing import outside

pytestmark = pytest.mark.browser


@pytest.mark.slow
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", WIDTHS)
def test_the_page_is_quiet_offline_and_fits(opener: Opener, width: int, scheme: str) -> None:
    seen = opener(width=width, scheme=scheme)
    seen.until("document.getElementById('stage').getAttribute('aria-label').includes('packets,')")
    assert seen.is_quiet(), seen
    assert seen.page.evaluate("document.documentElement.scrollWidth") == width
    assert outside(seen.page, width) == []


@pytest.mark.slow
def test_sliders_give_what_the_command_line_gives(opener: Opener) -> None:
    seen = opener()
    before = seen.digest()
    for act in (
        moved("rate", 0.4),
        moved("round-trip", 0.7),
        moved("qdisc-limit_packets", 0.5),
        typed("count-download", "3"),
        typed("qdisc", "fq_codel limit 500 target 8ms"),
    ):
        seen.after(act)
        assert seen.digest() != before
        before = seen.digest()
    check_equal(seen)
    assert "count = 3" in seen.toml()
    assert 'qdisc = "fq_codel limit 500' in seen.toml()
    # What was there before the last change stays in sight.
    assert seen.page.evaluate("laboratory.before !== null")
    seen.until("Number(document.getElementById('replications').textContent) >= 3")
    assert "±" in seen.page.inner_text("#numbers")
    assert seen.messages == []


@pytest.mark.parametrize("name", preset_ids())
def test_every_preset_runs(opener: Opener, name: str) -> None:
    seen = opener()
    seen.choose(name)
    check_equal(seen)
    # Until all three simulators have answered.
    seen.until("Number(document.getElementById('replications').textContent) >= 2")
    seen.until("document.getElementById('stage').getAttribute('aria-label').includes('packets,')")
    assert seen.is_quiet(), seen


def test_flows_that_are_not_there_at_first_can_be_added(opener: Opener) -> None:
    seen = opener()
    assert "mice" not in seen.toml()
    seen.after(typed("count-mice", "2"))
    assert 'name = "mice"\ncount = 2' in seen.toml()
    seen.after(typed("count-download", "0"))
    assert "greedy" not in seen.toml()
    check_equal(seen)


def test_the_keyboard_moves_a_slider(opener: Opener) -> None:
    seen = opener()
    done, before = seen.page.evaluate("laboratory.done"), seen.digest()
    seen.page.focus("#control-qdisc-limit_packets")
    seen.page.keyboard.press("ArrowLeft")
    seen.until(f"laboratory.done > {done}")
    assert seen.digest() != before


@pytest.mark.slow
def test_every_control_has_a_name_and_is_reached_by_tab(opener: Opener) -> None:
    seen = opener()
    seen.page.evaluate("document.querySelectorAll('details').forEach(each => { each.open = true })")
    fields = seen.page.evaluate(
        """[...document.querySelectorAll('input, select, textarea, button')].map(each =>
            [each.id, (each.labels && each.labels.length && each.labels[0].textContent)
                || each.textContent, each.tabIndex, each.disabled])"""
    )
    assert len(fields) > 12
    assert [each for each in fields if not each[1].strip() or each[2] != 0] == []
    seen.page.evaluate("document.activeElement.blur()")
    reached = set()
    for _ in range(90):
        seen.page.keyboard.press("Tab")
        reached.add(seen.page.evaluate("document.activeElement.id"))
    assert {each[0] for each in fields if not each[3]} <= reached


def test_what_tc_refuses_is_said_beside_the_field(opener: Opener) -> None:
    seen = opener()
    digest = seen.digest()
    seen.page.evaluate(typed("qdisc", "fq_codle"))
    said = seen.until("document.getElementById('control-qdisc-problem').textContent")
    assert "fq_codle" in said
    assert "Did you mean fq_codel?" in said
    assert seen.digest() == digest
    seen.after(typed("qdisc", "fq_codel"))
    assert seen.page.text_content("#control-qdisc-problem") == ""
    assert seen.messages == []


@pytest.mark.slow
def test_a_link_carries_everything(opener: Opener) -> None:
    seen = opener()
    seen.after(moved("rate", 0.3))
    seen.after(typed("qdisc", "codel limit 77"))
    link = seen.page.input_value("#link")
    again = opener("#" + link.split("#")[1])
    assert again.digest() == seen.digest()
    assert again.toml() == seen.toml()


@pytest.mark.slow
def test_an_experiment_of_a_file_comes_first(opener: Opener, tmp_path: Path) -> None:
    from typer.testing import CliRunner

    from dumbbell.cli.app import app

    file = tmp_path / "own.toml"
    file.write_text(
        'name = "own-experiment"\nduration = "5s"\n'
        'links = [{ a = "x", b = "y", delay = "9ms", rate = "3mbit" }]\n'
        'flows = [{ name = "up", from = "x", to = "y", source = { kind = "greedy" } }]\n',
        encoding="utf-8",
    )
    place = tmp_path / "page.html"
    done = CliRunner().invoke(app, ["lab", str(file), "--no-open", "--output", str(place)])
    assert done.exit_code == 0, done.output
    seen = opener(place=place)
    assert seen.page.evaluate(
        "document.getElementById('preset').selectedOptions[0].textContent"
    ) == ("own-experiment")
    check_equal(seen)
    link = "#" + seen.page.input_value("#link").split("#")[1]
    # Its link works on any laboratory: it carries the experiment itself.
    assert opener(link).digest() == seen.digest()


@pytest.mark.slow
def test_no_link_is_given_that_the_page_would_not_read(opener: Opener, tmp_path: Path) -> None:
    from typer.testing import CliRunner

    from dumbbell.cli.app import app

    flow = (
        '{{ name = "f{0}x", from = "x", to = "y", source = {{ kind = "greedy" }}, '
        "tcp = {{ initial_window = {0} }} }}"
    )
    file, place = tmp_path / "own.toml", tmp_path / "page.html"
    file.write_text(
        'duration = "1s"\nlinks = [{ a = "x", b = "y", delay = "9ms", rate = "3mbit" }]\n'
        f"flows = [{', '.join(flow.format(i) for i in range(1, 401))}]\n",
        encoding="utf-8",
    )
    done = CliRunner().invoke(app, ["lab", str(file), "--no-open", "--output", str(place)])
    assert done.exit_code == 0, done.output
    seen = opener(place=place)
    # 400 flows in full are more than a link may have.
    for id_ in ("link", "frame"):
        assert seen.page.input_value(f"#{id_}").startswith("too large for a link")
    assert seen.page.evaluate("document.getElementById('whole').hidden")
    # What a figure says has an end, too: no two of these flows send alike.
    words = str(seen.page.get_attribute("canvas[data-figure=goodput]", "aria-label"))
    named = words.split("; ")
    assert len(named) == 12
    assert named[-1].startswith("other flows ")
