"""Sliders and chips of a discipline's numbers: the parser's table, and what the parser takes."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Mapping
from itertools import pairwise
from typing import Any

import pytest
from lab_module import ROOT
from lab_page import Opener, check_equal, moved, typed

from browsing import barriers, outside
from dumbbell import _engine
from dumbbell.lab.parameters import numbers

pytestmark = pytest.mark.slow

KNOWN: Mapping[str, Any] = numbers()
NUMBERS: Mapping[str, list[dict[str, Any]]] = KNOWN["numbers"]
EXAMPLES = {each.split()[0]: each for each in KNOWN["examples"]} | {
    name: name for name in ("htb", "hfsc", "drr")
}
ALONE = [name for name in NUMBERS if name != "police" and not name.endswith(" class")]
DEPENDENT = {
    ("tbf", "peakrate_bps"),  # above rate, and with mtu
    ("police", "peakrate_bps"),
    ("red", "min_bytes"),  # not above max, and the reverse
    ("red", "max_bytes"),
    ("red", "burst_packets"),  # by min, max and avpkt
    ("red", "avpkt_bytes"),
    ("red", "limit_bytes"),
    ("netem", "jitter_ns"),  # with what stands before it
    ("netem", "delay_correlation_ppb"),
    ("netem", "duplicate_correlation_ppb"),
    ("netem", "reorder_ppb"),
    ("netem", "reorder_correlation_ppb"),
    ("netem", "gap_packets"),
    ("netem", "packet_overhead_bytes"),
    ("netem", "cell_size_bytes"),
    ("netem", "cell_overhead_bytes"),
    ("ets", "bands"),  # with as many quanta and children
    ("ets", "strict"),
    ("prio", "bands"),  # with as many children
    ("sfq", "limit_packets"),  # with depth, flows and divisor
    ("sfq", "depth_packets"),
    ("sfq", "flows"),
    ("sfq", "divisor"),
    ("choke", "limit_packets"),  # not below max, and as of red
    ("choke", "min_packets"),
    ("choke", "max_packets"),
    ("choke", "burst_packets"),
    ("choke", "avpkt_bytes"),
    ("choke", "bandwidth_bps"),
    ("dualpi2", "alpha"),  # the table rounds the greatest
    ("dualpi2", "beta"),
}
"""What may have a value that the others of the example do not go with."""


FAR = {
    ("red", "probability_ppb", 1),
    ("red", "bandwidth_bps", 8),
    ("choke", "probability_ppb", 1),
    ("police", "rate_bps", 8),
    ("police", "burst_bytes", 4294967295),
    ("netem", "delay_ns", 274877906000),  # no whole tick
}
"""Ends of ranges with which the other values of the example do not go."""


def _stops() -> dict[str, dict[str, Any]]:
    """What the page's script makes of each parameter, by ``KIND KEY``."""
    if shutil.which("node") is None:
        (pytest.fail if os.environ.get("CI") else pytest.skip)("node is not installed")
    script = (
        "import { stopsOf, chipsOf } from "
        f"{json.dumps((ROOT / 'python/dumbbell/lab/page/numbers.js').as_uri())};"
        'import { exactText } from "./words.js";'.replace(
            "./", (ROOT / "python/dumbbell/lab/page").as_uri() + "/"
        )
        + 'import { readFileSync } from "node:fs";'
        'const all = JSON.parse(readFileSync(0, "utf8"));'
        "const found = {};"
        "for (const [kind, each] of Object.entries(all)) for (const one of each)"
        " found[`${kind} ${one.key}`] = { stops: stopsOf(one, one.default), chips: chipsOf(one),"
        " words: stopsOf(one, one.default).map((stop) => stop && exactText(stop, one.unit)) };"
        "console.log(JSON.stringify(found));"
    )
    done = subprocess.run(
        ["node", "--input-type=module", "-e", script],
        input=json.dumps(NUMBERS),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    found: dict[str, dict[str, Any]] = json.loads(done.stdout)
    return found


def _refusal(kind: str, key: str, value: float | None) -> str:
    """What the parser says of a value; nothing where it takes it."""
    try:
        if kind == "police":
            text = _engine.parse_police("police rate 1mbit burst 10kb drop")
            _engine.render_police(json.dumps({**json.loads(text), key: value}))
        else:
            text = _engine.parse_qdisc(EXAMPLES[kind])
            _engine.render_qdisc(json.dumps({**json.loads(text), key: value}))
    except _engine.QdiscError as error:
        return str(error)
    return ""


def test_every_number_of_the_table_is_there() -> None:
    """Each number of each resolved discipline, but for those inside lists."""
    for kind in ALONE:
        resolved = json.loads(_engine.parse_qdisc(EXAMPLES[kind]))
        keys = {key for key, value in resolved.items() if type(value) is int}
        # A class has a number as its name.
        assert keys - {each["key"] for each in NUMBERS[kind]} <= {"default_minor"}, kind
    assert {each["key"] for each in NUMBERS["police"]} == {
        "rate_bps",
        "burst_bytes",
        "mtu_bytes",
        "peakrate_bps",
    }


@pytest.mark.parametrize("kind", [*ALONE, "police"])
def test_the_parser_takes_both_ends_of_a_range_and_nothing_beyond(kind: str) -> None:
    for each in NUMBERS[kind]:
        key, least, most = each["key"], each["least"], each["most"]
        if (kind, key) in DEPENDENT:
            continue
        step = 1000 if each["unit"] == "ns" and least % 1000 == 0 else 1
        for value in (least, most):
            is_fine = value is None or (kind, key, value) in FAR or not _refusal(kind, key, value)
            assert is_fine, (kind, key, value)
        assert _refusal(kind, key, least - step) or (each["isZero"] and least == step), (kind, key)
        if most is not None:
            assert _refusal(kind, key, most + step), (kind, key)


def test_every_stop_and_chip_is_a_value_that_the_parser_takes() -> None:
    for name, found in _stops().items():
        kind, _, key = name.rpartition(" ")
        if kind.endswith(" class"):
            continue
        stops, chips = found["stops"], found["chips"]
        values = [-1 if each is None else each for each in stops]
        assert values == sorted(values) and len(values) == len(set(values)) >= 2, name
        assert 2 <= len(chips) <= 5, (name, chips)
        refused = [
            (value, said) for value in {*stops, *chips} if (said := _refusal(kind, key, value))
        ]
        assert (kind, key) in DEPENDENT or not refused, (name, refused[:3])
        own = next(each["default"] for each in NUMBERS[kind] if each["key"] == key)
        assert own is None or (own in stops and own in chips), (name, own)
        # A range of many decades is passed in steps that grow with it.
        if stops[-1] > 1000 * max(1, values[1 if values[0] <= 0 else 0]):
            large = [each for each in values if each > 0]
            ratios = [b / a for a, b in pairwise(large) if a >= 10]
            assert max(ratios) <= 1.5, name


def test_no_two_stops_have_the_same_words() -> None:
    for name, found in _stops().items():
        words = [each for each in found["words"] if each]
        assert len(set(words)) == len(words), name


@pytest.mark.browser
def test_a_slider_and_a_chip_change_one_number(opener: Opener) -> None:
    seen = opener()
    seen.after(typed("qdisc", "fq_codel"))
    assert seen.page.input_value("#control-qdisc").startswith("fq_codel limit 10240 flows 1024")
    seen.after(moved("qdisc-target_ns", 0.9))
    typed_text = seen.page.input_value("#control-qdisc")
    assert "target 5ms" not in typed_text and "limit 10240" in typed_text
    seen.after(
        "document.querySelector('.field:has(#control-qdisc-interval_ns) .chip:last-child').click()"
    )
    assert "interval 500ms" in seen.page.input_value("#control-qdisc")
    check_equal(seen)
    # Another discipline takes nothing along that was changed inside the one before.
    seen.after("document.querySelectorAll('.field.text .chip')[0].click()")
    assert seen.page.locator("#control-qdisc-target_ns").count() == 0
    link = "#" + seen.page.input_value("#link").split("#")[1]
    again = opener(link)
    assert again.digest() == seen.digest()
    assert seen.messages == []


@pytest.mark.browser
def test_what_is_not_set_can_be_set_and_taken_back(opener: Opener) -> None:
    seen = opener()
    seen.after(typed("qdisc", "fq_codel"))
    before, digest = seen.page.input_value("#control-qdisc"), seen.digest()
    assert "not set" in seen.page.inner_text(".numbers summary")
    chip = ".field:has(#control-qdisc-ce_threshold_ns) .chip"
    seen.after(f"document.querySelectorAll('{chip}')[1].click()")
    assert "ce_threshold 1ms" in seen.page.input_value("#control-qdisc")
    check_equal(seen)
    again = opener("#" + seen.page.input_value("#link").split("#")[1])
    assert again.digest() == seen.digest()
    seen.after(f"document.querySelectorAll('{chip}')[0].click()")
    assert (seen.page.input_value("#control-qdisc"), seen.digest()) == (before, digest)


@pytest.mark.browser
def test_numbers_of_what_is_inside_have_sliders_too(opener: Opener) -> None:
    seen = opener()
    seen.after(
        typed(
            "qdisc",
            "root handle 1: tbf rate 18mbit burst 20kb limit 90kb; parent 1:1 pie target 20ms",
        )
    )
    seen.after(moved("qdisc-child-target_ns", 0.2))
    assert "target 20ms" not in seen.page.input_value("#control-qdisc")
    assert "tbf rate 18mbit" in seen.page.input_value("#control-qdisc")
    seen.after(moved("qdisc-rate_bps", 0.5))
    check_equal(seen)
    seen.choose("policing")
    seen.after(moved("police-burst_bytes", 0.9))
    assert "burst 20kb" not in seen.page.input_value("#control-police")
    check_equal(seen)
    assert seen.messages == []


_CUT_OFF = """() => [...document.querySelectorAll(".field.text textarea")]
  .filter(each => each.scrollHeight > each.clientHeight + 1 || each.scrollWidth > each.clientWidth)
  .map(each => each.id)"""


@pytest.mark.browser
@pytest.mark.parametrize("width", [390, 1440])
@pytest.mark.parametrize(
    "text",
    [
        "fq",
        "cake",
        "netem delay 10ms",
        "root handle 1: htb default 10; class add parent 1: classid 1:10 htb rate 9mbit;"
        " parent 1:10 fq_codel",
    ],
)
def test_numbers_fit_the_page_and_nothing_is_cut_off(opener: Opener, text: str, width: int) -> None:
    seen = opener(width=width)
    seen.after(typed("qdisc", text))
    seen.page.evaluate("document.activeElement.blur()")
    seen.page.evaluate("document.querySelectorAll('details').forEach(each => { each.open = true })")
    assert seen.page.locator(".numbers input[type=range]").count() >= 3
    assert seen.page.evaluate("document.documentElement.scrollWidth") == width
    assert outside(seen.page, width) == []
    assert seen.page.evaluate(_CUT_OFF) == []
    assert barriers(seen.page) == []
