"""Bad input: one message with the path, the value, what is allowed and the nearest word."""

import math
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from spec_samples import SMALL, bent

from dumbbell.errors import EXIT_BAD_INPUT
from dumbbell.spec import Experiment, Link, LinkOptions, SpecError

SOURCE = {"kind": "poisson", "rate": "110pps", "size": "512B"}
ALONE = [{"a": "left", "b": "right"}, {"a": "x", "b": "y"}]

# what is changed in the small experiment; path; value; a part of what is allowed; hint
TABLE: list[tuple[dict[str, Any], str, str, str, str | None]] = [
    # unknown keys
    ({"linsk": []}, "linsk", "linsk", "links", "links"),
    ({"links__0__dely": "1ms"}, "links[0].dely", "dely", "one of", "delay"),
    ({"links__0__forward__rat": "1mbit"}, "links[0].forward.rat", "rat", "rate", "rate"),
    ({"flows__0__form": "left"}, "flows[0].form", "form", "from", "from"),
    ({"flows__0__source__speed": 1}, "flows[0].source.speed", "speed", "rate", None),
    ({"probes__0__rate_bps": 1}, "probes[0].rate_bps", "rate_bps", "interval", None),
    ({"links__0__gso": False}, "links[0].gso", "gso", "gso_max_segs", None),
    ({"links__0__forward__gso": True}, "links[0].forward.gso", "gso", "gso_max_segs", None),
    # units
    ({"links__0__gro": "5"}, "links[0].gro", "5", "unit", "5s"),
    ({"duration": 10}, "duration", "10", "time", "10s"),
    ({"duration": "10"}, "duration", "10", "unit", "10s"),
    ({"links__0__rate": "1"}, "links[0].rate", "1", "unit", "1bit"),
    ({"links__0__rate": 5}, "links[0].rate", "5", "rate", "5bit"),
    ({"links__0__rate": "1mbt"}, "links[0].rate", "1mbt", "mbit", "1mbit"),
    ({"links__0__mtu": 1500}, "links[0].mtu", "1500", "size", "1500B"),
    ({"flows__0__source__rate": 110}, "flows[0].source.rate", "110", "pps", "110pps"),
    ({"flows__0__source__rate": "110"}, "flows[0].source.rate", "110", "pps", "110pps"),
    ({"flows__0__source__rate": math.nan}, "flows[0].source.rate", "nan", "pps", None),
    ({"links__0__rate": math.inf}, "links[0].rate", "inf", "rate", None),
    ({"links__0__rate": -5}, "links[0].rate", "-5", "rate", None),
    # ranges
    ({"links__0__gro": "2s"}, "links[0].gro", "2s", "at most 1s", None),
    ({"duration": "0s"}, "duration", "0s", "more than 0", None),
    ({"duration": "17280001s"}, "duration", "17280001s", "200 days", None),
    ({"duration": "99999999999999999999s"}, "duration", "99999999999999999999s", "", None),
    ({"duration": "-1s"}, "duration", "-1s", "", None),
    ({"duration": "nan"}, "duration", "nan", "", None),
    ({"warm_up": "10s"}, "warm_up", "10s", "less than the duration, 10s", None),
    ({"links__0__rate": "-1mbit"}, "links[0].rate", "-1mbit", "", None),
    ({"links__0__rate": "0bit"}, "links[0].rate", "0bit", "above 0", None),
    ({"links__0__rate": "5tbit"}, "links[0].rate", "5tbit", "4tbit", None),
    ({"links__0__loss": math.nan}, "links[0].loss", "nan", "0 to 1", None),
    ({"links__0__loss": math.inf}, "links[0].loss", "inf", "0 to 1", None),
    ({"links__0__loss": 1.5}, "links[0].loss", "1.5", "0 to 1", None),
    ({"links__0__loss": True}, "links[0].loss", "True", "0 to 1", None),
    ({"links__0__loss": "1%"}, "links[0].loss", "1%", "per cent", "0.01"),
    ({"links__0__mtu": "67B"}, "links[0].mtu", "67B", "68 to 65535", None),
    ({"links__0__overhead": "ethernett"}, "links[0].overhead", "ethernett", "wire", "ethernet"),
    ({"links__0__overhead": "1001B"}, "links[0].overhead", "1001B", "1000", None),
    ({"probes__0__payload": "65508B"}, "probes[0].payload", "65508B", "65507", None),
    ({"probes__0__kind": "irt"}, "probes[0].kind", "irt", "ping, udp, irtt", "irtt"),
    (
        {"probes__0__kind": "irtt", "probes__0__payload": "59B"},
        "probes[0].payload",
        "59B",
        "at least 60B",
        "60B",
    ),
    ({"probes__0__interval": "0s"}, "probes[0].interval", "0s", "more than 0", None),
    ({"probes__0__count": 0}, "probes[0].count", "0", "1 to", None),
    ({"probes__0__count": 1.5}, "probes[0].count", "1.5", "whole", None),
    ({"seed": -1}, "seed", "-1", "18446744073709551615", None),
    ({"seed": 2**64}, "seed", str(2**64), "18446744073709551615", None),
    ({"seed": True}, "seed", "True", "whole", None),
    ({"flows__0__dscp": 64}, "flows[0].dscp", "64", "0 to 63", None),
    ({"flows__0__dscp": "CS-5"}, "flows[0].dscp", "CS-5", "EF", "CS5"),
    ({"flows__0__ecn": "ect-0"}, "flows[0].ecn", "ect-0", "ect1", "ect0"),
    ({"links__0__record_packets": "yes"}, "links[0].record_packets", "yes", "true", None),
    # queues
    ({"links__0__qdisc": "pfiffo"}, "links[0].qdisc", "pfiffo", "pfifo", "pfifo"),
    ({"links__0__qdisc": "pfifo limt 5"}, "links[0].qdisc", "limt", "limit", "limit"),
    ({"links__0__qdisc": 5}, "links[0].qdisc", "5", "tc qdisc", None),
    ({"links__0__forward__qdisc": "pfifo limit 0"}, "links[0].forward.qdisc", "0", "1 to", None),
    # laws
    (
        {"flows__0__source__size": "exponental 512B"},
        "flows[0].source.size",
        "exponental",
        "exponential, constant",
        "exponential",
    ),
    (
        {"flows__0__source__size": "exponential"},
        "flows[0].source.size",
        "exponential",
        "mean",
        None,
    ),
    ({"flows__0__source__size": "512"}, "flows[0].source.size", "512", "size", "512b"),
    ({"flows__0__source__size": 512}, "flows[0].source.size", "512", "size", None),
    (
        {"flows__0__source__size": "uniform 9B 9B"},
        "flows[0].source.size",
        "uniform 9B 9B",
        "low",
        None,
    ),
    (
        {"flows__0__source__size": "exponential 0B"},
        "flows[0].source.size",
        "0B",
        "more than 0",
        None,
    ),
    ({"flows__0__source__size": "pareto nan 9B"}, "flows[0].source.size", "nan", "shape", None),
    (
        {"flows__0__source__size": {"law": "exponential", "men": "9B"}},
        "flows[0].source.size.men",
        "men",
        "mean",
        "mean",
    ),
    (
        {"flows__0__source__size": {"law": "exponential", "mean": 9}},
        "flows[0].source.size.mean",
        "9",
        "size",
        None,
    ),
    (
        {"flows__0__source__size": {"mean": "9B"}},
        "flows[0].source.size.law",
        "nothing",
        "pareto",
        None,
    ),
    (
        {"flows__0__source": {"kind": "renewal", "gap": "0s", "size": "9B"}},
        "flows[0].source.gap",
        "0s",
        "nanosecond",
        None,
    ),
    # sources
    ({"flows__0__source__kind": "poison"}, "flows[0].source.kind", "poison", "poisson", "poisson"),
    ({"flows__0__source": {"size": "9B"}}, "flows[0].source.kind", "nothing", "kind", None),
    ({"flows__0__source": "poisson"}, "flows[0].source", "poisson", "table", None),
    ({"flows__0__source__gap": "1ms"}, "flows[0].source.gap", "1ms", "not both", None),
    (
        {"flows__0__source": {"kind": "cbr", "size": "9B"}},
        "flows[0].source.rate",
        "nothing",
        "required",
        None,
    ),
    # who and whereto
    ({"links__0__b": "left"}, "links[0].b", "left", "another host", None),
    ({"links__0__a": "my host"}, "links[0].a", "my host", "letters", None),
    ({"hosts": ["left", "midle", "right"]}, "links[0].b", "middle", "midle", "midle"),
    ({"hosts": ["left", "left"]}, "hosts[1]", "left", "hosts[0]", None),
    ({"hosts": "left"}, "hosts", "left", "list", None),
    ({"flows__0__to": "rigth"}, "flows[0].to", "rigth", "left, middle, right", "right"),
    ({"flows__0__to": "left"}, "flows[0].to", "left", "another host", None),
    (
        {"probes__0__to": "y", "links": ALONE},
        "probes[0].to",
        "y",
        "lead to from left: one of right",
        None,
    ),
    ({"probes__0__name": "stream"}, "probes[0].name", "stream", "flows[0].name", None),
    ({"name": "a/../b"}, "name", "a/../b", "letters", None),
    # times
    ({"flows__0__start": "10s"}, "flows[0].start", "10s", "before the end of the run, 10s", None),
    (
        {"flows__0__start": "2s", "flows__0__stop": "1s"},
        "flows[0].stop",
        "1s",
        "after the start",
        None,
    ),
    (
        {"links__0__changes": [{"at": "2s", "loss": 1}, {"at": "1s", "loss": 0}]},
        "links[0].changes[1].at",
        "1s",
        "after 2s",
        None,
    ),
    ({"links__0__changes": [{"at": "2s"}]}, "links[0].changes[0]", "nothing", "new rate", None),
    # structure
    ({"shape": {"kind": "chain", "hops": 2}}, "links", "links", "either a shape", None),
    ({"links": []}, "links", "nothing", "shape", None),
    ({"links": {}}, "links", "{}", "list", None),
    ({"links": ["x"]}, "links[0]", "x", "table", None),
    ({"links": [{"a": "left"}]}, "links[0].b", "nothing", "required", None),
    ({"links": [], "shape": {"kind": "ring"}}, "shape.kind", "ring", "chain", None),
    ({"links": [], "shape": {"kind": "chain", "hops": 65}}, "shape.hops", "65", "1 to 64", None),
    (
        {"links": [], "shape": {"kind": "dumbbell", "pairs": 1, "bottleneck": {"rate": "1"}}},
        "shape.bottleneck.rate",
        "1",
        "unit",
        "1bit",
    ),
]


