"""Flent's tests as experiments: names, marks, times, parameters."""

from __future__ import annotations

import pytest

from dumbbell.errors import SpecError
from dumbbell.spec import flent
from dumbbell.spec.links import Link

COUNTS = {
    # test: TCP up, TCP down, UDP flows, probes, total seconds with -l 60 -d 5
    "rrul": (4, 4, 0, 4, 70),
    "rrul_be": (4, 4, 0, 4, 70),
    "rrul_be_nflows": (3, 2, 0, 2, 70),
    "tcp_1up": (1, 0, 0, 1, 70),
    "tcp_1down": (0, 1, 0, 1, 70),
    "tcp_nup": (3, 0, 0, 1, 70),
    "tcp_ndown": (0, 2, 0, 1, 70),
    "tcp_bidirectional": (1, 1, 0, 1, 70),
    "tcp_2up_delay": (2, 0, 0, 0, 65),
    "tcp_2up_square": (4, 0, 0, 0, 60),
    "cubic_bbr": (4, 4, 0, 4, 70),
    "rtt_fair": (4, 4, 0, 4, 70),
    "bursts": (0, 0, 6 * 50, 4, 60),
    "udp_flood": (0, 0, 1, 1, 70),
    "ping": (0, 0, 0, 2, 60),
}
STREAMS = {"upload_streams": "3", "download_streams": "2"}


def test_every_test_is_counted() -> None:
    assert set(COUNTS) == set(flent.TEST_NAMES)


@pytest.mark.parametrize("name", flent.TEST_NAMES)
def test_flows_probes_and_length(name: str) -> None:
    test = flent.flent_test(name, parameters=STREAMS)
    experiment = test.experiment()
    tcp = [stream for stream in test.streams if stream.udp is None]
    ups = sum(stream.upload for stream in tcp)
    found = (ups, len(tcp) - ups, len(test.streams) - len(tcp), len(test.probes), test.total_s)
    assert found == COUNTS[name]
    assert experiment.resolved()["duration_ns"] == COUNTS[name][4] * 10**9
    assert experiment.resolved()["sample_interval_ns"] == 200_000_000
    assert len(set(test.series)) == len(test.series)


def test_rrul_is_as_flent_has_it() -> None:
    test = flent.flent_test("rrul")
    flows = {flow["name"]: flow for flow in test.experiment().resolved()["flows"]}
    marks = {"BE": 0x00, "BK": 0x20, "CS5": 0xA0, "EF": 0xB8}
    for label, octet in marks.items():
        up, down = flows[f"tcp-upload-{label}"], flows[f"tcp-download-{label}"]
        assert (up["from"], up["to"]) == ("client", "server")
        assert (down["from"], down["to"]) == ("server", "client")
        assert up["dscp"] == down["dscp"] == octet >> 2
        assert (up["start_ns"], up["stop_ns"]) == (5 * 10**9, 65 * 10**9)
    probes = {probe["name"]: probe for probe in test.experiment().resolved()["probes"]}
    assert [(name, p["kind"], p["dscp"]) for name, p in probes.items()] == [
        ("ping-udp-EF", "udp", 46),
        ("ping-udp-BK", "udp", 8),
        ("ping-udp-BE", "udp", 0),
        ("ping-icmp", "ping", 0),
    ]
    assert {(p["interval_ns"], p["count"]) for p in probes.values()} == {(200_000_000, 350)}
    assert test.series[-6:] == (
        "TCP upload avg",
        "TCP upload sum",
        "TCP download avg",
        "TCP download sum",
        "TCP totals",
        "Ping (ms) avg",
    )


def test_what_rrul_ignores_is_named() -> None:
    """The command of the published PIE experiment."""
    given = {"bandwidth": "800M", "upload_stream": "num_cpus", "Download_Streams": "num_cpus"}
    test = flent.flent_test("rrul", parameters=given)
    assert set(test.without_effect) == {"bandwidth", "upload_stream", "download_streams"}
    assert "udp_bandwidth is read by udp_flood" in test.without_effect["bandwidth"]
    assert "upload_streams is read by rrul_be_nflows" in test.without_effect["upload_stream"]
    assert len(test.streams) == 8


def test_both_directions_of_the_bottleneck_have_a_queue() -> None:
    network = flent.Network(rate="10mbit", qdisc="pie target 20ms tupdate 15ms", rtts=("20ms",))
    experiment = flent.flent_test("tcp_1up", hosts=["172.16.10.2"]).experiment(network)
    bottleneck = experiment.resolved()["links"][1]
    for way in ("forward", "reverse"):
        assert bottleneck[way]["qdisc"]["kind"] == "pie"
        assert (bottleneck[way]["rate_bps"], bottleneck[way]["delay_ns"]) == (10**7, 10**7)
    other = flent.Network(rate_down="50mbit", qdisc_down="pfifo limit 7")
    reverse = flent.flent_test("ping").experiment(other).resolved()["links"][1]["reverse"]
    assert (reverse["rate_bps"], reverse["qdisc"]["limit_packets"]) == (50 * 10**6, 7)


