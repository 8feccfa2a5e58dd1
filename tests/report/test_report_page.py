"""The page as text: complete, escaped, self-contained; and the terminal's table."""

from __future__ import annotations

import dataclasses
import io
import json
import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import altair as alt
import numpy as np
import polars as pl
import pytest
from report_samples import (
    claim,
    further_claims,
    prediction,
    printed,
    realistic_claims,
    realistic_report,
    rtt_figure,
    tiny_claim,
)
from rich.console import Console

from dumbbell.claims import (
    Amendment,
    Claim,
    Curves,
    Family,
    Runs,
    Verdict,
    judge,
    views_of,
)
from dumbbell.claims.rules import Ordering
from dumbbell.report import (
    Advice,
    FigureDrawer,
    claims_table,
    overview_table,
    write_index,
    write_report,
)
from dumbbell.report.badges import BADGES, SCORE_ORDER, sorted_claims
from dumbbell.report.claims_section import claim_rows, interval_words
from dumbbell.report.figure_views import script_json
from dumbbell.report.figures import PICTURES, SVG, FigureFiles, draw
from dumbbell.report.glossary import TERMS, Explainer, Term
from dumbbell.report.glyphs import glyph_svg
from dumbbell.report.model import Figure, IndexEntry, Report
from dumbbell.report.page import (
    Links,
    commands_by_host,
    index_html,
    page_html,
)

DRAWING = b'<svg width="10" height="5" viewBox="0 0 10 5"><path stroke="#0072b2"/></svg>'
EVIL = "</script><script>alert('x')</script><img src=x onerror=alert(1)>\"'&"


class Reader(HTMLParser):
    """Tags, attributes and text of a page; void elements are not closed."""

    VOID = frozenset({"meta", "link", "img", "input", "br", "rect", "circle", "line", "path"})

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.text: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        if tag not in self.VOID:
            assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if not self.open or self.open[-1] not in ("script", "style"):
            self.text.append(data)


def read(page: str) -> Reader:
    reader = Reader()
    reader.feed(page)
    reader.close()
    assert reader.open == []
    return reader


LINKS = Links(index="../index.html", docs="../../docs/x.md")


def page_of(report: Report) -> str:
    """With drawings and a script that nobody looks at."""
    pictures = dict.fromkeys(PICTURES, b"picture") | {SVG: DRAWING}
    files = [FigureFiles(draw(one), pictures, narrow=DRAWING) for one in report.figures]
    return page_html(report, files, "window.vegaEmbed={};", LINKS)


@pytest.fixture(scope="module")
def page() -> str:
    return page_of(realistic_report())


def test_the_page_says_everything(page: str) -> None:
    text = " ".join(" ".join(read(page).text).split())
    report = realistic_report()
    for wanted in (
        report.title,
        report.summary,
        "netem rate 1000kbit limit 1000",
        "netem rate 500kbit limit 1000",
        "in 2 of 3 rows",
        "ITGSend -a receiver-1 -E 110 -e 512 -T UDP -t 600000",
        *report.notes,
        "9f2c71b04d6e8a3395c0f1d2e4b5a697",
        "wall time (s)",
    ):
        assert " ".join(wanted.split()) in text
    for view in views_of(report.judged):
        assert view.statement in text
        assert view.words in text
        assert f"{BADGES[view.verdict].symbol} {view.verdict_text}" in text
    assert "amended 2026-05-02: the rounding of print was forgotten" in text


def test_the_page_fetches_nothing(page: str) -> None:
    reader = read(page)
    for tag, attributes in reader.tags:
        assert "onclick" not in attributes
        source = attributes.get("src")
        assert source is None or source.startswith("data:"), (tag, source)
        if tag == "link":
            assert attributes.get("href") == "data:,"
        if tag == "a":
            href = attributes["href"] or ""
            assert not href.startswith("http") or href == "https://witestlab.poly.edu/blog/"
    style = page[page.index("<style>") : page.index("</style>")]
    assert "url(" not in style
    assert "@import" not in style
    policy = next(a["content"] for t, a in reader.tags if t == "meta" and "http-equiv" in a)
    assert policy is not None
    assert policy.startswith("default-src 'none'")


def test_the_libraries_are_inlined_once(page: str) -> None:
    assert page.count("window.vegaEmbed=") == 1
    assert len(page) < 3_000_000
    without = page_of(realistic_report(figures=()))
    assert "window.vegaEmbed=" not in without


