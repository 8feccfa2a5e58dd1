"""Arms of the studies on the laboratory's page: the study's own experiments, under its title."""

from __future__ import annotations

from pathlib import Path

import pytest
from lab_page import Opener, check_equal

from dumbbell.cli.lab import of_studies
from dumbbell.lab import LabExperiment, presets, write_laboratory
from dumbbell.spec import Experiment
from dumbbell.studies import STUDIES
from dumbbell.studies.laboratory import study_experiments

pytestmark = pytest.mark.slow

OFFERED = {each.id: each for each in study_experiments()}


@pytest.fixture(scope="module")
def with_studies(module: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    assert module.is_file()
    place = tmp_path_factory.mktemp("laboratory") / "studies.html"
    write_laboratory(place, more=of_studies())
    return place


def test_every_study_is_there_in_its_own_words() -> None:
    titles = [each.study for each in OFFERED.values()]
    assert list(dict.fromkeys(titles)) == [study.title for study in STUDIES.values()]
    assert len({each.id for each in [*of_studies(), *presets()]}) == len(OFFERED) + len(presets())
    for each in OFFERED.values():
        assert each.queue in each.experiment.queue_names
        assert each.label
        assert each.question.endswith(("?", "."))


@pytest.mark.browser
def test_they_are_chosen_under_the_study_s_title(opener: Opener, with_studies: Path) -> None:
    seen = opener(place=with_studies)
    groups = seen.page.locator("#preset optgroup")
    labels = [groups.nth(place).get_attribute("label") for place in range(groups.count())]
    assert labels == ["Experiments", *(study.title for study in STUDIES.values())]
    choices = seen.page.locator("#preset option").all_inner_texts()
    assert choices[-len(OFFERED) :] == [each.label for each in OFFERED.values()]


@pytest.mark.browser
@pytest.mark.parametrize("name", OFFERED)
def test_each_runs_as_the_command_line_runs_it(
    opener: Opener, with_studies: Path, name: str
) -> None:
    seen = opener(place=with_studies)
    seen.choose(name)
    assert seen.page.inner_text("#queue-name") == OFFERED[name].queue
    check_equal(seen)
    assert seen.page.evaluate("document.documentElement.scrollWidth") == 1440
    assert seen.is_quiet()


_LINES = """() => {
  const { series, stacked } = laboratory.now;
  return [...new Set([...series.flows.groups, ...series.senders, ...(stacked?.groups ?? [])]
    .map(({ name }) => name))];
}"""
"""Names of what the figures draw."""


@pytest.mark.browser
def test_the_legend_names_every_line(opener: Opener, with_studies: Path) -> None:
    seen = opener(place=with_studies)
    name = next(name for name in OFFERED if name.startswith("buffer-sizing"))
    seen.choose(name)
    drawn = seen.page.evaluate(_LINES)
    flows = [each.name for each in OFFERED[name].experiment.flows]
    assert len(drawn) < len(flows)
    shown = seen.page.locator("#legend span:has(svg)").all_inner_texts()
    told = {words.partition(":")[0]: words for words in shown}
    assert set(drawn) <= set(told)
    assert not any(word in " ".join(shown) for word in ("more", "undefined"))
    # As many flows as the experiment has stand behind what is drawn together.
    counts = {name: sum(flow.startswith(f"{name}-") for flow in flows) for name in drawn}
    assert {f"{name}: {count} flows" for name, count in counts.items()} == set(shown)
    # Each has a look of its own.
    looks = seen.page.locator("#legend span").evaluate_all(
        "all => all.map(each => each.firstElementChild?.outerHTML ?? '').filter(Boolean)"
    )
    assert len(set(looks)) == len(looks) == len(shown)
    assert seen.is_quiet()


@pytest.mark.browser
def test_flows_that_send_alike_are_drawn_together_whatever_their_names(
    opener: Opener, module: Path, tmp_path: Path
) -> None:
    assert module.is_file()
    hosts = [f"h{number}" for number in range(1, 15)]
    controllers = ("cubic", "reno")
    experiment = Experiment.read(
        {
            "name": "alike",
            "duration": "1s",
            "links": [
                {"a": "router", "b": "sink", "rate": "10mbit", "qdisc": "pfifo limit 50"},
                *({"a": host, "b": "router"} for host in hosts),
            ],
            # Two families under one name, and names without a word in common in a third.
            "flows": [
                *(
                    {
                        "name": f"user-{host}",
                        "from": host,
                        "to": "sink",
                        "tcp": {"congestion_control": controllers[at % 2]},
                        "source": {"kind": "greedy"},
                    }
                    for at, host in enumerate(hosts)
                ),
                *(
                    {
                        "name": name,
                        "from": "h1",
                        "to": "sink",
                        "source": {"kind": "poisson", "rate": "9pps", "size": "100B"},
                    }
                    for name in ("radio", "voice")
                ),
            ],
        }
    )
    one = LabExperiment("alike", "Alike", "Who gets what?", experiment, "router->sink")
    write_laboratory(tmp_path / "alike.html", more=[one])
    seen = opener(place=tmp_path / "alike.html")
    seen.choose("alike")
    assert seen.page.locator("#legend span:has(svg)").all_inner_texts() == [
        "user, greedy, cubic: 7 flows",
        "user, greedy, reno: 7 flows",
        "poisson, udp: 2 flows",
    ]
    assert seen.is_quiet()
