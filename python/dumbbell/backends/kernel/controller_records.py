"""Records of every event of a C controller on the kernel, with its result."""

from __future__ import annotations

import json

from dumbbell.backends.base import Job
from dumbbell.backends.kernel.backend import BACKEND, kernel_of, kernel_seed
from dumbbell.backends.kernel.controllers import built_modules
from dumbbell.backends.kernel.folders import RunFolder
from dumbbell.backends.kernel.guest import guest_program
from dumbbell.backends.kernel.job import job
from dumbbell.backends.kernel.launch import launch
from dumbbell.backends.kernel.programs import asked_tools, files_read_inside, host_tools
from dumbbell.backends.kernel.tool_library import tool_library
from dumbbell.backends.native.recording import MOST_RECORDS, RECORD, Records, read_records
from dumbbell.errors import RunError

_LEAST_WALL_LIMIT_S = 120.0
_PATIENCE = 10


def kernel_records(resolved_json: str, replication: int) -> Records:
    """Run a description on the kernel and return the events of its C controller.

    Args:
        resolved_json: Canonical description with one controller in C.
        replication: Number of the replication (its random streams).

    Returns:
        The first `MOST_RECORDS`.

    Raises:
        SpecError: The kernel cannot run the description.
        KernelMissingError: The kernel has not been built.
        RunError: The run failed.
    """
    cost = BACKEND.check(resolved_json)
    ((module, (path, flows)),) = built_modules(resolved_json, MOST_RECORDS).items()
    resolved = json.loads(resolved_json)
    wanted = asked_tools(resolved)
    folder = RunFolder()
    try:
        output = folder.path / "output"
        output.mkdir()
        controllers = [{"module": str(path), "name": module.name, "flows": flows}]
        tools = host_tools(wanted)
        library = tool_library()
        text = job(
            *(resolved_json, replication, output, tools),
            controllers=controllers,
            tool_library=library,
        )
        job_file = folder.path / "job.json"
        job_file.write_text(text, encoding="utf-8")
        memory_bytes = cost.memory_bytes + MOST_RECORDS * RECORD.itemsize
        ended = launch(
            kernel_of(resolved).path,
            guest_program(),
            run_dir=folder.path,
            seed=kernel_seed(Job(resolved_json, replication)),
            wall_limit_s=max(_LEAST_WALL_LIMIT_S, _PATIENCE * cost.wall_s),
            memory_mb=memory_bytes // 2**20 + 1,
            env={"DUMBBELL_JOB": str(job_file)},
            readable=[*files_read_inside(wanted), path, *([] if library is None else [library])],
        )
        if not ended.ok:
            raise RunError(f"the kernel: {ended.why()}")
        return read_records((output / f"{module.name}.records").read_bytes())
    finally:
        folder.remove()
