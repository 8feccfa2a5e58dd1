"""The scripts that check a computer and a results folder must be able to fail."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parent))
import check_results
import compare_verdicts
import dependencies
import prerequisites

pytestmark = pytest.mark.programs

ROOT = Path(__file__).resolve().parent.parent
PAGE = "<!doctype html><title>a page</title>" + "<p>text</p>" * 200


def a_claim(**changes: object) -> dict[str, Any]:
    claim = {
        "id": "ratio", "statement": "T", "source": "a book", "backend": "sim",
        "rule": "inside", "margin": 0.02, "published": None, "theory": 2.0, "measured": 2.01,
        "low": 1.99, "high": 2.03, "unit": "1", "level": 0.95, "n_replications": 20,
        "fact": "ratio", "verdict": "reproduced", "interval_kind": "ratio", "p_value": 1.0,
    }  # fmt: skip
    return claim | changes


def a_file(claims: list[Any]) -> str:
    return json.dumps({"version": 2, "claims": claims})


def write_results(folder: Path, claims_text: str, page: str = PAGE) -> Path:
    study = folder / "a-study"
    study.mkdir()
    (folder / "index.html").write_text(PAGE + '<a href="a-study/index.html">a</a>')
    (study / "index.html").write_text(page)
    (study / "claims.json").write_text(claims_text)
    (study / "meta.json").write_text("{}")
    (study / "provenance.json").write_text("{}")
    return folder


def test_good_results_pass(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = write_results(tmp_path, a_file([a_claim()]))
    assert check_results.main([str(folder)]) == 0
    assert "a-study: 1 claims; reproduced 1" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("claims", "words"),
    [
        ([], "non-empty"),
        ([a_claim(verdict="fine")], "'fine'"),
        ([a_claim(verdict="depends on ")], "verdict"),
        ([a_claim(measured=float("nan"))], "NaN"),
        ([a_claim(high=float("inf"))], "Infinity"),
        ([a_claim(theory="2")], "theory"),
        ([a_claim(low=3.0)], "upside down"),
        ([a_claim(), a_claim()], "2 times"),
        ([a_claim(n_replications=0)], "without a replication"),
        ([{key: v for key, v in a_claim().items() if key != "rule"}], "lacks rule"),
    ],
)
def test_bad_claims_are_found(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], claims: list[Any], words: str
) -> None:
    folder = write_results(tmp_path, a_file(claims))
    assert check_results.main([str(folder)]) == 1
    assert words in capsys.readouterr().err


@pytest.mark.parametrize(
    ("extra", "words"),
    [
        ('<script src="https://cdn.example/vega.js"></script>', "network"),
        ('<link rel="stylesheet" href="//cdn.example/style.css">', "network"),
        ('<a href="tables/flows.parquet">flows</a>', "not there"),
    ],
)
def test_pages_that_need_more_than_the_folder_are_found(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], extra: str, words: str
) -> None:
    folder = write_results(tmp_path, a_file([a_claim()]), PAGE + extra)
    assert check_results.main([str(folder)]) == 1
    assert words in capsys.readouterr().err


def test_links_to_the_web_are_allowed(tmp_path: Path) -> None:
    page = PAGE + '<a href="https://example.org/">source</a><img src="data:image/png;base64,AA">'
    assert check_results.check(write_results(tmp_path, a_file([a_claim()]), page)) == []


def test_verdict_that_depends_on_a_parameter_is_one() -> None:
    assert check_results.is_verdict("depends on base RTT")
    assert not check_results.is_verdict(None)


def test_an_old_python_is_refused() -> None:
    with pytest.raises(prerequisites.MissingError, match=r"3\.11 or newer is needed.*3\.9\.2"):
        prerequisites.check_python((3, 9, 2))
    assert prerequisites.check_python((3, 11, 0)) == "Python 3.11.0"


def pretend(folder: Path, program: str, answer: str) -> None:
    path = folder / program
    path.write_text(f"#!/bin/sh\n{answer}\n")
    path.chmod(0o755)


def test_an_old_cargo_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(prerequisites.MissingError, match="not on PATH"):
        prerequisites.check_rust("cargo")
    pretend(tmp_path, "cargo", "echo cargo 1.63.0")
    with pytest.raises(prerequisites.MissingError, match=r"1\.88 or newer is needed.*is 1\.63"):
        prerequisites.check_rust("cargo")
    pretend(tmp_path, "cargo", "echo 'cargo 1.88.0 (873a06493 2025-05-10)'")
    assert prerequisites.check_rust("cargo") == "cargo 1.88"
    pretend(tmp_path, "cargo", "exit 1")
    with pytest.raises(prerequisites.MissingError, match="RUSTUP_TOOLCHAIN"):
        prerequisites.check_rust("cargo")


def test_a_compiler_that_cannot_link_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(prerequisites.MissingError, match="C compiler is needed"):
        prerequisites.check_compiler()
    pretend(tmp_path, "cc", "echo 'cannot find crt1.o'; exit 1")
    with pytest.raises(prerequisites.MissingError, match=r"crt1\.o"):
        prerequisites.check_compiler()


def test_all_that_is_missing_is_said_at_once_and_advice_once() -> None:
    def fail(text: str) -> str:
        raise prerequisites.MissingError(text)

    found, missing = prerequisites.run_checks(
        [
            lambda: "Python",
            lambda: fail("cargo\n" + prerequisites.GET_RUST),
            lambda: fail("rustc\n" + prerequisites.GET_RUST),
            lambda: fail("compiler"),
        ]
    )
    assert found == ["Python"]
    assert [text.split("\n")[0] for text in missing] == ["cargo", "compiler"]


def test_requirements_of_extras_follow_the_package_s() -> None:
    pyproject = {
        "build-system": {"requires": ["maturin"]},
        "project": {"dependencies": ["numpy"], "optional-dependencies": {"test": ["pytest"]}},
    }
    assert dependencies.requirements(pyproject) == ["maturin", "numpy"]
    assert dependencies.requirements(pyproject, ["test"]) == ["maturin", "numpy", "pytest"]


@pytest.mark.parametrize("name", ["README.md", "CONTRIBUTING.md", "docs/index.md"])
def test_links_between_pages_lead_somewhere(name: str) -> None:
    page = ROOT / name
    for target in re.findall(r"\]\(([^)#\s]+)[^)]*\)", page.read_text(encoding="utf-8")):
        if "://" not in target:
            assert (page.parent / target).exists(), f"{name} links to {target}"


def compared(tmp_path: Path, full: list[Any], quick: list[Any]) -> int:
    for name, claims in (("full", full), ("quick", quick)):
        (tmp_path / name).mkdir()
        write_results(tmp_path / name, a_file(claims))
    kept = tmp_path / "kept.json"
    kept.write_text(json.dumps(compare_verdicts.verdicts_in(tmp_path / "full")))
    return compare_verdicts.main([str(kept), str(tmp_path / "quick")])


def some_claims(words: dict[str, str]) -> list[Any]:
    return [a_claim(id=name, fact=name, verdict=word) for name, word in words.items()]


def test_quick_that_decides_as_full_does_passes(tmp_path: Path) -> None:
    full = {"a": "reproduced", "b": "not reproduced", "c": "inconclusive", "d": "reproduced"}
    quick = {"a": "reproduced", "b": "inconclusive", "c": "reproduced"}
    assert compared(tmp_path, some_claims(full), some_claims(quick)) == 0


def test_facts_that_quick_decides_otherwise_are_said(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    full = some_claims(dict.fromkeys("abcd", "reproduced"))
    quick = some_claims(dict.fromkeys("abc", "not reproduced") | {"d": "reproduced"})
    assert compared(tmp_path, full, quick) == 1
    said = capsys.readouterr().out
    assert "a-study, a: sim/a: quick not reproduced, full reproduced" in said
    assert "4 facts are decided by both; 3 otherwise, at most 1 may be" in said


def test_rows_of_one_fact_count_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = [a_claim(id=name, fact="one") for name in "abcd"]
    otherwise = [each | {"verdict": "not reproduced"} for each in rows]
    assert compared(tmp_path, rows, otherwise) == 1
    assert "1 facts are decided by both; 1 otherwise" in capsys.readouterr().out


def test_nothing_decided_is_no_agreement(tmp_path: Path) -> None:
    rows = some_claims({"a": "inconclusive"})
    assert compared(tmp_path, rows, rows) == 1


def test_a_row_that_full_lacks_is_no_first_part(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="quick has sim/b"):
        compared(tmp_path, some_claims({"a": "reproduced"}), some_claims({"b": "reproduced"}))
