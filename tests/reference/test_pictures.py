"""The pictures of the documents are what the reference publishes today."""

from __future__ import annotations

import re
from xml.etree import ElementTree as ET

import pytest

from tests.reference.pictured import FOLDER, PICTURES

DOCS = FOLDER.parent


@pytest.mark.parametrize("name", PICTURES)
def test_a_picture_is_that_of_a_run(name: str) -> None:
    drawn = PICTURES[name]()
    ET.fromstring(drawn)
    assert (FOLDER / f"{name}.svg").read_text(encoding="utf-8") == drawn, "python -m tests.reference.pictured"


def test_every_picture_is_shown_in_the_documents_and_there_is_no_other() -> None:
    pages = "\n".join(page.read_text(encoding="utf-8") for page in DOCS.rglob("*.md"))
    shown = set(re.findall(r"pictures/([a-z0-9-]+)\.svg", pages))
    assert shown == PICTURES.keys() == {path.stem for path in FOLDER.glob("*.svg")}
