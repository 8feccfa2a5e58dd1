"""The folder of a check: repeated, changed, damaged, from a stranger."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import numpy as np
import pytest
from checking_samples import QDISC, claim, run, written

from dumbbell.compare.checking import Checked, asserted, check
from dumbbell.compare.checking.bundle import (
    MOST_KEPT_REPLICATIONS,
    bundle_files,
    read_bundle,
    same,
)
from dumbbell.compare.checking.page import check_report
from dumbbell.errors import SpecError
from dumbbell.report import write_report
from dumbbell.spec.refusal import joined

KEPT_CLAIM = f"""kind = "ordering"
quantity = "probe[call].mean_rtt_ms"
where = {{ "{QDISC}" = "fq_codel" }}
below = {{ where = {{ "{QDISC}" = "pfifo" }} }}
"""


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("made")
    checked = run(folder, KEPT_CLAIM, 3)
    files = bundle_files(checked, replications=3, precision=None)
    write_report(check_report(checked, files), folder / "bundle")
    return folder / "bundle"


@pytest.fixture
def bundle(made: Path, tmp_path: Path) -> Path:
    """Elsewhere, as in a fresh clone."""
    return Path(shutil.copytree(made, tmp_path / "bundle"))


def again(folder: Path) -> Checked:
    kept = read_bundle(folder)
    return check(asserted(kept.description, kept.settings), replications=kept.replications)


def test_a_folder_gives_what_it_keeps(bundle: Path) -> None:
    found = same(read_bundle(bundle), again(bundle))
    assert found.is_whole and found.runs == 6
    results = json.loads((bundle / "results.json").read_text())
    (values,) = [
        each["values"]["probe[call].mean_rtt_ms"]
        for each in results["runs"]
        if each["cell"] == "line"
    ]
    assert len(values) == 3 and np.ptp(values) > 0


def test_a_folder_has_the_traces_of_its_description(tmp_path: Path) -> None:
    (tmp_path / "trace.csv").write_text("time,bytes\n0,500\n0.5,500\n")
    more = """
[[flows]]
name = "recorded"
from = "server"
to = "home"
source = { kind = "replay", file = "trace.csv" }
"""
    text = 'kind = "ordering"\nquantity = "probe[call].mean_rtt_ms"\nabove = "1ms"\n'
    checked = check(asserted(written(tmp_path, more + claim(text))), replications=1)
    folder = tmp_path / "elsewhere"
    folder.mkdir()
    files = bundle_files(checked, replications=1, precision=None)
    assert set(files) == {"experiment.toml", "check.json", "results.json", "trace.csv"}
    for name, content in files.items():
        (folder / name).write_bytes(content if isinstance(content, bytes) else content.encode())
    found = same(read_bundle(folder), again(folder))
    assert not found.differing
    assert found.verdicts == ("claim-1 on sim: inconclusive; not among the folder's",)


def test_numbers_that_were_changed_are_found(bundle: Path) -> None:
    path = bundle / "results.json"
    content = json.loads(path.read_text())
    content["runs"][0]["values"]["probe[call].mean_rtt_ms"][1] += 1e-9
    path.write_text(json.dumps(content))
    found = same(read_bundle(bundle), again(bundle))
    assert not found.is_whole
    assert found.differing == ("results.json was changed since it was written (replication 1)",)


def test_a_description_that_was_changed_is_found(bundle: Path) -> None:
    file = bundle / "experiment.toml"
    file.write_text(file.read_text().replace('rate = "10mbit"', 'rate = "9mbit"'))
    found = same(read_bundle(bundle), again(bundle))
    assert len(found.differing) == 4  # two cells that are new, two that are gone
    assert all("description changed" in each for each in found.differing)


def test_another_verdict_and_another_number_are_found(bundle: Path) -> None:
    claims = bundle / "claims.json"
    claims.write_text(
        claims.read_text().replace('"verdict": "reproduced"', '"verdict": "inconclusive"')
    )
    check_file = bundle / "check.json"
    kept = json.loads(check_file.read_text())
    kept["runs"][1]["digests"][2] = "0" * 64
    check_file.write_text(json.dumps(kept))
    found = same(read_bundle(bundle), again(bundle))
    assert found.verdicts == ("claim-1 on sim: reproduced; kept is inconclusive",)
    assert any("1 of 3 runs differ, first replication 2" in each for each in found.differing)


HOSTILE = {
    "empty": "",
    "no object": "[]",
    "cut off": "[",
    "nothing in it": "{}",
    "another format": '{"format": 2}',
    "only its format": '{"format": 1}',
    "nested": "[" * 100_000,
    "runs of another type": '{"format": 1, "runs": [3]}',
    "runs without their values": '{"format": 1, "runs": [{}]}',
    "no text": "\udcff",
}


@pytest.mark.parametrize("file", ["check.json", "results.json"])
@pytest.mark.parametrize("content", HOSTILE.values(), ids=HOSTILE)
def test_a_damaged_folder_is_refused(bundle: Path, file: str, content: str) -> None:
    (bundle / file).write_text(content, errors="surrogateescape")
    with pytest.raises(SpecError, match=re.escape(file)):
        read_bundle(bundle)


@pytest.mark.parametrize(
    ("file", "place", "value"),
    [
        ("check.json", ("replications",), 0),
        ("check.json", ("replications",), MOST_KEPT_REPLICATIONS + 1),
        ("check.json", ("replications",), 10**30),
        ("check.json", ("replications",), True),
        ("check.json", ("replications",), "3"),
        ("check.json", ("precision",), -0.1),
        ("check.json", ("backends",), []),
        ("check.json", ("settings",), [3]),
        ("check.json", ("runs", 0, "digests"), "0"),
        ("check.json", ("more",), 1),
        ("results.json", ("runs", 0, "values"), [1.0]),
        ("results.json", ("runs", 0, "values", "probe[call].mean_rtt_ms"), ["1.0"]),
    ],
)
def test_a_value_of_another_type_is_refused_with_its_place(
    bundle: Path, file: str, place: tuple[str | int, ...], value: object
) -> None:
    content = json.loads((bundle / file).read_text())
    *way, last = place
    part = content
    for each in way:
        part = part[each]
    part[last] = value
    (bundle / file).write_text(json.dumps(content))
    with pytest.raises(SpecError) as refused:
        read_bundle(bundle)
    where = joined(*(f"[{step}]" if isinstance(step, int) else step for step in place))
    assert refused.value.path.startswith(f"{bundle / file}: {where}")


def test_a_file_that_is_too_large_is_not_read(
    bundle: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dumbbell.compare.checking.bundle.LARGEST_BYTES", 1 << 20)
    with (bundle / "results.json").open("ab") as file:
        file.truncate(2 << 20)
    with pytest.raises(SpecError, match=r"results\.json.*larger"):
        read_bundle(bundle)