def test_every_text_is_escaped() -> None:
    rule = Ordering(over=EVIL, unit=EVIL)
    family = Family(EVIL, EVIL, EVIL)
    evil: list[Claim[Any]] = [
        Claim(id=EVIL, statement=EVIL, source=EVIL, rule=rule, amended=Amendment(EVIL, EVIL),
              family=each)
        for each in (None, family, family)
    ]  # fmt: skip
    curves = Curves(np.linspace(1.0, 2.0, 5)[:, None])
    claims = [judge(each, curves, backend=EVIL, note=EVIL) for each in evil]
    figure = rtt_figure()
    plain_report = realistic_report()
    report = realistic_report(
        study=EVIL,
        title=EVIL,
        summary=EVIL,
        source=EVIL,
        judged=claims,
        figures=[
            dataclasses.replace(
                figure,
                caption=EVIL,
                title=EVIL,
                chart=figure.chart.properties(title=EVIL),  # type: ignore[attr-defined]
            )
        ],
        loads=[dataclasses.replace(row, what=EVIL, note=EVIL) for row in plain_report.loads],
        commands={EVIL: [(EVIL, EVIL)]},
        notes=[EVIL],
        meta={EVIL: EVIL},
        provenance={"list": [EVIL]},
    )
    page = page_of(report)
    reader = read(page)
    assert not any("onerror" in attributes for _, attributes in reader.tags)
    scripts = [attributes for tag, attributes in reader.tags if tag == "script"]
    assert len(scripts) == 3  # one figure's data, the libraries, the page's own
    assert "".join(reader.text).count(EVIL) > 20
    data = re.search(r'<script type="application/json"[^>]*>(.*?)</script>', page, re.DOTALL)
    assert data is not None
    both = json.loads(data[1])
    assert both["wide"]["title"] == both["narrow"]["title"] == EVIL


def test_script_json_is_json_without_markup() -> None:
    value = {"a": EVIL + "\u2028<!--", "b": [1.5, float("nan")]}
    text = str(script_json(value))
    assert not set("<>&\u2028") & set(text)
    assert json.loads(text) == {"a": EVIL + "\u2028<!--", "b": [1.5, None]}


def test_a_source_address_must_be_one() -> None:
    with pytest.raises(ValueError, match="http"):
        realistic_report(source_url="javascript:alert(1)")


def test_a_huge_figure_becomes_a_picture(drawer: FigureDrawer) -> None:
    frame = pl.DataFrame({"x": np.random.default_rng(0).random(60_000)})
    chart = alt.Chart(frame.head(60_000)).mark_bar().encode(x=alt.X("x:Q").bin(), y="count()")
    report = realistic_report(figures=[Figure("huge", chart, frame, caption="Many.")])
    page = page_html(report, drawer.files([draw(figure) for figure in report.figures]), "script")
    assert len(page) < 500_000
    assert 'src="data:image/png;base64,' in page


def explained() -> Report:
    """As a study's: with an answer, a hero that is not its first figure, and advice."""
    return realistic_report(
        answer="One fast queue is twice as fast as two slow ones: see the CDF.",
        done="Two streams share a router with a token bucket, then the bucket is taken away.",
        hero="factor",
        advice=[Advice(wish="Be quick", setting="pfifo <limit 5>", because="It was 5 ms.",
                       is_typed=True, figure="factor")],
    )  # fmt: skip


def test_an_explanation_goes_from_the_answer_to_the_evidence() -> None:
    page = page_of(explained())
    order = [
        page.index(wanted)
        for wanted in (
            'class="answer"', 'id="hero"', 'id="done"', 'id="topology"', 'id="advice"',
            'id="evidence"', 'id="figures"', 'id="claims"', 'id="load"', 'id="commands"',
            'id="notes"', 'id="provenance"',
        )
    ]  # fmt: skip
    assert order == sorted(order)
    assert page.count('id="figure-factor"') == 1
    assert page.index('id="figure-factor"') < page.index('id="figure-rtt-cdf"')
    assert "pfifo &lt;limit 5&gt;" in page
    assert 'href="#figure-factor"' in page


def test_an_explanation_links_to_index_source_documentation_and_its_parts() -> None:
    page = page_of(explained())
    reader = read(page)
    hrefs = [attributes["href"] for tag, attributes in reader.tags if tag == "a"]
    assert {"../index.html", "../../docs/x.md", "https://witestlab.poly.edu/blog/"} <= {*hrefs}
    ids = {attributes["id"] for _, attributes in reader.tags if "id" in attributes}
    assert {href[1:] for href in hrefs if href and href.startswith("#")} <= ids


