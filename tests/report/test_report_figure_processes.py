"""A figure that cannot be drawn costs itself: never the page, never the process that asked."""

from __future__ import annotations

import contextlib
import html
import json
import os
import resource
import signal
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path

import altair as alt
import polars as pl
import pytest
from report_samples import realistic_report, rtt_figure

from dumbbell.report import FigureDrawer, FigureWarning, IndexEntry, write_index, write_report
from dumbbell.report.charts import Sample, ecdf_chart
from dumbbell.report.figure_process import WORTH_A_PROCESS, FigureProcesses
from dumbbell.report.figures import PICTURES, DrawnFigure, draw
from dumbbell.report.model import Figure
from host_processes import children, has_ended
from waiting import PATIENCE_S, wait_until

pytestmark = pytest.mark.slow

UNSEEN = "\x1b[31m \x07 \0 \uffff \ud800 \u202e \u2028"


def drawing_for(pid: int) -> set[int]:
    """Processes that draw for a process."""
    return {each for each in children(pid) if not has_ended(each) and _draws(each)}


def _draws(pid: int) -> bool:
    try:
        return b"figure_child" in Path(f"/proc/{pid}/cmdline").read_bytes()
    except (FileNotFoundError, ProcessLookupError):
        return False


@pytest.fixture
def one_child() -> Iterator[tuple[FigureDrawer, int]]:
    """A drawer with a process of its own, which has begun."""
    before = drawing_for(os.getpid())
    with FigureDrawer(FigureProcesses(most=1, patience_s=600.0)) as drawer:
        assert drawer.picture(draw(rtt_figure()), ".svg")
        (pid,) = drawing_for(os.getpid()) - before
        yield drawer, pid
    assert has_ended(pid)


def poison() -> DrawnFigure:
    """A figure that ends the process that draws it: text that no XML can hold."""
    drawn = draw(rtt_figure())
    spec = json.loads(json.dumps(drawn.spec))
    spec["title"] = "\x1b"
    return DrawnFigure(drawn.figure, spec)


def endless() -> DrawnFigure:
    """A figure that is never ready: as many steps as there are numbers."""
    drawn = draw(rtt_figure())
    sequence = {"start": 0, "stop": 1e9, "step": 1, "as": "x"}
    spec = {
        "data": {"sequence": sequence},
        "mark": "point",
        "encoding": {"x": {"field": "x", "type": "quantitative"}},
    }
    return DrawnFigure(drawn.figure, spec)


def test_a_figure_that_ends_its_process_costs_itself() -> None:
    with FigureDrawer(FigureProcesses(most=1)) as drawer:
        figures = [draw(rtt_figure()), poison(), draw(rtt_figure())]
        before, killed, after = drawer.files(figures, PICTURES)
    assert killed.pictures == {}
    assert killed.sentence.startswith("This figure could not be drawn: the process that draws ")
    assert "ended by SIGABRT" in killed.sentence and "NonXmlChar" in killed.sentence
    # The one after it was drawn by another process, to the same bytes.
    assert list(before.pictures) == list(PICTURES) == list(after.pictures)
    for suffix in (".svg", ".png"):  # a PDF has a date in it
        assert before.pictures[suffix] == after.pictures[suffix]


def test_processes_that_rest_are_gone_until_the_next_figure() -> None:
    processes = FigureProcesses(most=1)
    with FigureDrawer(processes) as drawer:
        (before,) = drawer.files([draw(rtt_figure())])
        drawer.rest()
        assert processes._children == []
        (after,) = drawer.files([draw(rtt_figure())])
    assert before.pictures[".svg"] == after.pictures[".svg"]


def test_a_figure_that_is_never_ready_costs_itself() -> None:
    processes = FigureProcesses(most=1, patience_s=4.0)
    with FigureDrawer(processes) as drawer:
        (hung,) = drawer.files([endless()])
        processes._patience_s = PATIENCE_S  # what is drawn may take longer than that here
        (drawn,) = drawer.files([draw(rtt_figure())])
    assert "not drawn within 4 s" in hung.sentence
    assert not drawn.missing