@pytest.mark.parametrize(
    ("change", "path", "value", "allowed", "hint"),
    TABLE,
    ids=[row[1] + "=" + row[2] for row in TABLE],
)
def test_bad_input(
    change: dict[str, Any], path: str, value: str, allowed: str, hint: str | None
) -> None:
    with pytest.raises(SpecError) as caught:
        Experiment.read(bent(**change))
    error = caught.value
    assert (error.path, error.value, error.hint) == (path, value, hint)
    assert allowed in error.allowed
    assert error.allowed
    assert error.exit_code == EXIT_BAD_INPUT
    assert path in str(error) and value in str(error)


def test_the_table_starts_from_something_good() -> None:
    assert Experiment.read(SMALL)


def test_python_is_told_the_same_way() -> None:
    with pytest.raises(SpecError) as caught:
        Link(a="x", b="y", rate="1mbt")
    assert (caught.value.path, caught.value.hint) == ("rate", "1mbit")
    with pytest.raises(SpecError) as caught:
        LinkOptions(dely="1ms")  # type: ignore[call-arg]
    assert caught.value.hint == "delay"
    with pytest.raises(SpecError) as caught:
        Experiment(duration="1s", links=[{"a": "x", "b": "y", "delay": "1"}])  # type: ignore[list-item]
    assert caught.value.path == "links[0].delay"


