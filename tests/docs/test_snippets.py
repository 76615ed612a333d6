"""What the pages show is a file that a test runs; most of them here, without Spark and Airflow."""

from __future__ import annotations

import argparse
import re
import sys
import tomllib
from typing import Any

import pytest

import airflow_dataflow_provider
from airflow_dataflow_provider.__main__ import main
from airflow_dataflow_provider.testing.stream import TestStream
from docs.site.build import DOCS, ROOT
from tests.docs.scripts import DAG_FILES, ON_SPARK, OURS, SNIPPETS, TOLD_TO_AIRFLOW, lines_of, load, run_file, shown

ON_THE_REFERENCE = {
    "explanation/ten_points.py",
    "testing/test_departures.py",
    "testing/test_expired.py",
    "tutorial/test_orders.py",
}
NOT_BY_ITSELF = {
    "DataflowMicroBatchOperator(task_id": "of the README: it needs Airflow; tests/airflow runs it",
    "SideOutputs(STATE).expired()": "of the README: it reads a state; how-to/read_results.py is the same",
    "TestStream(pipeline)\n": "of the README: on a pipeline of the reader's; testing/test_departures.py is the same",
    "play(THE_SCRIPT)": "of the simulation: on a script that failed; tests/simulate plays many",
}
"""Lines of the blocks of Python that stand in a page and need something from around them, and why they may."""
NOT_RUN = {
    "how-to/install_to_work.sh": "it would install the package once more",
    "how-to/install_from_clone.sh": "the same",
    "how-to/check_install.sh": "explain is run by its own tests",
    "how-to/signal.sh": "no trigger of the pipeline listens; signals are raised by tests of their own",
    "how-to/stream.sh": "a stream does not end by itself; modes are run by the tests of the engine",
    "testing/two_runs.py": "runs at times of a test's are what tests/spark is made of",
    "how-to/on_the_cluster.sh": "it needs a cluster; tests/cluster has one",
}
"""What is checked, but not run, and why."""


def test_every_snippet_is_shown_by_a_page_and_run_by_a_test() -> None:
    files = {str(path.relative_to(SNIPPETS)) for path in SNIPPETS.rglob("*") if path.is_file()}
    files = {name for name in files if "__pycache__" not in name}
    assert {*shown()} - files == set(), "a page shows a file that is not there"
    run = ON_THE_REFERENCE | ON_SPARK | DAG_FILES | TOLD_TO_AIRFLOW | {*NOT_RUN}
    assert run - files == set()
    assert files - run == set(), "no test runs it"
    assert files - {*shown()} == {"tutorial/wednesday.csv"}, "no page shows it"


def test_python_that_stands_in_a_page_runs_as_it_stands() -> None:
    names = {name: getattr(airflow_dataflow_provider, name) for name in airflow_dataflow_provider.__all__}
    failed, ran = [], 0
    for page in [ROOT / "README.md", *DOCS.rglob("*.md")]:
        for block in re.findall(r"^```python\n(.*?)^```$", page.read_text(), re.MULTILINE | re.DOTALL):
            if block.startswith("--8<--") or any(line in block for line in NOT_BY_ITSELF):
                continue
            try:
                exec(
                    compile(block, page.name, "exec", dont_inherit=True),
                    {**names, "__name__": "example", "__file__": str(page)},
                )
            except Exception as error:  # noqa: BLE001 - each is told of
                failed.append((page.name, block, error))
            ran += 1
    assert failed == []
    assert ran > 8


def test_the_ten_points_come_early_on_time_and_late(monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    monkeypatch.chdir(SNIPPETS / "explanation")
    run_file("explanation/ten_points.py")
    printed = capsys.readouterr().out.splitlines()
    assert [line.rpartition(" ")[2] for line in printed] == ["EARLY", "EARLY", "ON_TIME", "LATE"]


def test_the_test_of_the_tutorial_passes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(SNIPPETS / "tutorial"))
    load("tutorial/test_orders.py").test_an_hour_is_published_when_it_is_complete_and_again_when_an_order_is_late()
    sys.modules.pop("orders")


def test_the_tests_of_the_page_about_tests_pass(monkeypatch: pytest.MonkeyPatch, dataflow_stream: Any) -> None:
    monkeypatch.syspath_prepend(str(SNIPPETS / "testing"))
    load("testing/test_departures.py").test_an_hour_is_published_on_time_and_corrected_once(dataflow_stream)
    load("testing/test_expired.py").test_what_comes_after_a_day_is_set_aside(dataflow_stream)
    sys.modules.pop("departures")


class _ParsedError(Exception):
    """A command line was parsed; nothing more is to happen."""


def test_commands_of_a_page_have_the_options_that_there_are(monkeypatch: pytest.MonkeyPatch) -> None:
    parse = argparse.ArgumentParser.parse_args

    def parsed(parser: argparse.ArgumentParser, *given: Any) -> None:
        raise _ParsedError(parse(parser, *given))

    monkeypatch.setattr(argparse.ArgumentParser, "parse_args", parsed)
    commands = [words for name in shown() if name.endswith(".sh") for words in lines_of(name) if words[0] == OURS]
    assert len(commands) > 20
    for words in commands:
        if "--help" not in words:
            with pytest.raises(_ParsedError):
                main(words[1:])


def test_the_installation_asks_for_extras_and_words_that_there_are() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    (command,) = [words for words in lines_of("how-to/install_from_clone.sh") if words[0].endswith("pip")]
    asked = command[-1].partition("[")[2].rstrip("]").split(",")
    assert {*asked} <= {*project["optional-dependencies"]}
    (make,) = [words[1] for words in lines_of("how-to/install_to_work.sh") if words[0] == "make"]
    assert re.search(rf"^{make}:", (ROOT / "Makefile").read_text(), re.MULTILINE)


def test_a_stream_without_spark_takes_the_snippets_pipeline() -> None:
    module = load("tutorial/orders.py")
    assert TestStream(module.orders).end_of_input().run() == []
