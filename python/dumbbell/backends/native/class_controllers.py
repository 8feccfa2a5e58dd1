"""Controllers given as Python classes; descriptions refer to them as ``class:NAME``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from dumbbell.backends.native.checking import GIVEN, check_parameter
from dumbbell.backends.native.python_class import PythonClass, checked_class, sha256_of_class
from dumbbell.controllers import Controller, parameters_of
from dumbbell.errors import SpecError
from dumbbell.spec import Experiment
from dumbbell.spec.native import CLASS_PREFIX, PREFIX
from dumbbell.spec.refusal import nearest


class Resolvable(Protocol):
    """An experiment, as far as it is needed here."""

    def resolved_json(self) -> str:
        """The canonical description."""
        ...


def classes_of(
    controllers: Mapping[str, type[Controller]],
) -> Mapping[tuple[str, str], PythonClass]:
    """Classes in the engine's form: by the SHA-256 of their text, and by name.

    Raises:
        SpecError: A class is not a controller.
    """
    classes = {}
    for name, controller in controllers.items():
        try:
            found = checked_class(controller, name)
        except ValueError as error:
            raise SpecError(f"controllers[{name!r}]", controller, str(error)) from None
        classes[sha256_of_class(controller), name] = found
    return classes


def naming(experiment: Resolvable, controllers: Mapping[str, type[Controller]]) -> Experiment:
    """The experiment, with the code of each ``class:NAME`` identified.

    Raises:
        SpecError: There is no such class or parameter, or a flow uses a file: runs with files
            happen in a separate process, which lacks the class.
    """
    if not isinstance(experiment, Experiment):
        experiment = Experiment.from_resolved(experiment.resolved_json())
    flows = []
    for index, flow in enumerate(experiment.flows):
        tcp = flow.tcp
        if tcp is None or not tcp.congestion_control.startswith((PREFIX, CLASS_PREFIX)):
            flows.append(flow)
            continue
        path, reference = f"flows[{index}].tcp", tcp.congestion_control
        where = f"{path}.congestion_control"
        if reference.startswith(PREFIX):
            allowed = (
                f"{CLASS_PREFIX}NAME beside {CLASS_PREFIX}NAME: files run apart from the program"
            )
            raise SpecError(where, reference, allowed)
        name = reference.removeprefix(CLASS_PREFIX)
        if name not in controllers:
            hint = nearest(name, list(controllers))
            raise SpecError(where, reference, GIVEN, hint and CLASS_PREFIX + hint)
        controller = controllers[name]
        known = parameters_of(controller)
        for parameter, value in tcp.parameters.items():
            check_parameter(f"{path}.parameters", parameter, value, known)
        named = tcp.with_(controller_sha256=sha256_of_class(controller))
        flows.append(flow.with_(tcp=named))
    return experiment.with_(flows=flows)