def test_a_figure_that_takes_all_memory_costs_itself(one_child: tuple[FigureDrawer, int]) -> None:
    """The process is left little; V8's own limit is that of the machine."""
    drawer, pid = one_child
    resource.prlimit(pid, resource.RLIMIT_DATA, (1 << 29, 1 << 29))
    starved, drawn = drawer.files([endless(), draw(rtt_figure())])
    assert starved.pictures == {}
    assert "the process that draws ended" in starved.lost
    assert not drawn.missing


def test_an_endless_or_gigantic_drawing_is_refused(drawer: FigureDrawer) -> None:
    data = pl.DataFrame({"x": [1.0], "label": ["a"]})
    wide = alt.Chart(data).mark_point().encode(x="x:Q").properties(width=20_000)
    scale = alt.Scale(domain=[])
    of_nothing = (
        alt.Chart(data.head(0))
        .mark_point()
        .encode(x="x:Q", y="x:Q", shape=alt.Shape("label:N", title=None, scale=scale))
    )
    figures = [Figure("plot", chart, data, "Caption.") for chart in (wide, of_nothing)]
    for refused in drawer.files([draw(figure) for figure in figures]):
        assert refused.pictures == {}
        assert "at most 16000 each way" in refused.sentence


def test_a_child_that_was_killed_while_idle_is_replaced(
    one_child: tuple[FigureDrawer, int],
) -> None:
    drawer, pid = one_child
    os.kill(pid, signal.SIGKILL)
    wait_until(lambda: has_ended(pid))
    (drawn,) = drawer.files([draw(rtt_figure())])
    assert not drawn.missing


def test_a_child_that_is_started_before_there_is_work_does_the_work() -> None:
    before = drawing_for(os.getpid())
    with FigureProcesses() as processes:
        processes.start()
        # It has no command line of its own at first.
        wait_until(lambda: drawing_for(os.getpid()) - before)
        early = drawing_for(os.getpid()) - before
        few = FigureDrawer(processes).files([draw(rtt_figure())] * 3)
        assert drawing_for(os.getpid()) - before == early and len(early) == 1
        many = FigureDrawer(processes).files([draw(rtt_figure())] * (2 * WORTH_A_PROCESS + 1))
        assert len(drawing_for(os.getpid()) - before) == min(2, os.cpu_count() or 1)
    assert [one.missing for one in [*few, *many]] == [[]] * (len(few) + len(many))


def test_one_that_dies_before_there_is_work_costs_nothing() -> None:
    before = drawing_for(os.getpid())
    with FigureProcesses() as processes:
        processes.start()
        wait_until(lambda: drawing_for(os.getpid()) - before)
        (early,) = drawing_for(os.getpid()) - before
        os.kill(early, signal.SIGKILL)
        wait_until(lambda: has_ended(early))
        (files,) = FigureDrawer(processes).files([draw(rtt_figure())])
    assert not files.missing


def test_text_that_nobody_sees_is_shown_escaped(drawer: FigureDrawer) -> None:
    name = f"eth0{UNSEEN}"
    plot = ecdf_chart([Sample(name, name, [1.0, 2.0]), Sample("b", "b", [1.0])], x_title=name)
    (files,) = drawer.files([draw(Figure("plot", *plot, caption=name, title=name))])
    assert not files.missing
    svg = files.pictures[".svg"].decode("utf-8")
    seen = "eth0<U+001B>[31m <U+0007> <U+0000> <U+FFFF> <U+D800> <U+202E> <U+2028>"
    assert html.escape(seen) in svg
    assert not set(UNSEEN) - set(" [31m") & set(svg)


def test_a_title_that_vega_makes_a_control_of_is_drawn(drawer: FigureDrawer) -> None:
    r"""The name of a field is evaluated as JavaScript's string for readers of the screen."""
    plot = ecdf_chart([Sample("a", "", [1.0, 2.0])], x_title=r"eth\x1b")
    (files,) = drawer.files([draw(Figure("plot", *plot, caption="Caption."))])
    assert not files.missing
    assert "\ufffd" in files.pictures[".svg"].decode("utf-8")


def program(folder: Path) -> str:
    """Writes a page as somebody's script does, which need not guard its module."""
    return textwrap.dedent(
        f"""
        import sys
        sys.path.insert(0, {str(Path(__file__).parent)!r})
        from report_samples import realistic_report
        from dumbbell.report import write_report
        print("begun", flush=True)
        write_report(realistic_report(), {str(folder)!r}, tell=lambda text: print(text))
        """
    )


