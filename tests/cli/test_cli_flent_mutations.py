"""A data file with any value replaced, removed or renamed is analyzed or refused."""

from __future__ import annotations

import contextlib
import copy
import gzip
import io
import json
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest
from rich.console import Console

import dumbbell
from dumbbell.cli.analyze.flent_files import analyze_flent
from dumbbell.cli.analyze.flent_network import same_test
from dumbbell.cli.analyze.flent_options import FlentRunOptions
from dumbbell.errors import SpecError
from dumbbell.formats.flent import flent_bytes, flent_file, flent_test_of, imported_run, read_flent
from dumbbell.report.flent_plots import draw_plot, plot_names
from dumbbell.spec import flent

ODD: tuple[Any, ...] = (
    None, True, False, 0, -1, 10**30, -(10**30), 10**400, 1e308, 1e-320, 0.5, float("nan"),
    float("inf"), "", "x", "\x1b[2J\n", "\ud800", "9" * 5000, "2023-13-45", "0001-01-01T00:00:00",
    "9999-12-31T23:59:59.999999+00:00", [], {}, [[]], [{}], {"a": {}}, [None], {"t": None}, "rrul",
    2**63, -(2**63), [1, 2, 3],
)  # fmt: skip
NAMES = ("", "x", "::", "a::1", "Ping (ms) ", "Ping (ms) avg", "qdisc_stats_", "TCP upload sum",
         "\x1b[1m", "UDP", "TCP::1", "qdisc_stats_x::delay", "y" * 300)  # fmt: skip
MUTATIONS = 100


@pytest.fixture(scope="module")
def whole() -> dict[str, Any]:
    test = flent.flent_test("tcp_nup", length_s=2, delay_s=1, parameters={"upload_streams": "2"})
    network = flent.Network(rate="10mbit", qdisc="pie")
    file = flent_file(dumbbell.simulate(test.experiment(network)), test, title="a")
    tree: dict[str, Any] = json.loads(gzip.decompress(flent_bytes(file)))
    del tree["metadata"]["DUMBBELL"]["experiment"]
    return tree


def places(node: object, at: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Every key and index; of long lists the first two, the middle and the last."""
    if at:
        yield at
    if isinstance(node, dict):
        for key, value in node.items():
            yield from places(value, (*at, key))
    elif isinstance(node, list):
        for index in sorted({0, 1, len(node) // 2, len(node) - 1} & set(range(len(node)))):
            yield from places(node[index], (*at, index))


def mutated(tree: dict[str, Any], at: tuple[Any, ...], random: Random) -> dict[str, Any]:
    made = copy.deepcopy(tree)
    node: Any = made
    for key in at[:-1]:
        node = node[key]
    odd = copy.deepcopy(random.choice(ODD))
    how = random.choice(("set", "set", "remove", "add", "rename"))
    if how == "remove":
        del node[at[-1]]
    elif how == "add" and isinstance(node[at[-1]], list):
        node[at[-1]].append(odd)
    elif how == "add" and isinstance(node[at[-1]], dict):
        node[at[-1]][random.choice(NAMES)] = odd
    elif how == "rename" and isinstance(node, dict):
        node[random.choice(NAMES)] = node.pop(at[-1])
    else:
        node[at[-1]] = odd
    return made


def use(path: Path, random: Random) -> str:
    """All that is done with a file of somebody; what was printed."""
    printed = io.StringIO()
    console = Console(file=printed, width=120)
    analyze_flent(
        [path], runs=None, out=None, to=None, replace=False, as_json=False, console=console
    )
    file = read_flent(path)
    for asked in (
        FlentRunOptions(),
        FlentRunOptions(network={"rate": "1mbit", "qdisc": "pie"}, instead={"x": "reno"}),
    ):
        with contextlib.suppress(SpecError):
            same_test(file, asked)
    imported_run(file)
    for wanted in random.sample(names := plot_names(file), min(2, len(names))):
        with contextlib.suppress(SpecError):
            draw_plot(file, wanted)
    flent_bytes(file)
    with contextlib.suppress(SpecError):
        flent_test_of(file)
    return printed.getvalue()


@pytest.mark.slow
@pytest.mark.parametrize("where", ["metadata", "anywhere"])
@pytest.mark.filterwarnings("error::RuntimeWarning")
def test_a_changed_file_is_analyzed_or_refused(
    where: str, whole: dict[str, Any], tmp_path: Path
) -> None:
    random = Random(where)
    of = [at for at in places(whole) if where == "anywhere" or at[0] == "metadata" or len(at) == 1]
    path = tmp_path / "a.flent"
    used = refused = 0
    for _ in range(MUTATIONS):
        path.write_text(json.dumps(mutated(whole, random.choice(of), random)), encoding="ascii")
        try:
            printed = use(path, random)
        except SpecError as error:
            refused += 1
            assert str(path) in error.path or error.path == "plot"
        else:
            used += 1
            assert all(line.isprintable() for line in printed.splitlines())
    # Most of the metadata is somebody's remarks; most of the rest is what is drawn.
    assert used > 10 and refused > 2
