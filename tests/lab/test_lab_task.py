"""The task of a lab beside the sliders: read from a handout, shown as text, carried by a link."""

from __future__ import annotations

from pathlib import Path

import pytest
from lab_page import WIDTHS, Opened, Opener, moved, preset_ids
from typer.testing import CliRunner

from browsing import barriers
from dumbbell.cli.app import app
from dumbbell.errors import SpecError
from dumbbell.lab import LabExperiment, Task, state_hash, write_laboratory
from dumbbell.lab.task import MOST_LETTERS, TaskPart
from dumbbell.spec import Experiment

ROOT = Path(__file__).parents[2]
HANDOUT = ROOT / "docs" / "course" / "queue-size.md"
FILE = ROOT / "examples" / "course" / "full-buffer.toml"
TEXT = """# Lab 9: *two* queues

**Purpose.** Not shown.

## Guess

(Only on paper.)

A link of `1mbit`,
[open it](../a.toml) ([how](b.md)).

## Do

1. Open the first.
   It goes on here.
2. Write `pfifo limit 5`.

```sh
dumbbell run a.toml
## no heading
```
"""


def test_a_handout_is_read() -> None:
    task = Task.read(TEXT, "lab.md")
    assert task.title == "Lab 9: *two* queues"
    assert task.files == {"a.toml"}
    assert task.parts == (
        TaskPart("Guess", ("A link of `1mbit`, open it.",), ()),
        TaskPart("Do", (), ("Open the first. It goes on here.", "Write `pfifo limit 5`.")),
    )
    assert task.is_of("a.toml")
    assert not task.is_of("b.toml")
    assert Task.read("# A\n\n## B\n\n1. C\n", "lab.md").is_of("any.toml")


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("## Do\n\n1. Run it.\n", "no title"),
        ("# Lab\n\nText alone.\n", "no part"),
        ("# Lab\n\n## Do\n\n```\nonly code\n```\n", "no part"),
        ("# Lab\n\n## Do\n\n" + "1. Again.\n" * 101, "longer"),
        ("# Lab\n\n" + "## Do\n\nIt.\n\n" * 21, "longer"),
        ("# Lab\n\n## Do\n\n" + "a" * MOST_LETTERS, "letters"),
    ],
)
def test_what_is_no_handout_is_refused(text: str, told: str) -> None:
    with pytest.raises(SpecError, match=told) as refused:
        Task.read(text, "lab.md")
    assert refused.value.path == "lab.md"


@pytest.mark.parametrize("page", sorted((ROOT / "docs" / "course").glob("*.md")))
def test_every_handout_of_the_course_has_its_steps_and_questions(page: Path) -> None:
    if "## In the laboratory" not in page.read_text(encoding="utf-8"):
        return
    parts = {each.heading: each for each in Task.read(page.read_text("utf-8"), page.name).parts}
    assert len(parts["In the laboratory"].steps) >= 5
    assert len(parts["Questions"].steps) >= 8
    assert parts["A guess first"].paragraphs[-1].startswith("Write down: ")
    assert "Hand in" in parts


def test_a_handout_of_other_experiments_is_refused(module: Path, tmp_path: Path) -> None:
    assert module.is_file()
    place = tmp_path / "laboratory.html"
    words = ["lab", str(ROOT / "examples" / "mm1.toml"), "--task", str(HANDOUT)]
    done = CliRunner().invoke(app, [*words, "--no-open", "--output", str(place)])
    assert isinstance(done.exception, SpecError)
    assert "full-buffer.toml" in str(done.exception)
    assert "mm1.toml" in str(done.exception)
    assert not place.exists()


@pytest.fixture(scope="module")
def taught(module: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The laboratory as the command writes it."""
    assert module.is_file()
    place = tmp_path_factory.mktemp("task") / "laboratory.html"
    words = ["lab", str(FILE), "--task", str(HANDOUT), "--no-open", "--output", str(place)]
    done = CliRunner().invoke(app, words)
    assert done.exit_code == 0, done.output
    return place


SHOWN = "!document.getElementById('task').hidden"


@pytest.mark.browser
@pytest.mark.parametrize("width", WIDTHS)
def test_the_task_stands_beside_the_sliders(width: int, taught: Path, opener: Opener) -> None:
    seen = opener(place=taught, width=width)
    page = seen.page
    task = page.locator("#task details")
    assert task.locator("summary").inner_text() == Task.read(HANDOUT.read_text("utf-8"), "").title
    is_open = task.evaluate("each => each.open")
    assert is_open == (width > 760)
    if not is_open:
        task.locator("summary").click()
    assert page.locator("#task li").nth(2).is_visible()
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert barriers(page) == []
    if width >= 1200:
        box, figure = page.locator("#task").bounding_box(), page.locator("#scene").bounding_box()
        assert box is not None
        assert figure is not None
        assert box["x"] >= figure["x"] + figure["width"]
        page.evaluate("scrollTo(0, 500)")
        below = page.locator("#task summary").bounding_box()
        assert below is not None
        assert 0 <= below["y"] < 100
    assert seen.messages == []


@pytest.mark.browser
def test_another_experiment_has_no_task_and_the_link_brings_it_back(
    taught: Path, laboratory: Path, opener: Opener
) -> None:
    seen = opener(place=taught)
    assert seen.page.evaluate(SHOWN)
    seen.after(moved("rate", 0.4))
    link = seen.page.input_value("#link")
    seen.choose(preset_ids()[0])
    assert not seen.page.evaluate(SHOWN)
    again = opener("#" + link.split("#")[1], place=laboratory)
    assert again.page.evaluate(SHOWN)
    assert again.page.locator("#task li").count() == 13
    assert seen.messages == again.messages == []


@pytest.mark.browser
def test_marks_are_drawn_and_elements_are_text(
    module: Path, tmp_path: Path, opener: Opener
) -> None:
    assert module.is_file()
    text = "# A\n\n## B\n\n1. Write `<b>1</b>`, *twice*, <img src=x onerror=alert(1)>.\n"
    experiment = Experiment.from_toml(FILE)
    shown = LabExperiment("file", "own", "", experiment, is_own=True, task=Task.read(text, "a.md"))
    place = tmp_path / "laboratory.html"
    write_laboratory(place, [shown])
    for seen in (opener(place=place), opener(state_hash(shown), place=place)):
        _check_text(seen)


def _check_text(seen: Opened) -> None:
    step = seen.page.locator("#task li")
    assert step.inner_text() == "Write <b>1</b>, twice, <img src=x onerror=alert(1)>."
    assert step.locator("code").inner_text() == "<b>1</b>"
    assert step.locator("em").inner_text() == "twice"
    assert step.locator("img, b").count() == 0
    assert seen.messages == []