def test_a_link_to_an_explanation_has_a_description_and_a_picture() -> None:
    metas = [attributes for tag, attributes in read(page_of(explained())).tags if tag == "meta"]
    found = {each.get("property") or each.get("name"): each.get("content") for each in metas}
    assert found["description"] == found["og:description"] == explained().answer
    assert found["og:title"] == explained().title
    assert found["og:image"] == "figures/factor.png"
    assert found["og:image:alt"]


def test_the_overview_explains_each_word_where_it_is_first_used() -> None:
    answers = ("A small buffer slows flows down.", "PIE keeps the buffer short.")
    names = ("sizing", "pie")
    reports = [
        realistic_report(study=name, answer=answer, advice=[])
        for name, answer in zip(names, answers, strict=True)
    ]
    page = index_html([IndexEntry.of(each) for each in reports])
    first, second = page.split('<article id="study-')[1:]
    assert "A small <dfn>buffer</dfn> slows" in first
    assert "<b>buffer</b>: memory for packets that wait for the link." in first
    assert "<dfn>PIE</dfn> keeps the buffer short." in second
    assert page.count("<b>buffer</b>") == page.count("<b>PIE</b>") == 1


def test_a_term_is_explained_once_and_where_it_is_first_used() -> None:
    page = page_of(explained())
    bucket = next(term for term in TERMS if term.word == "token bucket")
    assert page.count(bucket.meaning) == 1
    assert page.count("<dfn>token bucket</dfn>") == 1
    assert page.index("<dfn>CDF</dfn>") < page.index('id="hero"') < page.index(bucket.meaning)
    assert "<dfn>" not in page_of(realistic_report())  # pages of runs are not lessons


def test_terms_are_whole_words_and_their_texts_are_escaped() -> None:
    explainer = Explainer([Term("load", "a <b>"), Term("overload", "x")])
    shown, notes = explainer.marked("An overload & a <load>, again a load.")
    assert shown == "An <dfn>overload</dfn> &amp; a &lt;<dfn>load</dfn>&gt;, again a load."
    assert [str(note).count("<b>") for note in notes] == [1, 1]
    assert "a &lt;b&gt;" in notes[1]


def test_figures_of_a_family_stand_together() -> None:
    of = realistic_report().figures
    family = [dataclasses.replace(one, family="All sizes") for one in of[:2]]
    page = page_of(realistic_report(figures=[*family, of[2]]))
    panels = page[page.index('<div class="multiples">') :].split("<h3>How", maxsplit=1)[0]
    assert panels.split('id="figure-quartiles"')[0].count("<h4>") == 2
    assert page.count("All sizes") == 1


def test_every_verdict_has_its_own_symbol_and_class() -> None:
    assert set(BADGES) == set(Verdict) == set(SCORE_ORDER)
    assert len({badge.symbol for badge in BADGES.values()}) == len(Verdict)
    assert len({badge.css for badge in BADGES.values()}) == len(Verdict)


def test_disagreements_come_first_and_order_is_kept_otherwise() -> None:
    claims = sorted_claims(views_of(realistic_claims()))
    verdicts = [claim.verdict for claim in claims]
    assert verdicts[0] is Verdict.NOT_REPRODUCED
    assert verdicts[-1] is Verdict.REPRODUCED
    reproduced = [claim.id for claim in claims if claim.verdict is Verdict.REPRODUCED]
    assert reproduced == ["sm-sojourn", "published-ratio", "left-of", "same-n"]


def test_commands_are_grouped_by_host_in_order() -> None:
    lines = [("b", "one"), ("a", "two"), ("b", "three")]
    assert commands_by_host({"SM": lines}) == [
        {"arm": "SM", "hosts": [{"host": "b", "text": "one\nthree"}, {"host": "a", "text": "two"}]}
    ]


def test_an_empty_report_is_a_page_still() -> None:
    text = " ".join(read(page_html(Report(study="x", title="T", summary="S"), [], "")).text)
    assert "Provenance" in text
    assert "Claims" not in text


def test_the_index_is_escaped_and_counts() -> None:
    entry = IndexEntry.of(realistic_report())
    page = index_html([entry, dataclasses.replace(entry, title=EVIL, summary=EVIL, figure="")])
    reader = read(page)
    assert "".join(reader.text).count(EVIL) == 3  # its title in the list of contents too
    assert "2 studies, 18 facts." in " ".join(reader.text)
    assert " ".join(reader.text).count("3 reproduced") == 2