def test_any_topology_will_do() -> None:
    links = [Link(a="laptop", b="box", rate="20mbit"), Link(a="box", b="far", delay="5ms")]
    test = flent.flent_test("tcp_bidirectional", hosts=["far"], client="laptop")
    experiment = test.experiment(links, seed=3, timer_hz=250)
    assert experiment.route("laptop", "far") == ["laptop->box", "box->far"]
    assert (experiment.seed, experiment.timer_hz) == (3, 250)
    with pytest.raises(SpecError, match="client"):
        test.experiment()


def test_parameters_of_streams() -> None:
    test = flent.flent_test(
        "tcp_nup",
        parameters={
            "upload_streams": "3",
            "markings": "CS1,0xb8",
            "cc_algos": "reno,bbr",
            "stream_delays": "0,7",
            "tcp_cong_control": "cubic",
        },
    )
    assert [stream.dscp for stream in test.streams] == [8, 46, 0]
    assert [stream.congestion_control for stream in test.streams] == ["reno", "bbr", "cubic"]
    assert [stream.start_s for stream in test.streams] == [5, 12, 5]
    assert [stream.length_s for stream in test.streams] == [60, 53, 60]


def test_second_controller_is_the_hosts() -> None:
    test = flent.flent_test("tcp_bidirectional", parameters={"tcp_cong_control": "bbr,reno"})
    by_way = {stream.upload: stream.congestion_control for stream in test.streams}
    assert by_way == {True: "bbr", False: "reno"}


def test_rtt_fair_fills_its_hosts_and_takes_a_round_trip_for_each() -> None:
    test = flent.flent_test("rtt_fair", hosts=["near"])
    assert test.hosts == ("near", "server-2", "server-3", "server-4")
    assert test.series[:2] == ("TCP upload BE1 near", "TCP download BE1 near")
    network = flent.Network(rtts=("2ms", "10ms", "50ms", "200ms"))
    delays = [link["forward"]["delay_ns"] for link in test.experiment(network).resolved()["links"]]
    assert delays == [0, 0, 10**6, 5 * 10**6, 25 * 10**6, 100 * 10**6]
    with pytest.raises(SpecError, match="one for each host"):
        test.experiment(flent.Network(rtts=("2ms", "10ms")))


def test_squares_and_delays_start_when_flent_starts_them() -> None:
    square = flent.flent_test("tcp_2up_square", length_s=30)
    assert [(s.start_s, s.length_s) for s in square.streams] == [(0, 30), (5, 5), (15, 5), (25, 5)]
    delayed = flent.flent_test("tcp_2up_delay", length_s=30)
    assert [(s.start_s, s.length_s) for s in delayed.streams] == [(0, 35), (5, 30)]


def test_udp_rates_are_of_payload() -> None:
    test = flent.flent_test(
        "udp_flood", parameters={"udp_bandwidth": "11.76M", "udp_pktsize": "1470"}
    )
    source = test.experiment().resolved()["flows"][0]["source"]
    assert source["gap"]["value"] == pytest.approx(1e-3)
    assert source["size_at"] == "payload"


@pytest.mark.parametrize(
    ("name", "given", "message"),
    [
        ("rrull", {}, "did you mean 'rrul'"),
        ("rrul", {"length_s": 0}, "length"),
        ("rrul", {"delay_s": 10**9}, "delay"),
        ("rrul", {"step_s": 1e-5}, "step-size"),
        ("rrul", {"step_s": float("nan")}, "step-size"),
        ("rrul", {"step_s": 0.0015}, "whole milliseconds"),
        ("rrul", {"length_s": 86400, "step_s": 0.001}, "steps"),
        ("tcp_nup", {}, "upload_streams: 'nothing'"),
        ("tcp_nup", {"parameters": {"upload_streams": "num_cpus"}}, "property of a machine"),
        ("tcp_nup", {"parameters": {"upload_streams": "501"}}, "from 1 to 500"),
        (
            "tcp_nup",
            {"parameters": {"upload_streams": "1", "stream_delays": "60"}},
            "stream_delays",
        ),
        ("tcp_1up", {"parameters": {"markings": "CS9"}}, "marking"),
        ("tcp_1up", {"parameters": {"markings": "0x21"}}, "ECN"),
        ("tcp_1up", {"parameters": {"cc_algo": "cubik"}}, "did you mean 'cubic'"),
        ("udp_flood", {"parameters": {"udp_bandwidth": "fast"}}, "100M"),
        ("rrul", {"parameters": {"a\nb": "1"}}, "test-parameter"),
        ("rrul", {"parameters": {"a": "x" * 2000}}, "one line"),
        ("rrul", {"hosts": ["router"]}, "name other than"),
    ],
)
def test_what_is_refused(name: str, given: dict[str, object], message: str) -> None:
    with pytest.raises(SpecError, match=message):
        flent.flent_test(name, **given).experiment()  # type: ignore[arg-type]
