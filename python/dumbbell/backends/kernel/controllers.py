"""C congestion controllers as kernel modules: compiled once for each kernel.

A module consists of the user's file and our `recipe/controller/module.c`, which implements Linux's
`struct tcp_congestion_ops` with the functions of `dumbbell_cc.h`. Parameter values are compiled in.
Flows with the same file but other values get a module of their own, because they share no variables
in the simulator either.
"""

from __future__ import annotations

import functools
import hashlib
import json
import re
import shutil
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Final

from dumbbell.backends.kernel.cache import KernelInfo, require_kernel
from dumbbell.backends.kernel.modules import compiled_module
from dumbbell.backends.kernel.recipe import FOLDER
from dumbbell.backends.native import HEADER, BuildError, built, check_controllers
from dumbbell.errors import SpecError
from dumbbell.spec import Resolved
from dumbbell.spec.native import controllers_folder, is_c_file, source_of

_SHIM: Final = FOLDER / "controller"
_HEADERS: Final = (HEADER, HEADER.with_name("dumbbell_cc_record.h"))
_NAME = re.compile(r"[A-Za-z_]\w*", re.ASCII)
# Integers only: floating point is rejected by the preprocessor, by the compiler, or else by the
# linker, which lacks the functions of libgcc.
_KBUILD = """\
obj-m := {name}.o
{name}-y := module.o controller.o
ccflags-y := -I$(src)/include
CFLAGS_controller.o := -include $(src)/whole_numbers.h -Werror=unsuffixed-float-constants \
-mgeneral-regs-only
"""


@dataclass(frozen=True, slots=True)
class Module:
    """A controller for the kernel.

    Attributes:
        sha256: Hash of the C file.
        parameters: Parameter values by name.
        hystart: Value of `hystart` passed to the controller.
        may_pace: Whether it may use the pacing it asks for.
        most_records: How many of its events are recorded; 0 for none.
    """

    sha256: str
    parameters: tuple[tuple[str, int], ...]
    hystart: bool
    may_pace: bool
    most_records: int = 0

    @property
    def name(self) -> str:
        """Name of the module and value of ``TCP_CONGESTION``; the kernel allows 15 bytes."""
        return f"dbl{_hash(json.dumps(asdict(self)))[:12]}"


def modules_of(resolved: Mapping[str, Any]) -> dict[Module, list[int]]:
    """The modules that a description needs, with the indices of their flows."""
    found: dict[Module, list[int]] = {}
    for index, flow in enumerate(Resolved(resolved).flows):
        # `linux:NAME` is a controller of the kernel.
        if flow.tcp is not None and is_c_file(tcp := flow.tcp.mapping):
            described = tcp["controller"]
            values = tuple(sorted(described["parameters"].items()))
            module = Module(
                described["sha256"], values, bool(tcp["hystart"]), tcp["pacing"] is not False
            )
            found.setdefault(module, []).append(index)
    return found


def built_modules(
    resolved_json: str, most_records: int = 0
) -> dict[Module, tuple[Path, list[int]]]:
    """Paths of the modules of a description; missing ones are compiled.

    Args:
        resolved_json: Canonical description.
        most_records: How many events of each controller are recorded.

    Raises:
        SpecError: A controller is not allowed, lacks a parameter, or does not compile.
        KernelMissingError: The kernel was built without keeping the tree for compiling modules.
    """
    if '"controller":' not in resolved_json:
        return {}
    check_controllers(resolved_json)
    resolved = json.loads(resolved_json)
    asked = Resolved(resolved)
    kernel = require_kernel(asked.timer_hz, asked.kernel)
    found = {}
    for plain, flows in modules_of(resolved).items():
        module = replace(plain, most_records=most_records)
        tcp = asked.flows[flows[0]].tcp
        assert tcp is not None
        where = f"flows[{flows[0]}].tcp.congestion_control"
        object_ = built(module.sha256)
        if object_ is not None and object_.needs_simulator:
            allowed = "on the kernel a C file that has neither `sees_sender` nor `needs_ecn`"
            raise SpecError(where, tcp.congestion_control, allowed)
        try:
            found[module] = built_module(module, kernel), flows
        except BuildError as error:
            raise SpecError(
                where,
                tcp.congestion_control,
                "a C file that compiles for Linux: whole numbers, and of headers dumbbell_cc.h, "
                "stdint.h, stdbool.h, stddef.h, limits.h and string.h (docs/controllers.md)",
                reason=str(error),
            ) from None
    return found


def module_versions(spec: Mapping[str, Any]) -> dict[str, dict[str, str]]:
    """Versions that the result depends on, by the SHA-256 of each source; empty without sources."""
    found = {}
    for module, flows in modules_of(spec).items():
        tcp = Resolved(spec).flows[flows[0]].tcp
        assert tcp is not None
        kernel = require_kernel(Resolved(spec).timer_hz, Resolved(spec).kernel)
        found[module.sha256] = {
            "congestion_control": tcp.congestion_control,
            "build_sha256": _made_of(Module(module.sha256, (), True, True), kernel),
            "compiler": kernel.compiler,
        }
    return found


# The result is cached, because each run of a sweep asks again.
@functools.lru_cache(maxsize=256)
def built_module(module: Module, kernel: KernelInfo) -> Path:
    """The module for a kernel, from the cache or compiled now.

    Raises:
        BuildError: It does not compile; the message contains the compiler's output.
        KernelMissingError: The kernel was built without keeping the tree for compiling modules.
        OSError: The cache folder cannot be written.
    """
    source = source_of(module.sha256)
    if source is None:
        raise BuildError("it was not allowed")
    place = controllers_folder() / module.sha256 / f"{_made_of(module, kernel)}.ko"

    def lay_out(folder: Path) -> None:
        _lay_out(folder, module, source)

    return compiled_module(kernel, module.name, place, lay_out)


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def _made_of(module: Module, kernel: KernelInfo) -> str:
    ours = [file for file in sorted(_SHIM.rglob("*")) if file.is_file()]
    hashes = [hashlib.sha256(file.read_bytes()).hexdigest() for file in (*ours, *_HEADERS)]
    made_of = [kernel.key, kernel.sha256, kernel.compiler, _KBUILD, hashes, asdict(module)]
    return _hash(json.dumps(made_of))


def _lay_out(folder: Path, module: Module, source: Path) -> None:
    """Write all files that make reads."""
    shutil.copytree(_SHIM, folder)
    for header in _HEADERS:
        shutil.copy(header, folder / "include")
    shutil.copy(source, folder / "controller.c")
    (folder / "Kbuild").write_text(_KBUILD.format(name=module.name), encoding="utf-8")
    for name, _ in module.parameters:
        if not _NAME.fullmatch(name):
            raise BuildError(f"a parameter is called {name!r}, which is not a valid name in C")
    values = [f'{{ "{name}", {value}ll }}, ' for name, value in module.parameters]
    text = (
        f'#define DUMBBELL_NAME "{module.name}"\n'
        f"#define DUMBBELL_HYSTART {int(module.hystart)}\n"
        f"#define DUMBBELL_MAY_PACE {int(module.may_pace)}\n"
        f"#define DUMBBELL_MOST_RECORDS {module.most_records}\n"
        "struct value { const char *name; s64 value; };\n"
        f"static const struct value values[] = {{ {''.join(values)}{{ }} }};\n"
    )
    (folder / "instance.h").write_text(text, encoding="utf-8")
