"""Different requests get different folders, equal requests the same one."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from dumbbell.cli.app import app
from dumbbell.cli.common.folder_names import LONGEST, Overrides, folder_name
from dumbbell.spec import Setting
from small_networks import sampled_queue

QDISC = "links[isp->router].qdisc"
FIT = re.compile(r"[A-Za-z0-9][A-Za-z0-9._=+,@~-]*")


def named(*settings: str, **options: list[object]) -> str:
    asked = Overrides([Setting.parse(each) for each in settings], options=options)
    return folder_name("line", asked)


def test_the_file_as_it_stands_has_its_own_name() -> None:
    assert folder_name("line-compared", Overrides()) == "line-compared"


@pytest.mark.parametrize(
    ("settings", "name"),
    [
        (["duration=60s"], "line@duration=60s"),
        (["seed=7"], "line@seed=7"),
        ([f"{QDISC}=pie"], "line@links.isp--router.qdisc=pie"),
        ([f"{QDISC}=pfifo limit 100"], "line@links.isp--router.qdisc=pfifo+limit+100"),
        ([f"{QDISC}=pfifo", f"{QDISC}=pie"], "line@links.isp--router.qdisc=pfifo,pie"),
        (["flows[download].count=3"], "line@flows.download.count=3"),
        (["kernel='6.12'"], "line@kernel=6.12"),
        (["warm_up=1s", "duration=9s"], "line@duration=9s,warm_up=1s"),
    ],
)
def test_what_was_set_can_be_read(settings: list[str], name: str) -> None:
    assert named(*settings) == name


def test_options_and_further_files_are_in_it() -> None:
    asked = Overrides([], [Path("fast.toml")], {"backend": ("sim", "kernel")})
    assert folder_name("line-compared", asked) == "line-compared@with=fast,backend=sim,kernel"
    elsewhere = Overrides([], [Path("other/fast.toml")], {"backend": ("sim", "kernel")})
    assert folder_name("line-compared", elsewhere) != folder_name("line-compared", asked)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (["a-b.c=1"], ["a.b.c=1"]),
        (["links[a-b->c].rate=1mbit"], ["links[a->b-c].rate=1mbit"]),
        (["links[a--b->c].rate=1mbit"], ["links[a->b--c].rate=1mbit"]),
        (["links[A->b].rate=1mbit"], ["links[a->b].rate=1mbit"]),
        (["key=1%"], ["key=1_"]),
        (["key='5'"], ["key=5"]),
        (["key='true'"], ["key=true"]),
        (["key=a+b"], ["key=a b"]),
        (["key='a,b'"], ["key=a", "key=b"]),
        (["key='1,other=2'"], ["key=1", "other=2"]),
        ([f"key={'a' * 80}b"], [f"key={'a' * 80}c"]),
    ],
)
def test_what_looks_alike_is_told_apart(one: list[str], other: list[str]) -> None:
    assert named(*one) != named(*other)
    # As a file system without capitals has them.
    assert named(*one).lower() != named(*other).lower()


def test_what_is_long_ends_with_a_hash_and_begins_with_words() -> None:
    name = named(*(f"{QDISC}=pie target {each}ms" for each in (5, 10, 20, 40, 80)))
    assert re.fullmatch(r"line@links\.isp--router\.qdisc=pie\+target\+5ms,.*~[0-9a-f]{8}", name)
    assert len(name) <= len("line@") + LONGEST + 9


words = st.text(min_size=1, max_size=30)
requests = st.lists(st.tuples(words, words | st.integers() | st.booleans()), max_size=4)


@given(requests, requests)
def test_any_two_requests(one: list[tuple[str, object]], other: list[tuple[str, object]]) -> None:
    names = [
        folder_name("line", Overrides([Setting(*each) for each in asked])) for asked in (one, other)
    ]
    assert all(FIT.fullmatch(name) and len(name.encode()) <= 255 for name in names)
    groups = [
        {path: [(type(v), v) for p, v in asked if p == path] for path, _ in asked if path != "name"}
        for asked in (one, other)
    ]
    # The order of paths says nothing, that of values of one path does.
    assert (names[0] == names[1]) == (groups[0] == groups[1])


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("DUMBBELL_PAGE", raising=False)
    Path("one.toml").write_text(sampled_queue("small", "1s"), encoding="utf-8")
    Path("two.toml").write_text(sampled_queue("small", "1s"), encoding="utf-8")
    return tmp_path


def folders_after(*runs: tuple[str, ...]) -> list[str]:
    """Where each wrote, as it says."""
    said = []
    for words_ in runs:
        done = CliRunner().invoke(app, ["run", "one.toml", *words_, "--to", "csv"])
        assert done.exit_code == 0, done.output
        (line,) = (line for line in done.output.splitlines() if line.startswith("exported: "))
        said.append(line.partition(" in ")[2])
    return said


def test_different_runs_write_to_different_places(here: Path) -> None:
    queue = "--set=links[router->b].qdisc"
    runs: list[tuple[str, ...]] = [
        (),
        ("--seed", "2"),
        ("--set", "duration=2s"),
        ("--replication", "1"),
        (f"{queue}=pie",),
        ("--replications", "2"),
        ("--replications", "3"),
        (f"{queue}=pie", f"{queue}=codel", "--replications", "2"),
        (f"{queue}=pie", f"{queue}=fq_codel", "--replications", "2"),
    ]
    where = folders_after(*((*each, "--no-page") for each in runs))
    assert len(set(where)) == len(runs)
    assert where[:4] == [
        "results/small",
        "results/small@seed=2",
        "results/small@duration=2s",
        "results/small@replication=1",
    ]
    # The same again, and what the file says anyway.
    again = [*runs, ("--seed", "1"), ("--replication", "0")]
    assert folders_after(*((*each, "--no-page") for each in again)) == [*where, where[0], where[0]]
    written = {each.name for each in Path("results").iterdir() if not each.name.startswith(".")}
    assert {f"results/{name}" for name in written} == set(where)


def test_files_that_give_no_name_have_a_folder_each(here: Path) -> None:
    text = "duration = '1s'\nlinks = [{ a = 'a', b = 'b' }]\n"
    for file in ("first.toml", "second one.toml"):
        Path(file).write_text(text, encoding="utf-8")
        done = CliRunner().invoke(app, ["run", file, "--to", "csv", "--no-page"])
        assert done.exit_code == 0, done.output
    assert Path("results/first/summary.csv").is_file()
    assert Path("results/second_one/summary.csv").is_file()


@pytest.mark.slow
def test_the_page_of_another_seed_leaves_the_first_as_it_was(here: Path) -> None:
    page = Path("results/small/index.html")
    assert CliRunner().invoke(app, ["run", "one.toml"]).exit_code == 0
    before = page.read_bytes()
    done = CliRunner().invoke(app, ["run", "one.toml", "--seed", "2"])
    assert done.exit_code == 0
    assert "page: results/small@seed=2/index.html" in done.output
    assert page.read_bytes() == before
    meta = json.loads(Path("results/small@seed=2/provenance.json").read_text(encoding="utf-8"))
    assert meta


@pytest.mark.slow
def test_a_check_has_places_too(here: Path) -> None:
    claim = '\n[[claim]]\nkind = "ordering"\nstatement = "s"\nquantity = "flow[bulk].goodput_bps"\n'
    text = Path("one.toml").read_text(encoding="utf-8")
    Path("one.toml").write_text(f'{text}{claim}above = "1bit"\n', encoding="utf-8")
    for words_ in ((), ("--set", "duration=2s")):
        done = CliRunner().invoke(app, ["check", "one.toml", *words_])
        assert done.exit_code == 0, done.output
    names = {each.name for each in Path("results").iterdir() if not each.name.startswith(".")}
    assert names == {"small-checked", "small-checked@duration=2s"}
