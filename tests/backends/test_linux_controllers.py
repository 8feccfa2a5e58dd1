"""Congestion controllers of Linux, ``linux:NAME``: what the command builds, and how they run."""

from __future__ import annotations

import json
import shutil
import tarfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from dumbbell.backends import Failure, run_many, simulate
from dumbbell.backends.kernel.tcp import check_tcp
from dumbbell.backends.native.linux_source import DEBIANS, SourceError, kernel_source
from dumbbell.cli.app import app
from dumbbell.errors import RunError, SpecError
from dumbbell.spec import Experiment
from dumbbell.spec.linux import linux_controllers
from dumbbell.spec.tcp import LINUX_CONTROLLERS

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler (apt: gcc)"),
]

# A controller as those of the kernel are written, in words of ours: reno, and a parameter.
OURS = """
#include <linux/module.h>
#include <net/tcp.h>
#include "tcp_ours.h"

static int keep __read_mostly = 50;
static unsigned int starts;
static bool sharp;
static unsigned int shift = 4;
static int shift_set(const char *value, const struct kernel_param *param)
{
	return param_set_uint_minmax(value, param, 0, 10);
}
static const struct kernel_param_ops shift_ops = { .set = shift_set, .get = param_get_uint };

module_param(keep, int, 0644);
MODULE_PARM_DESC(keep, "what is kept, percent");
module_param(sharp, bool, 0644);
module_param_cb(shift, &shift_ops, &shift, 0644);

struct ours {
	u32 *rounds;
};

static void ours_init(struct sock *sk)
{
	struct ours *ca = inet_csk_ca(sk);

	starts++;
	ca->rounds = kcalloc(4, sizeof(u32), GFP_KERNEL);
}

static u32 ours_ssthresh(struct sock *sk)
{
	struct ours *ca = inet_csk_ca(sk);

	/* A second connection of a run would be the second start; of another run, the first. */
	if (starts > STARTS || !ca->rounds || ca->rounds[0]++ > 1000000)
		return 2;
	return max(tcp_snd_cwnd(tcp_sk(sk)) * keep / 100, 2U);
}

static struct tcp_congestion_ops ours __read_mostly = {
	.init		= ours_init,
	.ssthresh	= ours_ssthresh,
	.cong_avoid	= tcp_reno_cong_avoid,
	.undo_cwnd	= tcp_reno_undo_cwnd,
	.owner		= THIS_MODULE,
	.name		= "ours",
};

static int __init ours_register(void)
{
	BUILD_BUG_ON(sizeof(struct ours) > ICSK_CA_PRIV_SIZE);
	if (keep < 1 || keep > 99)
		return -ERANGE;
	return tcp_register_congestion_control(&ours);
}

static void __exit ours_unregister(void)
{
	tcp_unregister_congestion_control(&ours);
}

module_init(ours_register);
module_exit(ours_unregister);
MODULE_LICENSE("GPL");
"""
OTHER_INTERFACE = """
#include <net/tcp.h>
static u32 threshold(struct sock *sk) { return what_nobody_has(sk); }
static struct tcp_congestion_ops other = { .ssthresh = threshold };
static int start(void) { return tcp_register_congestion_control(&other); }
module_init(start);
"""


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache of this test's own: nothing was ever allowed."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv("CC", raising=False)
    return tmp_path / "cache/dumbbell"


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A kernel's source of two controllers, one of which fits."""
    folder = tmp_path / "linux-7.8"
    (folder / "net/ipv4").mkdir(parents=True)
    (folder / "Makefile").write_text("VERSION = 7\nPATCHLEVEL = 8\nSUBLEVEL = 9\nNAME = x\n")
    (folder / "net/ipv4/tcp_ours.c").write_text(OURS)
    (folder / "net/ipv4/tcp_ours.h").write_text("#define STARTS 3\n")
    (folder / "net/ipv4/tcp_other.c").write_text(OTHER_INTERFACE)
    (folder / "net/ipv4/tcp_input.c").write_text("no controller\n")
    return folder


def build(*words: str) -> Any:
    return CliRunner().invoke(app, ["controller", "build", "linux", *words])


