"""The JSON schema, and the page that says how to write an experiment."""

import re
import tomllib
from pathlib import Path

import jsonschema
import pytest
from hypothesis import given, settings
from spec_samples import EXAMPLES, SMALL, bent, experiments

from dumbbell.spec import Experiment
from dumbbell.spec.reference import key_tables

PAGE = Path(__file__).parents[2] / "docs" / "experiment-file.md"
SCHEMA = Experiment.json_schema()
VALIDATOR = jsonschema.Draft202012Validator(SCHEMA)


def test_the_schema_is_one() -> None:
    jsonschema.Draft202012Validator.check_schema(SCHEMA)


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_the_schema_takes_the_examples(path: Path) -> None:
    VALIDATOR.validate(tomllib.loads(path.read_text()))


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(experiments())
def test_the_schema_takes_what_the_model_takes(data: dict) -> None:
    Experiment.read(data)
    VALIDATOR.validate(data)


@pytest.mark.parametrize(
    "change",
    [
        {"linsk": []},
        {"duration": 10},
        {"duration": "10"},
        {"links__0__dely": "1ms"},
        {"links__0__loss": 2},
        {"links__0__overhead": "22"},
        {"links__0__rate": "1"},
        {"flows__0__source__kind": "poison"},
        {"flows__0__source__size": 512},
        {"flows__0__dscp": "E"},
        {"shape": {"kind": "ring"}},
    ],
    ids=str,
)
def test_the_schema_refuses_what_an_editor_should_underline(change: dict) -> None:
    VALIDATOR.validate(SMALL)
    assert not VALIDATOR.is_valid(bent(**change))


def test_every_key_says_what_it_is() -> None:
    tables = [SCHEMA, *SCHEMA["$defs"].values()]
    for table in tables:
        for key, field in table["properties"].items():
            assert len(field["description"]) > 5, key


def test_the_page_has_every_key() -> None:
    """When this fails: print ``python -m dumbbell.spec.reference`` between the two marks."""
    kept = PAGE.read_text().split("<!-- keys -->\n")[1].split("<!-- end of keys -->")[0]
    assert kept == key_tables()


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", PAGE.read_text(), re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("text", blocks("toml"))
def test_experiments_of_the_page(text: str) -> None:
    Experiment.from_toml(text)
    VALIDATOR.validate(tomllib.loads(text))


@pytest.mark.parametrize("code", blocks("python"))
def test_python_of_the_page(code: str, capsys: pytest.CaptureFixture[str]) -> None:
    exec(compile(code, str(PAGE), "exec"), {})
    assert "ITGSend -a receiver-1 -E 110 -e 512" in capsys.readouterr().out


def test_the_error_of_the_page() -> None:
    (said,) = blocks("text")
    with pytest.raises(Exception, match="dely") as caught:
        Experiment.read(bent(links__0__forward={"dely": "1ms"}))
    assert str(caught.value) == said.strip()


def test_the_laws_of_the_page() -> None:
    tables = re.findall(r"\| `\w+ [A-Z ]+` \| `(\{ law = .* \})` \|", PAGE.read_text())
    assert len(tables) == 8
    for table in tables:
        size = tomllib.loads(f"size = {table}")["size"]
        Experiment.read(bent(flows__0__source__size=size))
