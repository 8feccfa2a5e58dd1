"""Third-party software is pinned with hashes, has known sources and licences, and is listed."""

from __future__ import annotations

import json
import re
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parent))
import locks
import sbom

ROOT = Path(__file__).resolve().parents[1]
WORKFLOWS = sorted((ROOT / ".github/workflows").glob("*.yml"))
USED = re.compile(r"^\s*(?:- )?uses:\s*(\S+)(?:\s+#\s*(\S+))?", re.MULTILINE)
HASH = "ab" * 32


@pytest.fixture(scope="module")
def graph() -> dict[str, Any]:
    return sbom.metadata()


def cargo_lock() -> dict[str, Any]:
    return tomllib.loads((ROOT / "Cargo.lock").read_text(encoding="utf-8"))


def deny() -> dict[str, Any]:
    return tomllib.loads((ROOT / "deny.toml").read_text(encoding="utf-8"))


def test_lock_files_are_of_what_is_asked_for() -> None:
    assert locks.compare() == []


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        (f"one==1 \\\n    --hash=sha256:{HASH}\n", None),
        (f"One==1 ; sys_platform == 'win32' \\\n    --hash=sha256:{HASH}\n", None),
        ("one==1\n", "no hash"),
        (f"one>=1 \\\n    --hash=sha256:{HASH}\n", "not pinned"),
        (f"one==2 \\\n    --hash=sha256:{HASH}\n", "in constraints.txt it is 1"),
        (f"two==1 \\\n    --hash=sha256:{HASH}\n", "one>=1,<2 is not in it"),
        ("one==1 \\\n    --hash=sha256:abcd\n", "no hash"),
    ],
)
def test_a_lock_file_that_is_not_right_is_found(text: str, fault: str | None) -> None:
    found = locks.faults("some", text, ["one>=1,<2"], {"one": "1", "two": "1"})
    if fault is None:
        assert found == []
    else:
        assert any(fault in each for each in found), found


def test_make_and_the_workflows_install_from_lock_files_alone() -> None:
    texts = [ROOT / "Makefile", *WORKFLOWS]
    installs = [
        line.strip()
        for path in texts
        for line in path.read_text(encoding="utf-8").splitlines()
        if "pip install" in line and not line.lstrip().startswith("#")
    ]
    # Third-party programs for comparison, in a separate environment; and commands for users.
    exempt = ("bench/peers/requirements.txt", "pipx install pip-audit", "pip install atheris,")
    ours = [line for line in installs if not any(each in line for each in exempt)]
    assert len(ours) >= 2
    assert all("--require-hashes" in line for line in ours), ours


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_actions_are_pinned_by_their_commits(path: Path) -> None:
    used = USED.findall(path.read_text(encoding="utf-8"))
    assert used
    for action, version in used:
        _, _, commit = action.partition("@")
        assert re.fullmatch(r"[0-9a-f]{40}", commit), f"{action}: a tag can be moved"
        assert re.fullmatch(r"v\d+\.\d+\.\d+", version), f"{action}: no comment with its version"


def test_an_action_is_the_same_everywhere() -> None:
    pinned: dict[str, set[tuple[str, str]]] = {}
    for path in WORKFLOWS:
        for action, version in USED.findall(path.read_text(encoding="utf-8")):
            name, _, commit = action.partition("@")
            pinned.setdefault(name, set()).add((commit, version))
    assert {name: found for name, found in pinned.items() if len(found) > 1} == {}


def alternatives(licence: str) -> list[set[str]]:
    """Return alternative sets of licences: `a OR (b AND c)` is [{a}, {b, c}]."""
    words = licence.replace("/", " OR ").replace("(", " ( ").replace(")", " ) ").split()

    def either(position: int) -> tuple[list[set[str]], int]:
        found, position = both(position)
        while position < len(words) and words[position] == "OR":
            more, position = both(position + 1)
            found = found + more
        return found, position

    def both(position: int) -> tuple[list[set[str]], int]:
        found, position = one(position)
        while position < len(words) and words[position] == "AND":
            more, position = one(position + 1)
            found = [left | right for left in found for right in more]
        return found, position

    def one(position: int) -> tuple[list[set[str]], int]:
        if words[position] == "(":
            found, position = either(position + 1)
            return found, position + 1
        if words[position + 1 : position + 2] == ["WITH"]:
            return [{" ".join(words[position : position + 3])}], position + 3
        return [{words[position]}], position + 1

    return either(0)[0]


def test_expressions_of_licences_are_read() -> None:
    assert alternatives("MIT/Apache-2.0") == [{"MIT"}, {"Apache-2.0"}]
    assert alternatives("(MIT OR Apache-2.0) AND Unicode-3.0") == [
        {"MIT", "Unicode-3.0"},
        {"Apache-2.0", "Unicode-3.0"},
    ]
    assert alternatives("Apache-2.0 WITH LLVM-exception") == [{"Apache-2.0 WITH LLVM-exception"}]


def test_licences_of_crates_are_among_those_that_are_allowed(graph: dict[str, Any]) -> None:
    allowed = set(deny()["licenses"]["allow"])
    refused = {
        package["name"]: package["license"]
        for package in graph["packages"]
        if not any(each <= allowed for each in alternatives(package["license"] or "none"))
    }
    assert refused == {}


def test_crates_come_from_the_index_alone_and_have_hashes() -> None:
    allowed = {f"registry+{each}" for each in deny()["sources"]["allow-registry"]}
    for package in cargo_lock()["package"]:
        if package["name"].startswith("dumbbell"):
            assert "source" not in package, package["name"]
        else:
            assert package["source"] in allowed, package
            assert re.fullmatch(r"[0-9a-f]{64}", package["checksum"]), package["name"]


def test_a_wheel_says_what_is_compiled_into_it(graph: dict[str, Any]) -> None:
    document = sbom.document(graph, cargo_lock(), "1.2.3")
    again = sbom.document(graph, cargo_lock(), "1.2.3")
    assert json.dumps(document) == json.dumps(again)
    assert (document["bomFormat"], document["specVersion"]) == ("CycloneDX", "1.5")
    components = {each["name"]: each for each in document["components"]}
    # Crates of the module, the guest and the laboratory's module; none of tests.
    assert {"pyo3", "rayon", "landlock", "seccompiler", "rustix", "sha2"} <= set(components)
    assert not {"proptest", "insta"} & set(components)
    for name, component in components.items():
        if not name.startswith("dumbbell"):
            (digest,) = component["hashes"]
            assert digest["alg"] == "SHA-256"
    references = {each["bom-ref"] for each in document["components"]}
    wheel, *others = document["dependencies"]
    assert wheel["ref"] == document["metadata"]["component"]["bom-ref"]
    assert {each["ref"] for each in others} == references
    assert all(set(each["dependsOn"]) <= references for each in document["dependencies"])
    assert "file:" not in json.dumps(document)
