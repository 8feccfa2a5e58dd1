"""The laboratory as it stands open in Chromium, with what it said and asked for."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest
from playwright.sync_api import Page

import dumbbell
from dumbbell.compare import summary_of
from dumbbell.lab import presets
from waiting import wait_until

WIDTHS = (390, 820, 1440)
OWN_SCHEMES = ("file:", "blob:", "data:")
"""Of addresses that no network has to do with."""


@dataclass
class Opened:
    """A page with what it said and asked for."""

    page: Page
    messages: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)

    @classmethod
    def of(cls, page: Page) -> Opened:
        """Listens from now on."""
        seen = cls(page)
        page.on("console", lambda message: seen.messages.append(f"{message.type}: {message.text}"))
        page.on("pageerror", lambda error: seen.messages.append(f"error: {error}"))
        page.on("dialog", lambda dialog: seen.messages.append(f"dialog: {dialog.message}"))
        page.on("request", lambda request: seen.requests.append(request.url))
        return seen

    def until(self, expression: str) -> Any:
        """The value of an expression when it is true; the page's own rules forbid a shorter way."""
        return wait_until(
            lambda: self.page.evaluate(expression),
            (expression, self.messages),
            pause=lambda: self.page.wait_for_timeout(20),
        )

    def after(self, act: str) -> None:
        """Does something and waits for the run that follows."""
        # In one piece: a run that is still going on may end at any other moment.
        done = self.page.evaluate(f"() => {{ const done = laboratory.done; {act}; return done; }}")
        self.until(f"laboratory.done > {done}")

    def choose(self, preset: str) -> None:
        """As a person does, and waits for its run."""
        self.after(
            f"const chosen = document.getElementById('preset'); chosen.value = {preset!r};"
            " chosen.dispatchEvent(new Event('change', { bubbles: true }))"
        )

    def digest(self) -> str:
        return str(self.page.text_content("#digest"))

    def toml(self) -> str:
        return self.page.input_value("#toml")

    def is_quiet(self) -> bool:
        """Whether it said nothing and asked nobody."""
        return not self.messages and all(url.startswith(OWN_SCHEMES) for url in self.requests)


Opener = Callable[..., Opened]
"""See the fixture `opener`."""


def preset_ids() -> list[str]:
    return [each.id for each in presets()]


def moved(control: str, share: float) -> str:
    """What a person does to a slider, in the page's language."""
    return (
        f"(() => {{ const slider = document.getElementById('control-{control}');"
        f" slider.value = String(Math.round(Number(slider.max) * {share}));"
        " slider.dispatchEvent(new Event('input', { bubbles: true }));"
        " slider.dispatchEvent(new Event('change', { bubbles: true })); })()"
    )


def typed(control: str, text: str) -> str:
    return (
        f"(() => {{ const field = document.getElementById('control-{control}');"
        f" field.value = {json.dumps(text)};"
        " field.dispatchEvent(new Event('input', { bubbles: true })); })()"
    )


def check_equal(seen: Opened) -> None:
    """The file that the page gives is run here: the same digest, the same numbers."""
    run = dumbbell.simulate(dumbbell.Experiment.from_toml(seen.toml()))
    assert run.meta["digest"] == seen.digest()
    numbers = summary_of(run)
    rows = seen.page.evaluate(
        "[...document.querySelectorAll('#numbers tr')].map(r => [r.dataset.path, r.dataset.value])"
    )
    assert len(rows) >= 7
    for path, value in rows:
        expected = numbers[path]
        assert float("nan" if value == "null" else value) == pytest.approx(
            expected, rel=1e-12, nan_ok=True
        ), path


_LANES = 2
"""Workers that run what they are given, side by side."""
_RUN = """async ([experiments, lanes]) => {
  const { front } = laboratory, Bench = front.constructor;
  const source = document.getElementById("worker").textContent;
  const found = new Array(experiments.length);
  let next = 0;
  const lane = async () => {
    let heard = () => undefined;
    const bench = new Bench(source, front.module, (message) => heard(message));
    for (let place = next++; place < experiments.length; place = next++) {
      found[place] = await new Promise((resolve) => {
        heard = (message) => {
          if (message.kind === "done") resolve({ digest: message.digest, events: message.events });
          else if (["problem", "fault"].includes(message.kind)) resolve(message);
        };
        bench.send("run", { resolved: experiments[place], changes: [], queue: 0, replication: 0 });
      });
    }
    bench.worker.terminate();
  };
  await Promise.all(Array.from({ length: lanes }, lane));
  return found;
}"""


def runs_of_workers(
    seen: Opened, experiments: Sequence[dumbbell.Experiment]
) -> list[Mapping[str, Any]]:
    """Replication 0 of each by the page's own workers, each told as the page tells it."""
    resolved = [json.loads(each.resolved_json()) for each in experiments]
    found: list[Mapping[str, Any]] = seen.page.evaluate(_RUN, [resolved, _LANES])
    return found
