"""A comparison as JSON: every number of every run, and the table's statements."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from dumbbell.compare import (
    Arm,
    BackendAgreement,
    Comparison,
    Difference,
    FailedCell,
    Measured,
    Quantity,
    sentences,
)
from dumbbell.compare.axes import Grid


def comparison_json(found: Comparison) -> dict[str, Any]:
    """The whole comparison; units are part of the names or next to the values."""
    return {
        "cells": [
            {
                "cell": cell.label,
                "file": cell.source,
                "settings": {each.path: each.value for each in cell.settings},
                **_coordinates(found.grid, cell.place),
                "notices": [each.as_json() for each in cell.experiment.notices()],
            }
            for cell in found.cells
        ],
        **_sweep(found),
        "ensemble": None if found.ensemble is None else found.ensemble.words,
        "interrupted": found.interrupted,
        "runs": [_arm(found, arm) for arm in found.arms],
        "rows": [_row(found, quantity) for quantity in found.quantities],
        "differences": [_difference(each) for each in found.differences],
        "agreements": [_agreement(each) for each in found.agreements],
        "sentences": sentences(found),
        "failed": [_failed(each, found.grid) for each in found.failed],
    }


def _sweep(found: Comparison) -> dict[str, Any]:
    """A sweep's parameters, and the cells that missed the requested precision."""
    if found.grid is None:
        return {}
    return {
        "parameters": [
            {
                "path": axis.path,
                "name": axis.name,
                "unit": axis.unit,
                "values": list(axis.values),
                "coordinates": list(axis.coordinates),
            }
            for axis in found.grid.axes
        ],
        "compared_along": found.grid.axes[found.grid.along].path if found.grid.axes else None,
        "not_precise": [{"cell": each.cell, "backend": each.backend} for each in found.imprecise],
    }


def _coordinates(grid: Grid | None, place: tuple[int, ...]) -> dict[str, Any]:
    return {} if grid is None else {"coordinates": grid.coordinates(place)}


def _arm(found: Comparison, arm: Arm) -> dict[str, Any]:
    replicates = found.results[arm]
    quantities = replicates.summaries[0].quantities
    return {
        "cell": arm.cell,
        "backend": arm.backend,
        "replications": replicates.n,
        "stopped_because": replicates.stopped_because,
        "precise": replicates.precise,
        "values": {each.path: replicates.values(each).tolist() for each in quantities},
    }


def _row(found: Comparison, quantity: Quantity) -> dict[str, Any]:
    return {
        "quantity": quantity.path,
        "words": quantity.words,
        "unit": quantity.unit,
        "numbers": [
            {
                "cell": arm.cell,
                "backend": arm.backend,
                **_measured(found.measured(quantity, arm.cell, arm.backend)),
            }
            for arm in found.arms
        ],
    }


def _measured(number: Measured) -> dict[str, Any]:
    return {
        "value": number.value,
        "low": number.low,
        "high": number.high,
        "basis": number.basis.value,
        "n": number.n,
        "groups": None if number.groups is None else asdict(number.groups),
    }


def _difference(each: Difference) -> dict[str, Any]:
    return {
        "quantity": each.quantity.path,
        "cell": each.cell,
        "base": each.base,
        "backend": each.backend,
        **_measured(each.measured),
        "margin": each.margin,
        "p_value": each.p_value,
        "p_equivalence": each.p_equivalence,
        "outcome": each.outcome.value,
    }


def _agreement(each: BackendAgreement) -> dict[str, Any]:
    return {
        "quantity": each.quantity.path,
        "cell": each.cell,
        "backend": each.backend,
        "other": each.other,
        **_measured(each.measured),
        "margin": each.margin,
        "outcome": each.outcome.value,
    }


def _failed(each: FailedCell, grid: Grid | None) -> dict[str, Any]:
    return {
        "cell": each.label,
        "file": each.source,
        "settings": {setting.path: setting.value for setting in each.settings},
        **_coordinates(grid, each.place),
        "backend": each.backend or None,
        "replication": each.replication,
        "error": str(each.error),
        "again": each.command,
    }
