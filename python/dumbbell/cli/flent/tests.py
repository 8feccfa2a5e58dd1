"""``dumbbell flent``: Flent's tests with Flent's options, without a testbed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console
from rich.text import Text

from dumbbell.cli.terminal.consoles import print_notices
from dumbbell.cli.terminal.named_pipes import say_if_pipe
from dumbbell.cli.terminal.output import say
from dumbbell.errors import SpecError
from dumbbell.folders import replace_file, why_not_writable

if TYPE_CHECKING:
    from dumbbell.formats.flent import FlentFile
    from dumbbell.spec import Experiment
    from dumbbell.spec.flent import FlentTest, Network

PICTURES = (".png", ".svg", ".pdf")
FORMATS = ("plot", "summary")
LONGEST_TEXT = 1000
MOST_FILES = 12
"""Most files overlaid in one plot."""
LONGEST_TITLE = 40


@dataclass(frozen=True, slots=True, kw_only=True)
class FlentOptions:
    """The options; names as in Flent.

    Attributes:
        test: Name of the test; empty when a file is read.
        inputs: Data files to read instead of running a test; plots overlay them.
        plot: Name of a plot, or empty.
        format: One of `FORMATS`, or empty: a plot when one is named or `output` is a picture,
            else the summary.
        output: File of the plot or summary; beside the data file, or standard output.
        length_s: ``-l``.
        delay_s: ``-d``.
        step_s: ``-s``.
        hosts: ``-H``.
        title: ``-t``.
        note: ``-n``.
        data_dir: Where the data file goes.
        parameters: ``KEY=VALUE``.
        network: The built-in network, with the options given.
        topology: An experiment's file whose links are used instead, together with its flows.
        client: The measuring host in such a network.
        queues: Queues whose statistics are written.
        instead: ``NAME=OTHER``: controllers that replace those of the test.
        backend: The backend.
        seed: Seed of all random numbers.
        replication: Selects the random numbers.
        memory_bytes: Memory the run may use; None for the free memory.
        timer_hz: Timer frequency of the modelled kernel.
        irtt: Whether the program irtt measures latency over UDP.
        yes: Whether to skip the confirmation of runs that take hours.
    """

    test: str = ""
    inputs: Sequence[Path] = ()
    plot: str = ""
    format: str = ""
    output: Path | None = None
    length_s: int = 60
    delay_s: int = 5
    step_s: float = 0.2
    hosts: Sequence[str] = ()
    title: str = ""
    note: str = ""
    data_dir: Path = field(default_factory=Path)
    parameters: Sequence[str] = ()
    network: Network
    topology: Path | None = None
    client: str = "client"
    queues: Sequence[str] = ()
    instead: Sequence[str] = ()
    backend: str = "sim"
    seed: int = 1
    replication: int = 0
    memory_bytes: int | None = None
    timer_hz: int = 1000
    irtt: bool = False
    yes: bool = False


def flent(options: FlentOptions, console: Console) -> None:
    """Run a test or read a data file; write the data file, and a plot or the summary.

    Raises:
        SpecError: An option is not allowed.
    """
    _check(options)
    if options.inputs:
        _show(read_files(options.inputs), options.inputs[0], options, console)
        return
    test = _test(options)
    experiment = _experiment(test, options)
    for name, why in test.without_effect.items():
        console.print(Text(f"{name} has no effect: {why}", style="yellow"), soft_wrap=True)
    for note in test.notes:
        console.print(Text(note, style="yellow"), soft_wrap=True)
    print_notices(experiment.notices(), console)
    file = _run(test, experiment, options)
    from dumbbell.formats.flent import flent_file_name, write_flent

    path = write_flent(file, _free_name(options.data_dir / flent_file_name(file), file))
    console.print(f"data: {path}", markup=False, soft_wrap=True)
    _show({"": file}, path, options, console)


def list_tests(console: Console) -> None:
    """Print the tests with their descriptions."""
    from dumbbell.spec.flent import TEST_NAMES, flent_test

    wide = max(len(name) for name in TEST_NAMES)
    some = {"upload_streams": "1", "download_streams": "1"}
    for name in TEST_NAMES:
        line = Text(f"{name:<{wide}}  {flent_test(name, parameters=some).title}")
        console.print(line, soft_wrap=True)


def list_plots(options: FlentOptions, console: Console) -> None:
    """Print the plots of a test, or those that a data file has data for; the default first."""
    from dumbbell.report.flent_plots import plot_names, plots_of
    from dumbbell.spec.flent import flent_test

    _check(options)
    if options.inputs:
        files = read_files(options.inputs)
        names = list(dict.fromkeys(name for each in files.values() for name in plot_names(each)))
    else:
        some = {"upload_streams": "1", "download_streams": "1"}
        names = plots_of(flent_test(options.test, parameters=some).name)
    for name in names:
        console.print(name, markup=False, soft_wrap=True)


def _check(options: FlentOptions) -> None:
    if bool(options.test) == bool(options.inputs):
        found = f"{options.test} and --input" if options.test else "nothing"
        raise SpecError("flent", found, "the name of a test, or --input FILE")
    if len(options.inputs) > MOST_FILES:
        allowed = f"at most {MOST_FILES} files, as a figure cannot show more curves distinctly"
        raise SpecError("--input", f"{len(options.inputs)} files", allowed)
    for option, text in (("--title-extra", options.title), ("--note", options.note)):
        if not text.isprintable() or len(text) > LONGEST_TEXT:
            allowed = f"one line of at most {LONGEST_TEXT} printable characters"
            raise SpecError(option, text[:80], allowed)
    if options.format and options.format not in FORMATS:
        raise SpecError("--format", options.format, f"one of {', '.join(FORMATS)}")
    output = options.output
    if options.irtt and options.backend == "sim":
        raise SpecError("--irtt", "with --backend sim", "--backend kernel, where programs run")
    if output is not None and _wants_plot(options) and output.suffix.lower() not in PICTURES:
        raise SpecError("--output", output, f"a file that ends in {_or(PICTURES)}")
    for folder in (options.data_dir, *([options.output.parent] if options.output else [])):
        if not folder.is_dir():
            raise SpecError("folder", folder, "a folder that exists")
        reason = why_not_writable(folder)
        if reason is not None:
            raise SpecError("folder", folder, f"another folder: {reason}")


def _or(words: Sequence[str]) -> str:
    return f"{', '.join(words[:-1])} or {words[-1]}"


def _wants_plot(options: FlentOptions) -> bool:
    """As requested; by default if a plot is named, or the output is an image file."""
    if options.format:
        return options.format == "plot"
    picture = options.output is not None and options.output.suffix.lower() in PICTURES
    return bool(options.plot) or picture


def _test(options: FlentOptions) -> FlentTest:
    from dumbbell.spec.flent import flent_test

    test = flent_test(
        options.test,
        length_s=options.length_s,
        delay_s=options.delay_s,
        step_s=options.step_s,
        hosts=options.hosts,
        client=options.client,
        parameters=pairs("--test-parameter", options.parameters),
    )
    return test.with_controllers(pairs("--instead", options.instead))


def pairs(option: str, texts: Sequence[str]) -> dict[str, str]:
    """Parse ``KEY=VALUE`` pairs."""
    pairs: dict[str, str] = {}
    for text in texts:
        key, equals, value = text.partition("=")
        if not equals or not key:
            raise SpecError(option, text, "KEY=VALUE")
        pairs[key] = value
    return pairs


def _experiment(test: FlentTest, options: FlentOptions) -> Experiment:
    from dumbbell.spec import Experiment

    if options.topology is None:
        return test.experiment(
            options.network, seed=options.seed, timer_hz=options.timer_hz, irtt=options.irtt
        )
    around = Experiment.from_toml(options.topology)
    return test.experiment(
        around.all_links,
        seed=options.seed,
        timer_hz=around.timer_hz if "timer_hz" in around.model_fields_set else options.timer_hz,
        more_flows=around.flows,
        irtt=options.irtt,
    )


def _run(test: FlentTest, experiment: Experiment, options: FlentOptions) -> FlentFile:
    from dumbbell.cli.run.single import run_one
    from dumbbell.formats.flent import flent_file

    queues = _checked_queues(options.queues, experiment)
    if options.plot:
        _check_plot(test, options.plot)
    with hint_at_instead():
        run = run_one(
            experiment,
            options.replication,
            options.backend,
            may_use_bytes=options.memory_bytes,
            yes=options.yes,
            has_dry_run=False,
        )
    return flent_file(run, test, title=options.title, note=options.note, queues=queues)


@contextmanager
def hint_at_instead() -> Iterator[None]:
    """If the simulator lacks a controller, add to the error how to run the test anyway."""
    try:
        yield
    except SpecError as error:
        if not error.path.endswith(".congestion_control"):
            raise
        allowed = f"{error.allowed}; --instead {error.value}=reno runs another in its place"
        raise SpecError(error.path, error.value, allowed, error.hint) from None


def _check_plot(test: FlentTest, plot: str) -> None:
    """Check the plot before a minute of simulation."""
    from dumbbell.report.flent_plots import check_plot

    check_plot(test.name, plot)


def _checked_queues(queues: Sequence[str], experiment: Experiment) -> list[str]:
    from dumbbell.spec.refusal import nearest

    for queue in queues:
        if queue not in experiment.queue_names:
            allowed = f"one of {', '.join(experiment.queue_names)}"
            raise SpecError("--queue", queue, allowed, nearest(queue, experiment.queue_names))
    return list(queues)


def _free_name(path: Path, file: FlentFile) -> Path:
    """The path, or a numbered one if a file exists."""
    from dumbbell.formats.flent import SUFFIX, flent_bytes

    content = flent_bytes(file)
    stem = path.name.removesuffix(SUFFIX)
    for number in range(1, 10_000):
        candidate = path.with_name(f"{stem}{f'.{number}' if number > 1 else ''}{SUFFIX}")
        if not candidate.exists() or (
            candidate.stat().st_size == len(content) and candidate.read_bytes() == content
        ):
            return candidate
    raise SpecError("--data-dir", path.parent, "a folder with fewer files of this name")


def read_files(paths: Sequence[Path]) -> dict[str, FlentFile]:
    """Read data files, with names that distinguish them in a plot: their titles or file names.

    Raises:
        SpecError: A file is not a data file.
    """
    from dumbbell.formats.flent import read_flent
    from dumbbell.printable import printable

    files: dict[str, FlentFile] = {}
    for path in paths:
        say_if_pipe(path)
        file = read_flent(path)
        stem = path.name.partition(".flent")[0] if ".flent" in path.name else path.stem
        title = (file.text("TITLE") or printable(stem))[:LONGEST_TITLE]
        free = (title if n == 1 else f"{title} ({n})" for n in range(1, len(paths) + 1))
        files[next(each for each in free if each not in files)] = file
    return files if len(files) > 1 else {"": next(iter(files.values()))}


def _show(
    files: Mapping[str, FlentFile], path: Path, options: FlentOptions, console: Console
) -> None:
    file = next(iter(files.values()))
    if _wants_plot(options):
        picture = options.output or _beside(path, options.plot or _default_plot(file))
        write_plot(files, options.plot or _default_plot(file), picture)
        console.print(f"plot: {picture}", markup=False, soft_wrap=True)
        return
    from dumbbell.formats.flent import summary_text

    text = "\n".join(summary_text(each) for each in files.values())
    if options.output is not None:
        replace_file(options.output, text)
    else:
        say(text.removesuffix("\n"))


def _default_plot(file: FlentFile) -> str:
    from dumbbell.report.flent_plots import plot_names

    return plot_names(file)[0]


def _beside(path: Path, plot: str) -> Path:
    from dumbbell.formats.flent import SUFFIX

    return path.with_name(f"{path.name.removesuffix(SUFFIX)}.{plot}.png")


def write_plot(files: Mapping[str, FlentFile], name: str, target: Path) -> None:
    """Draw an overlay plot of data files as PNG, SVG or PDF, by the extension.

    Raises:
        SpecError: No file has such a plot.
        DrawingError: Drawing failed.
    """
    from dumbbell.report.figures import FigureDrawer, draw
    from dumbbell.report.flent_plots import draw_plot
    from dumbbell.report.model import Figure

    drawn = draw_plot(files, name)
    tests = " and ".join(dict.fromkeys(file.text("NAME") for file in files.values()))
    title = next(iter(files.values())).text("TITLE") if len(files) == 1 else ""
    caption = f"{tests}{f', {title}' if title else ''}: {drawn.caption}"
    chart = drawn.chart.properties(title=caption)
    figure = Figure(name, chart, drawn.data, caption)
    with FigureDrawer() as drawer:
        content = drawer.picture(draw(figure), target.suffix.lower())
    replace_file(target, content)