def built(tree: Path) -> dict[str, Any]:
    done = build("--source", str(tree), "--json")
    assert done.exit_code == 0, done.output
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def toml(controller: str, parameters: str = "{}", flows: int = 2) -> str:
    return f"""
name = "linux"
duration = "4s"
[[links]]
a = "server"
b = "router"
rate = "1gbit"
[[links]]
a = "router"
b = "home"
rate = "20mbit"
delay = "10ms"
qdisc = "pfifo limit 30"
[[flows]]
name = "flow"
count = {flows}
from = "server"
to = "home"
source = {{ kind = "greedy" }}
tcp = {{ congestion_control = "{controller}", parameters = {parameters} }}
"""


def digest(controller: str, parameters: str = "{}", flows: int = 2) -> str:
    text: str = simulate(Experiment.from_toml(toml(controller, parameters, flows))).meta["digest"]
    return text


def test_what_fits_is_built_and_what_does_not_is_named(tree: Path) -> None:
    found = built(tree)
    assert (found["version"], found["licence"]) == ("7.8.9", "GPL-2.0")
    (ours,) = found["built"]
    assert (ours["name"], ours["version"], ours["source"]) == ("ours", "7.8.9", str(tree))
    assert [
        (p["name"], p["least"], p["most"], p["value"]) for p in ours["built"]["parameters"]
    ] == [
        ("keep", -(2**31), 2**31 - 1, 50),
        ("sharp", 0, 1, 0),
        ("shift", 0, 10, 4),
    ]
    (other,) = found["refused"]
    assert other["name"] == "other"
    assert "net/ipv4/tcp_other.c:3" in other["reason"]
    assert "what_nobody_has" in other["reason"]
    said = build("--source", str(tree))
    assert "The compiled files are GPL-2.0" in said.output
    listed = CliRunner().invoke(app, ["controller", "list", "--json"])
    assert [each["linux"] and each["linux"]["name"] for each in json.loads(listed.stdout)["files"]]
    assert "linux:ours" in CliRunner().invoke(app, ["controller", "list"]).stdout


def test_an_archive_is_as_good_as_a_tree(tree: Path, tmp_path: Path) -> None:
    archive = tmp_path / "source.tar.xz"
    with tarfile.open(archive, "w:xz") as file:
        file.add(tree, arcname="linux-source-7.8")
    assert kernel_source(archive).files == kernel_source(tree).files
    assert kernel_source(archive).version == "7.8.9"


@pytest.mark.parametrize("what", ["none", "empty", "text"])
def test_what_is_no_source_is_refused(what: str, tmp_path: Path) -> None:
    place = tmp_path / what
    if what == "empty":
        place.mkdir()
    elif what == "text":
        place.write_text("no archive")
    with pytest.raises(SourceError, match=what):
        kernel_source(place)
    done = build("--source", str(place))
    assert done.exit_code == 2
    done = CliRunner().invoke(app, ["controller", "build", "x.c", "--source", str(tmp_path)])
    assert done.exit_code == 2


def test_where_nothing_fits_the_status_is_2(tree: Path) -> None:
    (tree / "net/ipv4/tcp_ours.c").unlink()
    done = build("--source", str(tree))
    assert done.exit_code == 2
    assert "linux:other does not fit" in done.output


def test_it_runs_as_the_kernels_interface_says_and_says_what_ran(tree: Path) -> None:
    (ours,) = built(tree)["built"]
    run = simulate(Experiment.from_toml(toml("linux:ours")))
    # It is reno.
    assert run.meta["digest"] == digest("reno")
    assert run.spec["flows"][0]["tcp"]["controller"]["sha256"] == ours["sha256"]
    said = run.meta["versions"]["controllers"][ours["sha256"]]
    assert said["congestion_control"] == "linux:ours"
    assert said["build_sha256"] == ours["built"]["build_sha256"]
    again = Experiment.from_resolved(json.dumps(run.spec))
    assert simulate(again).meta["digest"] == run.meta["digest"]


def test_runs_share_no_static_variable(tree: Path) -> None:
    built(tree)
    failures: list[Failure] = []
    jobs = [(Experiment.from_toml(toml("linux:ours")), number) for number in range(6)]
    runs = dict(run_many(jobs, jobs=2, on_failure=failures.append))
    own = dict(run_many([(Experiment.from_toml(toml("reno")), n) for n in range(6)], jobs=1))
    assert not failures
    assert [runs[n].meta["digest"] for n in range(6)] == [own[n].meta["digest"] for n in range(6)]
    # Of one run they share them, as in a kernel: the fourth start is beyond what the file allows.
    assert digest("linux:ours", flows=4) != digest("reno", flows=4)


