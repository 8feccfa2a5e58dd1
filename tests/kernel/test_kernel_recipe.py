from __future__ import annotations

import re
from pathlib import Path

import pytest

from dumbbell.backends.kernel.build import _set_hz
from dumbbell.backends.kernel.recipe import (
    OLDER,
    Recipe,
    optional_options,
    options_not_taken,
    recipe_for,
)
from dumbbell.backends.kernel.selftest import CONTROLLERS, QDISCS
from dumbbell.errors import RunError


def test_options_that_did_not_take_are_named() -> None:
    wanted = {"CONFIG_A": "y", "CONFIG_B": None, "CONFIG_C": '"x"', "CONFIG_D": None}
    config = "CONFIG_A=y\nCONFIG_B=y\n# CONFIG_C is not set\n# CONFIG_D is not set\nCONFIG_E=y\n"
    assert options_not_taken(wanted, config) == [
        "CONFIG_B: wanted off, is y",
        'CONFIG_C: wanted "x", is off',
    ]


def test_every_line_of_the_fragment_is_read() -> None:
    recipe = recipe_for()
    lines = [
        line
        for line in recipe.fragment.read_text(encoding="utf-8").splitlines()
        if "CONFIG_" in line and not re.match(r"# [^C]", line)
    ]
    assert len(recipe.wanted()) == len(lines) > 100


def test_nothing_feeds_the_hosts_randomness_in() -> None:
    wanted = recipe_for().wanted()
    assert wanted["CONFIG_UML_RANDOM"] is None
    assert wanted["CONFIG_HW_RANDOM"] is None


def test_no_module_is_looked_for() -> None:
    """They may be built, and the kernel starts no program of the host to load one."""
    wanted = recipe_for().wanted()
    assert wanted["CONFIG_MODULES"] == "y"
    assert wanted["CONFIG_MODPROBE_PATH"] == '""'


def test_what_is_tried_is_what_is_built() -> None:
    wanted = recipe_for().wanted()
    built_in = {"pfifo", "bfifo", "pfifo_fast"}
    for name in QDISCS.keys() - built_in:
        assert wanted[f"CONFIG_NET_SCH_{name.upper()}"] == "y"
    other = {"highspeed": "HSTCP"}
    for name in CONTROLLERS - {"reno"}:
        assert wanted[f"CONFIG_TCP_CONG_{other.get(name, name.upper())}"] == "y"


def test_patches_come_in_order_and_under_the_kernels_licence() -> None:
    patches = recipe_for().patches
    assert [patch.name[:4] for patch in patches] == [f"{i:04}" for i in range(1, len(patches) + 1)]
    for patch in patches:
        assert "SPDX-License-Identifier: GPL-2.0" in patch.read_text(encoding="utf-8")


def test_the_digest_follows_every_byte(tmp_path: Path) -> None:
    def digest(fragment: str, patch: str) -> str:
        (tmp_path / "f").write_text(fragment, encoding="utf-8")
        (tmp_path / "p").write_text(patch, encoding="utf-8")
        return Recipe(tmp_path / "f", (tmp_path / "p",)).digest

    found = {digest("a", "b"), digest("a", "c"), digest("ab", ""), digest("", "ab")}
    assert len(found) == 4
    assert digest("a", "b") in found


def test_setting_the_frequency(tmp_path: Path) -> None:
    kconfig = tmp_path / "Kconfig"
    kconfig.write_text("x\nconfig HZ\n\tint\n\tdefault 100\n\nconfig NR\n\tint\n\tdefault 100\n")
    _set_hz(kconfig, 250)
    assert kconfig.read_text() == (
        "x\nconfig HZ\n\tint\n\tdefault 250\n\nconfig NR\n\tint\n\tdefault 100\n"
    )
    kconfig.write_text("config HZ\n\tint\n\tdefault 60 if X\n")
    with pytest.raises(RunError, match=r"Linux 6\.1"):
        _set_hz(kconfig, 250)


def test_an_older_version_has_the_patches_and_options_that_it_calls_otherwise() -> None:
    usual, older = recipe_for(), recipe_for(OLDER)
    names = {file.name for file in usual.patches}
    assert {file.name for file in older.patches} - names == {
        "0011-the-clock-starts-where-it-is-told.patch"
    }
    own = {file.name[:4] for file in older.patches if file.parent.name == OLDER}
    assert own == {"0001", "0009", "0010", "0011", "0012"}
    assert recipe_for("5.10") == recipe_for("6.0") == older
    assert older.wanted()["CONFIG_RANDOM_TRUST_CPU"] is None
    assert usual.wanted()["CONFIG_RANDOM_TRUST_CPU"] == "y"


def test_options_that_only_some_sources_have_are_taken_from_those() -> None:
    kconfig = "config NET_SCH_PIE\n\ttristate\n\nconfig NET_SCH_DUALPI2\n\ttristate\n"
    assert optional_options([kconfig]) == ["CONFIG_NET_SCH_DUALPI2"]
    assert optional_options(["config NET_SCH_DUALPI2_MORE\n", ""]) == []
    usual = recipe_for()
    assert usual.taking([]).digest == usual.digest
    taken = usual.taking(optional_options([kconfig]))
    assert taken.digest != usual.digest
    assert taken.wanted()["CONFIG_NET_SCH_DUALPI2"] == "y"
    assert "CONFIG_NET_SCH_DUALPI2" not in usual.wanted()
