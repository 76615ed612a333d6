from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from tests.cli.conftest import Run
from tests.cli.explained import PIPELINES

FILE = Path(__file__).parent / "explained.py"


def drawn(command: Run, pipeline: str, tmp_path: Path) -> list[str]:
    out = tmp_path / "a" / "new" / "folder.svg"
    said = command("explain", pipeline, "--svg", out, "--json")
    assert (said.status, said.err) == (0, "")
    svg = "{http://www.w3.org/2000/svg}"
    return [element.text or "" for element in ET.fromstring(out.read_text(encoding="utf-8")).iter(f"{svg}text")]


@pytest.mark.parametrize("name", PIPELINES)
def test_the_panes_of_a_typical_stream_can_be_drawn(command: Run, tmp_path: Path, name: str) -> None:
    texts = drawn(command, f"{FILE}:{name}", tmp_path)
    assert any(text.startswith(f"{name}") and "typical stream" in text for text in texts)
    assert any(text.endswith("pane") for text in texts), "a pane of some timing is in the legend"


def test_the_picture_is_of_the_pipelines_own_windows_and_trigger(command: Run, tmp_path: Path) -> None:
    texts = drawn(command, f"{FILE}:departures", tmp_path)
    assert "watermark, 97 %" in texts
    # 5 is published by the early percentile; the 9 comes late, and before the ordinary watermark.
    assert {"5", "14", "22", "12", "12:30", "16:00"} <= {*texts}


def test_code_that_does_not_take_made_up_rows_cannot_be_drawn(command: Run, module: Callable[[str], Path]) -> None:
    file = module(
        "def ended(row): return row['kind'].upper() == 'END'\n"
        "p = (Pipeline('p', Files('x/', event_time='at'))\n"
        "    .group_by_key_and_window(key='user', window=FixedWindows('1h'), trigger=Repeat(AtPunctuation(ended)))\n"
        "    .combine(n=Count()))"
    )
    said = command("explain", f"{file}:p", "--svg", file.with_suffix(".svg"))
    assert (said.status, said.code, said.out) == (2, "SUBMIT_PICTURE", "")


def test_a_picture_that_cannot_be_written_is_refused(command: Run, tmp_path: Path) -> None:
    said = command("explain", f"{FILE}:departures", "--svg", tmp_path)
    assert (said.status, said.code) == (2, "SUBMIT_OUTPUT")