def test_parameters_are_set_before_the_module_starts(tree: Path) -> None:
    built(tree)
    assert digest("linux:ours", "{ keep = 50 }") == digest("linux:ours")
    assert digest("linux:ours", "{ keep = 80 }") != digest("linux:ours")
    for parameters, part in (
        ("{ kepe = 1 }", "keep"),
        ("{ sharp = 2 }", "0 to 1"),
        ("{ shift = 11 }", "0 to 10"),
    ):
        with pytest.raises(SpecError, match=part):
            simulate(Experiment.from_toml(toml("linux:ours", parameters)))
    with pytest.raises(RunError, match="refuses them with error -34"):
        simulate(Experiment.from_toml(toml("linux:ours", "{ keep = 100 }")))


def test_what_was_not_built_is_refused_with_what_there_is(tree: Path, cache: Path) -> None:
    with pytest.raises(SpecError, match="dumbbell controller build linux"):
        Experiment.from_toml(toml("linux:ours"))
    with pytest.raises(SpecError, match="linux: and the name"):
        Experiment.from_toml(toml("linux:No Name"))
    built(tree)
    with pytest.raises(SpecError, match="linux:ours") as refused:
        Experiment.from_toml(toml("linux:our"))
    assert refused.value.hint == "linux:ours"
    # Another content under that hash is no permission.
    (each,) = linux_controllers().values()
    place = cache / "controllers" / each.sha256 / "linux.json"
    place.write_bytes(place.read_bytes().replace(b"keep", b"kept"))
    with pytest.raises(SpecError, match="dumbbell controller build linux"):
        Experiment.from_toml(toml("linux:ours"))


def test_on_the_kernel_it_is_the_kernels_own(tree: Path) -> None:
    (tree / "net/ipv4/tcp_vegas.c").write_text(OURS)
    built(tree)
    check_tcp(Experiment.from_toml(toml("linux:vegas")).resolved())
    with pytest.raises(SpecError, match="none on the kernel"):
        check_tcp(Experiment.from_toml(toml("linux:vegas", "{ keep = 60 }")).resolved())
    with pytest.raises(SpecError, match="linux:ours"):
        check_tcp(Experiment.from_toml(toml("linux:ours")).resolved())


@pytest.fixture(scope="module")
def of_debian(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A cache in which all of Debian's were built."""
    if not DEBIANS.is_file():
        pytest.skip(f"no {DEBIANS} (apt: linux-source-6.1)")
    folder = tmp_path_factory.mktemp("cache")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(folder))
        patch.delenv("CC", raising=False)
        done = build("--json")
        assert done.exit_code == 0, done.output
        assert json.loads(done.stdout)["refused"] == []
    yield folder


def test_the_sixteen_of_debian_fit_and_run(
    of_debian: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(of_debian))
    names = sorted(set(LINUX_CONTROLLERS) - {"reno"})
    assert sorted(linux_controllers()) == names
    assert len(names) == 16
    failures: list[Failure] = []
    jobs = [(Experiment.from_toml(toml(f"linux:{name}")), 0) for name in names]
    runs = dict(run_many(jobs, on_failure=failures.append))
    assert not failures
    for run in runs.values():
        received = run.tables["flows"]["received_payload_bytes"].sum() * 8 / 4
        # Of 20 Mbit/s.
        name = run.spec["flows"][0]["tcp"]["congestion_control"]
        assert received > 10e6, name
    digests = {run.meta["digest"] for run in runs.values()}
    assert len(digests) > 12


def test_dctcp_has_ecn_and_a_receiver_that_echoes_each_mark(
    of_debian: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(of_debian))
    line = "red limit 100kb min 15kb max 15.1kb avpkt 1500 burst 11 ecn"
    marks = {}
    for name in ("dctcp", "linux:dctcp", "linux:scalable"):
        text = toml(name).replace("pfifo limit 30", line)
        marks[name] = simulate(Experiment.from_toml(text)).tables["queues"]["marked_pkts"].sum()
    assert marks["linux:dctcp"] > 100
    assert 0.5 < marks["linux:dctcp"] / marks["dctcp"] < 2
    assert marks["linux:scalable"] == 0
