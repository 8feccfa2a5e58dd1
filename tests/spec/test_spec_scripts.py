"""Scripts of tc that say what is done to packets that arrive."""

from __future__ import annotations

from typing import Any

import pytest

from dumbbell.errors import SpecError
from dumbbell.spec import Experiment

HOOK = """
ip link add ifb0 type ifb; ip link set dev ifb0 up
tc qdisc add dev eth0 root fq_codel
tc qdisc add dev eth0 handle ffff: ingress
tc filter add dev eth0 parent ffff: protocol ip u32 match u32 0 0 \\
  action mirred egress redirect dev ifb0
"""
SHAPED = HOOK + "tc qdisc add dev ifb0 root cake bandwidth 18Mbit"
POLICED = """
tc qdisc add dev eth0 clsact
tc filter add dev eth0 ingress matchall action police rate 2mbit burst 20k drop
tc filter add dev eth0 egress matchall action police rate 1mbit burst 10k drop
"""


def experiment(**link: Any) -> Experiment:
    return Experiment.read(
        {"duration": "1s", "links": [{"a": "router", "b": "provider", "delay": "5ms", **link}]}
    )


def ends(described: Experiment) -> tuple[dict[str, Any], dict[str, Any]]:
    link = described.resolved()["links"][0]
    return link["forward"], link["reverse"]


def test_the_queue_of_an_ifb_is_that_of_the_other_end() -> None:
    described = experiment(forward={"rate": "5mbit", "qdisc": SHAPED})
    written = experiment(
        forward={"rate": "5mbit", "qdisc": "fq_codel"}, reverse={"qdisc": "cake bandwidth 18mbit"}
    )
    assert described.resolved_json() == written.resolved_json()
    again = Experiment.from_resolved(described.resolved_json())
    assert again.resolved_json() == written.resolved_json()


def test_the_other_direction_is_a_devices_as_well() -> None:
    forward, reverse = ends(experiment(reverse={"qdisc": SHAPED}))
    assert (forward["qdisc"]["kind"], reverse["qdisc"]["kind"]) == ("cake", "fq_codel")


def test_policers_of_both_hooks() -> None:
    forward, reverse = ends(experiment(forward={"qdisc": POLICED}))
    assert forward["police"]["rate_bps"] == 1_000_000
    assert reverse["police"]["rate_bps"] == 2_000_000
    assert forward["qdisc"] == reverse["qdisc"] == {"kind": "pfifo", "limit_packets": 1000}


def test_hooks_without_filters_do_nothing() -> None:
    text = "tc qdisc add dev eth0 root fq_codel; tc qdisc add dev eth0 clsact"
    plain = experiment(forward={"qdisc": "fq_codel"})
    assert experiment(forward={"qdisc": text}).resolved_json() == plain.resolved_json()


def test_a_notice_says_where_it_stands() -> None:
    placed = experiment(forward={"qdisc": SHAPED.replace("18Mbit", "18Mbps")}).notices()
    said = {(each.path, each.notice.kind, each.notice.value) for each in placed}
    assert said == {
        ("links[0].reverse.qdisc", "arriving", "ifb0"),
        ("links[0].reverse.qdisc", "bytes_per_second", "18Mbps"),
    }


@pytest.mark.parametrize(
    ("link", "path", "said"),
    [
        (
            {"forward": {"qdisc": SHAPED}, "reverse": {"rate": "20mbit"}},
            "links[0].reverse.rate",
            "add a host between",
        ),
        ({"rate": "20mbit", "forward": {"qdisc": SHAPED}}, "links[0].rate", "add a host between"),
        (
            {"qdisc": "fq_codel", "forward": {"qdisc": SHAPED}},
            "links[0].qdisc",
            "add a host between",
        ),
        ({"loss": 0.1, "forward": {"qdisc": SHAPED}}, "links[0].loss", "no `loss`"),
        ({"qdisc": SHAPED}, "links[0].qdisc", "`forward` or `reverse`"),
        (
            {"forward": {"qdisc": POLICED, "police": "police rate 1mbit burst 9k drop"}},
            "links[0].forward.police",
            "either the key",
        ),
        (
            {"forward": {"qdisc": HOOK.replace("u32 0 0", "ip dport 80 0xffff")}},
            "links[0].forward.qdisc",
            "lines for one device",
        ),
    ],
)
def test_what_would_not_be_the_same_is_refused_by_name(
    link: dict[str, Any], path: str, said: str
) -> None:
    with pytest.raises(SpecError) as refused:
        experiment(**link)
    assert refused.value.path == path
    assert said in str(refused.value)


def test_the_other_end_may_have_words_that_do_nothing() -> None:
    link = {"rate": "20mbit", "forward": {"qdisc": SHAPED}, "reverse": {"rate": "inf"}}
    forward, reverse = ends(experiment(**link))
    assert (forward["rate_bps"], reverse["rate_bps"]) == (20_000_000, 0)
    assert reverse["qdisc"]["kind"] == "cake"