def test_the_index_has_studies_that_are_run_when_named(tmp_path: Path) -> None:
    report = dataclasses.replace(realistic_report(), study="there")
    write_report(report, tmp_path / "there")
    more = [
        IndexEntry(
            study=name,
            title=f"{name}?",
            summary=EVIL,
            topic="Fairness",
            question="Who gets how much?",
        )
        for name in ("there", "not-there")
    ]
    page = write_index([], tmp_path, more=more).read_text(encoding="utf-8")
    section = page[page.index('id="topic-1"') :]
    assert 'href="there/index.html"' in section and 'href="not-there' not in section
    assert section.count("<svg") == 1
    assert section.count(">Who gets how much?<") == 1 and '<a href="#topic-1">Fairness<' in page
    assert "<code>dumbbell reproduce not-there</code>" in section
    assert EVIL not in page


def test_the_index_joins_what_an_earlier_command_found(tmp_path: Path) -> None:
    """Answer, figure and advice of a study that was not run now are those beside its page."""
    advice = Advice(wish="Nobody is to wait", setting="fq_codel", because=EVIL)
    report = realistic_report(study="there", answer="It is so.", advice=[advice])
    write_report(report, tmp_path / "there")
    more = [IndexEntry(study="there", title="There?", summary="-", topic="Fairness")]
    page = write_index([], tmp_path, more=more).read_text(encoding="utf-8")
    assert "It is so." in page and "Nobody is to wait" in page and EVIL not in page
    assert 'href="#advice"' in page
    for broken in ("[", "[]", '{"answer": 1}', "[" * 100_000):
        (tmp_path / "there" / "overview.json").write_text(broken)
        page = write_index([], tmp_path, more=more).read_text(encoding="utf-8")
        assert "Nobody is to wait" not in page and 'href="there/index.html"' in page


def test_studies_stand_under_the_question_of_their_topic() -> None:
    entries = [
        dataclasses.replace(
            IndexEntry.of(realistic_report(study=name, advice=[])),
            topic=topic,
            question=f"{topic}?",
        )
        for name, topic in (("a", "Buffers"), ("b", "Policing"), ("c", "Buffers"))
    ]
    page = index_html(entries[:2], more=entries[2:])
    assert [part[0] for part in page.split('<article id="study-')[1:]] == ["a", "c", "b"]
    assert page.count(">Buffers?<") == page.count(">Policing?<") == 1


@pytest.mark.parametrize("width", [80, 120])
def test_the_terminal_table_fits_its_width(width: int) -> None:
    out = io.StringIO()
    console = Console(file=out, width=width, color_system=None)
    console.print(claims_table(realistic_claims(), title="One fast queue [or] many slow ones?"))
    lines = out.getvalue().splitlines()
    assert max(map(len, lines)) <= width
    text = out.getvalue()
    assert "[or]" in text
    assert "✗ not reproduced" in text
    assert "[41.06, 41.68]" in text
    assert "41.37" in text
    assert "…" not in text
    counted = " ".join(text[text.index("What the source says") :].split())
    assert counted.startswith("What the source says (7 facts): ✓ 3 reproduced ✗ 1 not reproduced")
    assert counted.endswith("Theory (2 facts): ✓ 1 reproduced ? 1 inconclusive")
    assert "3 numbers at 95 %: chance alone would miss 0 to 1" in counted


@pytest.mark.parametrize("width", [80, 120])
def test_the_terminal_table_cuts_no_number(width: int) -> None:
    out = io.StringIO()
    Console(file=out, width=width, color_system=None).print(claims_table([tiny_claim()]))
    assert "−1.2346e−05" in out.getvalue()
    assert "…" not in out.getvalue()


@pytest.mark.parametrize("width", [80, 120])
def test_the_overview_counts_each_studys_verdicts(width: int) -> None:
    out = io.StringIO()
    entry = IndexEntry.of(realistic_report())
    some = [one for one in entry.judged if one.verdict is Verdict.REPRODUCED]
    other = dataclasses.replace(entry, study="another-study", title="Or [this]?", judged=some)
    Console(file=out, width=width, color_system=None).print(overview_table([entry, other]))
    lines = out.getvalue().splitlines()
    assert max(map(len, lines)) <= width
    (row,) = (line.split() for line in lines if line.startswith(" another-study"))
    others = len({one.verdict for one in entry.judged}) - 1
    assert row == ["another-study", str(len(some)), *["–"] * others]
    assert "Or [this]?" in out.getvalue()


