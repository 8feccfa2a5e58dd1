"""What is to be known of a description in tc's language, with its place."""

from __future__ import annotations

from typing import Any

import pytest

from dumbbell import units
from dumbbell.spec import Dumbbell, Experiment, LinkOptions, SpecError


def experiment(**link: Any) -> Experiment:
    return Experiment(duration="1s", links=[{"a": "left", "b": "right", **link}])


def test_bytes_per_second_are_said_wherever_they_are_written() -> None:
    noted = experiment(
        rate="10Mbps",
        police="police rate 1kbps burst 5kb drop",
        reverse={"rate": "1mbit", "qdisc": "tbf rate 2mbps burst 5kb limit 10kb"},
        changes=[{"at": "0.5s", "rate": "3MBps"}],
    ).notices()
    assert [
        (each.path, each.notice.value, each.notice.means, each.notice.instead) for each in noted
    ] == [
        ("links[0].rate", "10Mbps", "80mbit", "10Mbit"),
        ("links[0].police", "1kbps", "8kbit", "1kbit"),
        ("links[0].changes[0].rate", "3MBps", "24mbit", "3Mbit"),
        ("links[0].reverse.qdisc", "2mbps", "16mbit", "2mbit"),
    ]
    assert {each.notice.kind for each in noted} == {"bytes_per_second"}
    assert str(noted[0]) == (
        'links[0].rate: "10Mbps" is 80mbit: in tc, bps means bytes per second; '
        'for bits write "10Mbit"'
    )
    # What is said to be meant is what is run, and what is to be written is ten times a megabit.
    assert units.parse_rate_bps(noted[0].notice.means) == units.parse_rate_bps("10Mbps")
    assert units.parse_rate_bps(noted[0].notice.instead) == 10_000_000


def test_bare_times_and_packets_with_units_are_said() -> None:
    noted = experiment(qdisc="fq_codel target 5", reverse={"qdisc": "pfifo limit 100kb"}).notices()
    assert [(each.notice.kind, each.notice.means) for each in noted] == [
        ("microseconds", "5us"),
        ("packets_with_unit", "102400"),
    ]
    assert noted[0].as_json() == {
        "path": "links[0].qdisc",
        "kind": "microseconds",
        "value": "5",
        "means": "5us",
        "instead": "5ms",
        "text": noted[0].notice.text,
    }


def test_a_shape_is_noted_once_and_what_is_plain_not_at_all() -> None:
    shape = Dumbbell(pairs=20, bottleneck=LinkOptions(rate="1mbps"))
    (noted,) = Experiment(duration="1s", shape=shape).notices()
    assert noted.path == "shape.bottleneck.rate"
    plain = experiment(rate="10mbit", qdisc="fq_codel target 5ms", police="none")
    assert plain.notices() == experiment(rate="inf").notices() == ()


@pytest.mark.parametrize(
    ("qdisc", "because"),
    [
        ("codel limit 0", "ignores it"),
        ("codel target -1s", "another number"),
        ("tbf rate 10% burst 5kb limit 5kb", "reads the device"),
        ("fq_codel quantum 7", "another value"),
        ("netem loss 33.333333333%", "more digits"),
        ("bfifo limit 0", "every packet"),
    ],
)
def test_what_tc_takes_and_we_do_not_is_refused_with_the_reason(qdisc: str, because: str) -> None:
    with pytest.raises(SpecError) as caught:
        experiment(qdisc=qdisc)
    assert caught.value.reason is not None
    assert because in caught.value.reason
    assert caught.value.reason in str(caught.value)


@pytest.mark.parametrize("text", ["1 Mbps", "1mpbs", "1Mb/s"])
def test_bytes_per_second_are_never_suggested(text: str) -> None:
    with pytest.raises(SpecError) as caught:
        experiment(rate=text)
    assert caught.value.hint == "1mbit"
