"""Linux's own cubic and bbr, compiled as they are, give the digests of ours in the profile
``linux-6.1``: over the laboratory's experiments and random networks.

There is one difference, in cubic: the kernel estimates a cube root by a table, and ours is exact
(docs/controllers.md). So the file is compiled a second time with an exact root in place of that
one.
"""

from __future__ import annotations

import copy
import itertools
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import pytest
from random_descriptions import Description, description

from dumbbell.backends import Failure, run_many
from dumbbell.backends.native import built, kernel_source
from dumbbell.backends.native.linux_source import DEBIANS
from dumbbell.lab.presets import presets
from dumbbell.spec import Experiment
from dumbbell.spec.linux import LinuxFiles, keep, name_built
from dumbbell.spec.unresolve import as_written

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler (apt: gcc)"),
    pytest.mark.skipif(not DEBIANS.is_file(), reason=f"no {DEBIANS} (apt: linux-source-6.1)"),
]

HELD = ("cubic", "bbr")
CALL = "ca->bic_K = cubic_root("
BEFORE = "static inline void bictcp_update("
EXACT_ROOT = """
static u32 exact_root(u64 cube)
{
	u64 below = 0, above = 1 << 21;

	while (above - below > 1) {
		u64 middle = (below + above) / 2;

		if (middle * middle * middle <= cube)
			below = middle;
		else
			above = middle;
	}
	return below;
}

"""
QUICK = 20
MANY = 200


@pytest.fixture(scope="module", autouse=True)
def linux(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """They are built in a cache of this file's own."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
        patch.delenv("CC", raising=False)
        source = kernel_source(DEBIANS)
        found = [files for files in source.controllers() if files.name in HELD]
        found += [with_exact_root(files) for files in found if files.name == "cubic"]
        kept = [keep(files, source.version, str(source.place)) for files in found]
        assert all(built(each.sha256) for each in kept)
        name_built(kept)
        yield


def with_exact_root(cubic: LinuxFiles) -> LinuxFiles:
    """The same, which calls the root below instead of its own."""
    text = cubic.files[cubic.main]
    assert text.count(CALL) == 1
    beginning, middle, end = text.partition(BEFORE)
    assert middle
    changed = f"{beginning}{EXACT_ROOT}{middle}{end}".replace(CALL, CALL.replace("cubic", "exact"))
    return replace(cubic, name="cubic_exact", files={**cubic.files, cubic.main: changed})


def with_controller(drawn: Description, name: str) -> Description:
    """The description with this controller where it says TCP, in the kernel's profile."""
    changed = copy.deepcopy(drawn)
    for flow in filter(is_tcp, changed["flows"]):
        given = dict(flow.get("tcp", {}))
        for key in ("profile", "parameters", "controller_sha256", "cwnd_changes"):
            given.pop(key, None)
        given["congestion_control"] = name
        # The kernel has it as a parameter of the module.
        if name.startswith("linux:cubic") and given.get("hystart") is False:
            given["parameters"] = {"hystart": 0}
        flow["tcp"] = given
    return changed


def is_tcp(flow: Mapping[str, Any]) -> bool:
    return flow.get("transport") == "tcp" or "tcp" in flow


def networks(first: int, count: int) -> list[Description]:
    """So many random descriptions that have TCP, from this number on."""
    drawn = (description(number) for number in itertools.count(first))
    with_tcp = (each for each in drawn if any(map(is_tcp, each["flows"])))
    return list(itertools.islice(with_tcp, count))


def digests(descriptions: list[Description]) -> list[str]:
    failures: list[Failure] = []
    pairs = [(Experiment.read(each), 0) for each in descriptions]
    done = dict(run_many(pairs, on_failure=failures.append))
    assert not failures, failures[0].message
    return [done[index].meta["digest"] for index in range(len(pairs))]


def differing(drawn: list[Description], name: str, kernels_name: str) -> list[str]:
    own = digests([with_controller(each, name) for each in drawn])
    kernels = digests([with_controller(each, f"linux:{kernels_name}") for each in drawn])
    pairs = zip(drawn, own, kernels, strict=True)
    return [each["name"] for each, a, b in pairs if a != b]


EXACT = {"cubic": "cubic_exact", "bbr": "bbr"}


@pytest.mark.parametrize("name", HELD)
def test_it_gives_the_digests_of_ours(name: str) -> None:
    # So short that the kernel's root tells nothing else.
    assert differing(networks(0, QUICK), name, name) == []


@pytest.mark.parametrize("name", HELD)
def test_it_gives_the_digests_of_ours_over_many_networks(name: str) -> None:
    assert differing(networks(1000, MANY), name, EXACT[name]) == []


@pytest.mark.parametrize("name", HELD)
def test_it_gives_the_digests_of_ours_in_the_laboratory(name: str) -> None:
    drawn = [as_written(each.experiment.resolved()) for each in presets()]
    assert differing(drawn, name, EXACT[name]) == []


@pytest.mark.parametrize("name", HELD)
def test_it_gives_the_digests_of_ours_over_seconds_of_losses(name: str) -> None:
    found = [bottleneck(*each) for each in itertools.product((10, 100), (5, 40), (0.5, 2))]
    assert differing(found, name, EXACT[name]) == []


def bottleneck(rate_mbps: int, delay_ms: int, buffer_bdp: float) -> Description:
    """Two flows over a buffer given in bandwidth-delay products, with occasional random loss."""
    packets = max(10, int(rate_mbps * 1e6 * 2e-3 * delay_ms / 12_000 * buffer_bdp))
    flow = {"from": "server", "to": "home", "start_jitter": "200ms", "source": {"kind": "greedy"}}
    return {
        "name": f"{rate_mbps}mbit-{delay_ms}ms-{packets}pkts",
        "duration": "20s",
        "links": [
            {"a": "server", "b": "router", "rate": "1gbit"},
            {
                **{"a": "router", "b": "home", "rate": f"{rate_mbps}mbit"},
                **{"delay": f"{delay_ms}ms", "qdisc": f"pfifo limit {packets}", "loss": 0.0005},
            },
        ],
        "flows": [{"name": f"flow-{number}", **flow, "tcp": {}} for number in (1, 2)],
    }
