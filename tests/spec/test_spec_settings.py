"""Values put into a description by their paths."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from spec_samples import SMALL

from dumbbell.spec import (
    Experiment,
    Setting,
    SpecError,
    separate_settings_applied,
    settings_applied,
)

PARALLEL = {"duration": "1s", "links": [{"a": "x", "b": "y"}, {"a": "x", "b": "y"}]}


def applied(*texts: str, document: dict[str, Any] = SMALL) -> dict[str, Any]:
    return settings_applied(document, [Setting.parse(text) for text in texts])


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("seed=7", 7),
        ("x=0.25", 0.25),
        ("x=true", True),
        ('x="10s"', "10s"),
        ("x=10s", "10s"),
        ("x=", ""),
        ("x = fq_codel limit 1000 ", "fq_codel limit 1000"),
        ("x=[1, 'b']", [1, "b"]),
        ('x={ kind = "greedy" }', {"kind": "greedy"}),
        # A rate of a link, not a number; a date is no value of a description.
        ("x=inf", "inf"),
        ("x=nan", "nan"),
        ("x=2026-01-01", "2026-01-01"),
        ("x=1\ny=2", "1\ny=2"),
        ("x=a=b", "a=b"),
    ],
)
def test_a_value_is_toml_or_text(text: str, value: object) -> None:
    found = Setting.parse(text).value
    assert (found, type(found)) == (value, type(value))


def test_places_are_numbers_or_names() -> None:
    by_number = applied(
        "links[1].forward.qdisc=pie",
        "flows[0].start=1s",
        "flows[0].source.rate=5pps",
        "probes[0].interval=2s",
        "duration=20s",
    )
    assert by_number == applied(
        "links[middle->right].forward.qdisc=pie",
        "flows[stream].start=1s",
        "flows[stream].source.rate=5pps",
        "probes[ping].interval=2s",
        "duration=20s",
    )
    assert by_number["links"][1]["forward"] == {"qdisc": "pie"}
    Experiment.read(by_number)
    assert applied("links[x->y#2].rate=1mbit", document=PARALLEL)["links"] == [
        {"a": "x", "b": "y"},
        {"a": "x", "b": "y", "rate": "1mbit"},
    ]


def test_equal_flows_are_set_together_or_one_by_one() -> None:
    document = copy.deepcopy(SMALL)
    document["flows"][0]["count"] = 3
    together = applied("flows[stream].start=1s", document=document)
    assert [each["start"] for each in together["flows"]] == ["1s"]
    one = applied("flows[stream-2].start=1s", "flows[stream-3].dscp=EF", document=document)
    flows = Experiment.read(one).resolved()["flows"]
    assert [(each["name"], each["start_ns"], each["dscp"]) for each in flows] == [
        ("stream-1", 0, 0),
        ("stream-2", 10**9, 0),
        ("stream-3", 0, 46),
    ]
    with pytest.raises(SpecError, match=r"flows\[stream-4\]"):
        applied("flows[stream-4].start=1s", document=document)


def test_the_document_stays_as_it_was() -> None:
    before = copy.deepcopy(SMALL)
    table = Setting("flows[0].source", {"kind": "greedy"})
    changed = settings_applied(SMALL, [table, Setting("flows[0].source.kind", "sized")])
    assert before == SMALL
    assert table.value == {"kind": "greedy"}
    assert changed["flows"][0]["source"] == {"kind": "sized"}


@pytest.mark.parametrize(
    ("text", "path", "allowed", "hint"),
    [
        ("duration", "--set", "PATH=VALUE", None),
        ("=5", "--set", "PATH=VALUE", None),
        ("links[0]rate=5", "--set", "a path such as", None),
        ("links..rate=5", "--set", "a path such as", None),
        ("[0].rate=5", "--set", "a path such as", None),
        ("links[].rate=5", "--set", "a path such as", None),
        ("linsk[0].rate=5mbit", "linsk", "links, flows, probes", "links"),
        ("links[2].rate=5mbit", "links[2]", "left->middle, middle->right", None),
        ("links[left->midle].rate=5mbit", "links[left->midle]", "left->middle", "left->middle"),
        ("links[right->middle].rate=5mbit", "links[right->middle]", "one of", "middle->right"),
        ("flows[strem].start=1s", "flows[strem]", "one of stream", "stream"),
        ("duration[0]=1s", "duration", "a list", None),
        ("duration.unit=s", "duration", "a table", None),
        ("flows[0].source.size.mean=5B", "flows[0].source.size", "a table", None),
        ("flows[0].source.times[0]=5s", "flows[0].source.times", "a list", None),
    ],
)
def test_a_path_that_leads_nowhere(text: str, path: str, allowed: str, hint: str | None) -> None:
    with pytest.raises(SpecError) as caught:
        applied(text)
    assert caught.value.path == path
    assert allowed in caught.value.allowed
    assert caught.value.hint == hint


@pytest.mark.parametrize(
    ("text", "path", "hint"),
    [
        ("durration=5s", "durration", "duration"),
        ("links[left->middle].forward.qdsc=pie", "links[0].forward.qdsc", "qdisc"),
        ("flows[stream].tcpp.sack=true", "flows[0].tcpp", "tcp"),
        ("links[0].forward.qdisc=fq_codell", "links[0].forward.qdisc", "fq_codel"),
        ("duration=20", "duration", "20s"),
    ],
)
def test_keys_and_values_are_refused_as_those_of_a_file(text: str, path: str, hint: str) -> None:
    with pytest.raises(SpecError) as caught:
        Experiment.read(applied(text))
    assert (caught.value.path, caught.value.hint) == (path, hint)


def test_a_shape_is_set_by_its_own_keys() -> None:
    shape = 'duration = "1s"\n[shape]\nkind = "chain"\nhops = 2\n'
    found = Experiment.from_toml(shape, [Setting.parse("shape.link.rate=5mbit")])
    assert found.all_links[1].rate == "5mbit"
    with pytest.raises(SpecError, match=r"shape\.bottleneck\.qdisc"):
        Experiment.from_toml(shape, [Setting.parse("links[sender->router-1].rate=5mbit")])


def test_a_value_of_a_link_that_its_direction_would_not_take() -> None:
    ends = {"forward": {"qdisc": "pfifo limit 9"}, "reverse": {"rate": "1mbit"}}
    document = {"duration": "1s", "links": [{"a": "x", "b": "y", **ends}]}
    with pytest.raises(SpecError) as caught:
        applied("links[x->y].qdisc=pie", document=document)
    assert caught.value.path == "links[0].qdisc"
    assert caught.value.hint == "links[0].forward.qdisc"
    found = applied("links[x->y].rate=5mbit", "links[x->y].forward.qdisc=pie", document=document)
    assert found["links"][0]["rate"] == "5mbit"
    assert found["links"][0]["forward"]["qdisc"] == "pie"


TWO_LINKS = {
    "duration": "1s",
    "links": [{"a": "x", "b": "y"}, {"a": "y", "b": "z", "rate": "1mbit"}],
    "flows": [
        {"name": "bulk", "from": "x", "to": "z", "count": 3, "source": {"kind": "greedy"}},
        {"name": "late", "from": "x", "to": "z", "source": {"kind": "greedy"}},
    ],
}


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("links[y->z].rate=1mbit", "links[1].rate=2mbit"),
        ("links[1].rate=1mbit", "links[01].rate=1mbit"),
        ("links[y->z].rate=1mbit", "links[1].forward.rate=2mbit"),
        ("links[y->z].rate=1mbit", "links[1].reverse.rate=2mbit"),
        ("links[y->z].delay=1ms", 'links[1].reverse={ delay = "2ms", qdisc = "pie" }'),
        ("links[y->z].forward.rate=1mbit", "links[1].forward={}"),
        ('links[1]={ a = "y", b = "z" }', "links[y->z].rate=2mbit"),
        ("flows[late].start=1s", "flows[1].start=2s"),
        ("flows[late].source.total=1MB", 'flows[1].source={ kind = "greedy" }'),
        ("duration=1s", "duration=2s"),
    ],
)
def test_two_settings_of_one_value_are_refused_however_they_are_spelled(
    one: str, other: str
) -> None:
    for pair in ((one, other), (other, one)):
        first, second = map(Setting.parse, pair)
        with pytest.raises(SpecError) as refused:
            separate_settings_applied(TWO_LINKS, [first, Setting("seed", 3), second])
        assert refused.value.path == second.path
        assert refused.value.reason is not None and first.path in refused.value.reason


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("flows[bulk].start=1s", "flows[bulk-2].start=2s"),
        ("flows[1].name=end", "flows[end].name=last"),
    ],
)
def test_a_flow_is_the_same_by_another_name(first: str, second: str) -> None:
    with pytest.raises(SpecError, match="sets the same value"):
        separate_settings_applied(TWO_LINKS, [Setting.parse(first), Setting.parse(second)])


def test_what_is_set_first_decides_what_a_number_means() -> None:
    second = [Setting("flows[bulk-2].start", "1s"), Setting("flows[1].start", "2s")]
    with pytest.raises(SpecError, match="sets the same value"):
        separate_settings_applied(TWO_LINKS, second)
    # Before the three equal flows are written out, number 1 is the flow behind them.
    found = separate_settings_applied(TWO_LINKS, second[::-1])["flows"]
    assert [each.get("start") for each in found] == [None, "1s", None, "2s"]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("links[x->y].rate=1mbit", "links[1].rate=2mbit"),
        ("links[1].forward.rate=1mbit", "links[1].reverse.rate=2mbit"),
        ("links[1].delay=1ms", 'links[1].reverse={ qdisc = "pie" }'),
        ("links[1].delay=1ms", "links[1].rate=2mbit"),
        ("flows[bulk-1].start=1s", "flows[bulk-2].start=2s"),
        ("flows[bulk-1].start=1s", "flows[late].start=2s"),
        # It has moved behind the three equal ones by then.
        ("flows[bulk-1].start=1s", "flows[3].start=2s"),
        ("flows[bulk].start=1s", "flows[bulk-2].dscp=EF"),
        ("flows[late].source.kind=greedy", "flows[bulk].source.kind=greedy"),
    ],
)
def test_settings_of_different_values_go_together(one: str, other: str) -> None:
    settings = [Setting.parse(one), Setting.parse(other)]
    assert separate_settings_applied(TWO_LINKS, settings) == settings_applied(TWO_LINKS, settings)


plain = st.one_of(
    st.booleans(),
    st.integers(-(2**60), 2**60),
    st.floats(allow_nan=False, allow_infinity=False),
    st.text(st.characters(min_codepoint=32, exclude_categories=["Cs"], exclude_characters="\x7f")),
)


@given(st.recursive(plain, lambda inner: st.lists(inner) | st.dictionaries(st.text("ab "), inner)))
def test_what_is_printed_reads_back(value: object) -> None:
    setting = Setting("flows[x].start", value)
    assert Setting.parse(str(setting)) == setting


@given(st.text(max_size=40))
def test_any_text_is_a_setting_or_refused(text: str) -> None:
    try:
        applied(text)
    except SpecError as error:
        assert error.allowed


def test_values_in_braces_are_a_setting_each() -> None:
    path = "links[a->b].forward.qdisc"
    found = Setting.parse_each(f"{path}={{fq_codel, cake bandwidth 9mbit,pfifo limit 10}}")
    assert found == [
        Setting(path, "fq_codel"),
        Setting(path, "cake bandwidth 9mbit"),
        Setting(path, "pfifo limit 10"),
    ]
    assert Setting.parse_each("seed={1,2}") == [Setting("seed", 1), Setting("seed", 2)]
    assert Setting.parse_each("flows={[1, 2],[3]}") == [
        Setting("flows", [1, 2]),
        Setting("flows", [3]),
    ]


def test_a_table_in_braces_stays_one_value() -> None:
    table = "flows[x].tcp.parameters={keep=50,increase=2}"
    assert Setting.parse_each(table) == [
        Setting("flows[x].tcp.parameters", {"keep": 50, "increase": 2})
    ]
    assert Setting.parse_each("name={one}") == [Setting("name", "{one}")]
    assert Setting.parse_each("name=one,two") == [Setting("name", "one,two")]