def test_a_terminal_table_does_not_wait_for_the_plotting_libraries() -> None:
    program = (
        "import sys; from dumbbell.report import claims_table; "
        "print([m for m in ('altair', 'polars', 'vl_convert') if m in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"


def test_a_family_is_one_row_and_stands_where_its_worst_member_does() -> None:
    rows = claim_rows([view for view in views_of(further_claims()) if view.counts])
    (family,) = (row for row in rows if row["members"])
    assert rows[0] is family  # m = 8 is off
    assert [member["label"] for member in family["members"]] == [
        "m = 2", "m = 4", "m = 8", "m = 16",
    ]  # fmt: skip
    page = page_of(realistic_report(judged=further_claims(), figures=()))
    text = " ".join(" ".join(read(page).text).split())
    assert text.count("Separate queues are slower by the factor m.") == 1
    assert page.count('class="member"') == 4


def test_headlines_count_facts_and_what_is_only_shown_stands_below() -> None:
    page = page_of(realistic_report(judged=further_claims(), figures=()))
    text = " ".join(" ".join(read(page).text).split())
    head = text[: text.index("In the small drawings")]
    assert "What the source says 3 facts in 4 rows" in head
    assert "Theory 5 facts" in head
    assert "Measured elsewhere 1 fact" in head
    assert "Our instruments agree 1 fact" in head
    assert "preview" not in head
    for heading in ("Previews", "Calibrations", "Checks of ours"):
        assert text.index("A full bucket is emptied") < text.index(heading)


def test_columns_are_headed_by_what_stands_in_them() -> None:
    page = page_of(realistic_report(judged=further_claims(), figures=()))
    assert '<th scope="col" class="number stated">Measured elsewhere</th>' in page
    assert "Every rule was written before the run." in page
    plain = page_of(realistic_report(figures=()))
    assert ">Measured elsewhere</th>" not in plain
    assert "Every rule was written before the run." not in plain  # one row was amended


def folds(page: str) -> list[str]:
    """What is inside each of the claims' folds."""
    section = page[page.index('<section id="claims">') :].split("</section>", maxsplit=1)[0]
    return re.findall(r'<details class="(?:agreeing|uncounted)"[^>]*>.*?</table>', section, re.S)


def test_what_was_reproduced_is_folded_and_no_disagreement_ever_is() -> None:
    agreeing = [
        judge(claim(f"n{k}", f"Number {k}.", printed(20.0)), prediction(20.0, 2.0))
        for k in range(3)
    ]
    wrong = judge(claim("wrong", "The wrong one.", printed(20.0)), prediction(40.0, 2.0))
    page = page_html(realistic_report(judged=[*agreeing, wrong], figures=()), [], "")
    (fold,) = folds(page)
    assert fold.count('id="claim-n') == 3
    assert "3 claims" in fold
    assert "The wrong one." not in fold
    assert page.index("The wrong one.") < page.index("3 claims")


def test_a_family_is_folded_only_when_all_of_it_was_reproduced() -> None:
    page = page_html(realistic_report(judged=further_claims(), figures=()), [], "")
    assert not any('id="family' in fold or "factor-m8" in fold for fold in folds(page))
    right = [one for one in further_claims() if one.claim.id != "factor-m8"]
    page = page_html(realistic_report(judged=right, figures=()), [], "")
    assert any("factor-m16" in fold for fold in folds(page))


def test_a_check_that_fails_is_not_folded() -> None:
    bucket = next(one.claim for one in further_claims() if one.claim.id == "bucket")
    for value, is_open in ((-3.0, False), (9.0, True)):
        checked = judge(bucket, Runs([value]))
        page = page_html(realistic_report(judged=[checked], figures=()), [], "")
        assert ('<details class="uncounted" open>' in page) is is_open


def test_in_a_drawing_equal_values_stand_at_equal_places() -> None:
    (view,) = (view for view in views_of(further_claims()) if view.id == "full")
    (glyph,) = view.glyphs
    svg = glyph_svg(glyph)
    assert 'cx="66.0"' in svg  # the dot on the bound, in the middle of 132
    assert '<line x1="66.0" x2="66.0"' in svg
    assert 'class="margin"' in svg
    (off,) = (view for view in views_of(further_claims()) if view.id == "factor-m8")
    assert 'class="beyond"' in glyph_svg(off.glyphs[0])
    (most,) = (view for view in views_of(further_claims()) if view.id == "most")
    assert 'class="side"' in glyph_svg(most.glyphs[0])


def test_the_kind_of_an_interval_is_read_from_its_field() -> None:
    words = {view.id: interval_words(view) for view in views_of([*realistic_claims(),
             *further_claims()])}  # fmt: skip
    assert words["sm-sojourn"] == "95 % interval"
    assert words["published-p75"] == "95 % prediction"
    assert words["quartiles-grid"] == "95 % intervals, whole grid"
    assert words["full"] == "smallest to largest"
    assert words["fit"] == "95 % profile interval"