def test_without_address_space_a_page_is_written_without_figures(tmp_path: Path) -> None:
    """`ulimit -v`: the JavaScript engine reserves more than anybody allows."""
    done = subprocess.run(
        [
            "bash",
            "-c",
            'ulimit -v 8000000; exec "$0" -c "$1"',
            sys.executable,
            program(tmp_path / "p"),
        ],
        capture_output=True,
        text=True,
        check=False,
        timeout=PATIENCE_S,
    )
    assert done.returncode == 0, done.stderr
    sentence = done.stdout.splitlines()[-1]
    assert sentence.startswith("3 of 3 figures not drawn (")
    assert "SIGTRAP" in sentence and "ulimit -v" in sentence
    page = (tmp_path / "p" / "index.html").read_text(encoding="utf-8")
    assert page.count("This figure could not be drawn: the process that draws") == 3
    assert page.count("ulimit -v") == 3
    written = [path.suffix for path in (tmp_path / "p" / "figures").iterdir()]
    assert sorted(written) == [".csv"] * 3 + [".json"] * 3
    assert 'rtt-cdf.svg"' not in page and 'rtt-cdf.csv"' in page


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_children_end_with_who_started_them(tmp_path: Path, number: int) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", program(tmp_path / "p")],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    ) as writer:
        wait_until(lambda: drawing_for(writer.pid))
        drawing = drawing_for(writer.pid)
        for child in drawing:  # so that the page is not done before
            os.kill(child, signal.SIGSTOP)
        writer.send_signal(number)
        assert writer.wait(timeout=PATIENCE_S) != 0
    for child in drawing:
        with contextlib.suppress(ProcessLookupError):
            os.kill(child, signal.SIGCONT)
    wait_until(lambda: all(map(has_ended, drawing)))
    assert not (tmp_path / "p").exists()


def test_a_ctrl_c_at_the_terminal_is_for_the_parent(one_child: tuple[FigureDrawer, int]) -> None:
    """It goes to the whole group of processes: a page may be finished after it."""
    _, pid = one_child
    assert os.getpgid(pid) != os.getpgid(0)


def test_missing_figures_are_said_on_the_page_and_to_the_caller(
    tmp_path: Path, drawer: FigureDrawer
) -> None:
    data = pl.DataFrame({"x": [1.0], "label": ["=1+1"]})
    wide = alt.Chart(data).mark_point().encode(x="x:Q").properties(width=20_000)
    report = realistic_report(figures=[Figure("wide", wide, data, "A caption."), rtt_figure()])
    with pytest.warns(FigureWarning, match=r"1 of 2 figures not drawn \(wide\): it would have"):
        write_report(report, tmp_path / report.study, drawer=drawer)
    page = (tmp_path / report.study / "index.html").read_text(encoding="utf-8")
    assert "This figure could not be drawn: it would have" in page
    assert page.count('<div class="plot drawn"') == 1
    # The overview shows no picture that is not there.
    index = write_index([IndexEntry.of(report)], tmp_path).read_text(encoding="utf-8")
    assert "wide.svg" not in index and "A caption." not in index


def test_cells_that_a_spreadsheet_would_evaluate_are_quoted(
    tmp_path: Path, drawer: FigureDrawer
) -> None:
    cells = ["=1+1", "+cmd", "-2+3", "@sum", "\tx", "-2.5e3", "+4", "a=b", None]
    data = pl.DataFrame({"=head": cells, "number": [-float(k) for k in range(len(cells))]})
    chart = alt.Chart(data).mark_point().encode(x="number:Q")
    report = realistic_report(figures=[Figure("f", chart, data, "Caption.")])
    write_report(report, tmp_path / "out", drawer=drawer)
    read = pl.read_csv(tmp_path / "out" / "figures" / "f.csv")
    assert read.columns == ["'=head", "number"]
    quoted = ["'=1+1", "'+cmd", "'-2+3", "'@sum", "'\tx", "-2.5e3", "+4", "a=b", None]
    assert read["'=head"].to_list() == quoted
    assert read["number"].to_list() == data["number"].to_list()