@pytest.mark.parametrize(
    ("text", "path", "allowed"),
    [
        ("duration = \n", "line 1", "invalid value"),
        ("a = 1\nb = [1 2]\n", "line 2", "unclosed"),
        ("a = 1\na = 2\n", "line 2", "overwrite"),
        ("x = " + "[" * 100_000, "", "inside each other"),
        ("seed = " + "1" * 5000, "", "TOML"),
        ("# " + "x" * (1 << 20) + "\n", "", "1 MiB"),
    ],
    ids=["value", "unclosed", "twice", "deep", "digits", "large"],
)
def test_bad_toml(text: str, path: str, allowed: str) -> None:
    with pytest.raises(SpecError) as caught:
        Experiment.from_toml(text)
    assert caught.value.path == path
    assert allowed in caught.value.allowed
    assert len(caught.value.value) <= 80


def test_bad_files(tmp_path: Path) -> None:
    broken = tmp_path / "broken.toml"
    broken.write_text('duration = "1s"\nlinks = [\n')
    with pytest.raises(SpecError) as caught:
        Experiment.from_toml(broken)
    assert caught.value.path == "broken.toml, line 2"
    broken.write_bytes(b'duration = "1s"\nname = "\xff"\n')
    with pytest.raises(SpecError, match="UTF-8") as caught:
        Experiment.from_toml(str(broken))
    assert caught.value.path.endswith("line 2")
    with pytest.raises(SpecError, match="No such file"):
        Experiment.from_toml(tmp_path / "missing.toml")
    with pytest.raises(SpecError, match="folder"):
        Experiment.from_toml(tmp_path)
    with Path(tmp_path / "large.toml").open("wb") as file:
        file.truncate((1 << 20) + 1)
    with pytest.raises(SpecError, match="1 MiB"):
        Experiment.from_toml(tmp_path / "large.toml")


json_like = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=9),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3)
    ),
    max_leaves=6,
)
PLACES = ["duration", "seed", "shape", "hosts", "links", "links__0", "links__0__changes", "flows"]
PLACES += ["links__0__qdisc", "flows__0__source", "flows__0__source__size", "flows__0__dscp"]


@given(st.sampled_from(PLACES), json_like)
def test_whatever_stands_there_it_is_read_or_refused(place: str, value: object) -> None:
    try:
        Experiment.read(bent(**{place: value})).resolved_json()
    except SpecError as error:
        assert error.allowed
        assert len(str(error)) < 2000
