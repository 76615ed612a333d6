"""The lock and what it locks agree, and say nothing about where they were made."""

from __future__ import annotations

import re
import tomllib
from itertools import chain
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

ROOT = Path(__file__).parents[2]
LINES = (ROOT / "requirements.lock").read_text().splitlines()
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
DIRECT = [
    requirement
    for text in chain(PROJECT["dependencies"], *PROJECT["optional-dependencies"].values())
    if (requirement := Requirement(text)).name != PROJECT["name"]
]


def locked() -> dict[str, Version]:
    """What the lock pins."""
    pins = (line.partition("==") for line in LINES)
    return {canonicalize_name(name): Version(version) for name, _, version in pins}


def test_a_line_of_the_lock_is_one_exact_version_and_no_address() -> None:
    assert LINES
    wrong = [line for line in LINES if not re.fullmatch(r"[a-z0-9][a-z0-9._-]*==[0-9][A-Za-z0-9.+!]*", line)]
    assert not wrong, "\n".join(wrong)


def test_the_lock_holds_what_the_project_asks_for() -> None:
    assert DIRECT
    pinned = locked()
    missing = [
        f"{requirement}: {version}"
        for requirement in DIRECT
        if (version := pinned.get(canonicalize_name(requirement.name))) is None or version not in requirement.specifier
    ]
    assert not missing, "\n".join(missing)


def test_pyspark_and_its_client_are_one_version_wherever_they_are_named() -> None:
    # They install into the same folder: two versions overwrite each other's modules.
    assert locked()["pyspark"] == locked()["pyspark-client"]
    asked = {str(requirement.specifier) for requirement in DIRECT if requirement.name in {"pyspark", "pyspark-client"}}
    assert asked == {f"=={locked()['pyspark']}"}


def test_the_lock_pins_the_installer_that_make_uses() -> None:
    assert "uv" in locked()
