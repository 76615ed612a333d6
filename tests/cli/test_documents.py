"""What the documents list is what there is: codes, exit statuses, options, names."""

from __future__ import annotations

import argparse
import ast
import re
from collections import defaultdict
from pathlib import Path
from typing import Any

import airflow_dataflow_provider as package
from airflow_dataflow_provider import Combiner, Trigger, WindowStrategy
from airflow_dataflow_provider.cli import explain, forget, plot, run, show, signal, status, stop
from airflow_dataflow_provider.cli.explanation import explain as explained
from airflow_dataflow_provider.model import errors
from airflow_dataflow_provider.model.errors import DataflowError
from airflow_dataflow_provider.model.par_do import ParDo
from airflow_dataflow_provider.model.risk import Risk
from airflow_dataflow_provider.progress.status.status import read_status
from airflow_dataflow_provider.progress.store.store import Store
from tests.cli.explained import departures
from tests.progress.samples import make_identity

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "airflow_dataflow_provider"
DOCS = ROOT / "docs"

COMPOSED = {
    'f"DEFINITION_{name.upper()}"': tuple(
        f"DEFINITION_{part}" for part in ("WINDOW", "TRIGGER", "REFINEMENT", "OUTPUT_TIME")
    ),
    "DAMAGED": ("STATE_DAMAGED",),
    'f"DEFINITION_{risk.name}"': tuple(f"DEFINITION_{risk.name}" for risk in Risk),
}
"""Codes that are not written out where they are raised, by the expression that stands there."""


def raised() -> dict[str, set[int]]:
    """Each code that the package's errors are made with, and the exit statuses of these."""
    found: dict[str, set[int]] = defaultdict(set)
    for path in PACKAGE.rglob("*.py"):
        source = path.read_text(encoding="utf-8")
        for node in ast.walk(ast.parse(source)):
            match node:
                case ast.Call(func=ast.Name(id=name), keywords=keywords) if isinstance(
                    kind := getattr(errors, name, None), type
                ) and issubclass(kind, DataflowError):
                    (code,) = [keyword.value for keyword in keywords if keyword.arg == "code"]
                    for text in codes_of(code, source):
                        found[text].add(kind.exit_code)
    return found


def codes_of(code: ast.expr, source: str) -> tuple[str, ...]:
    match code:
        case ast.Constant(value=str(text)):
            return (text,)
        case ast.Call():
            return ()  # another error's own code, carried on
        case _:
            return COMPOSED[ast.get_source_segment(source, code) or ""]


def documented() -> dict[str, int]:
    """Each code of ``docs/errors.md`` with its exit status."""
    rows = re.findall(r"^\| `([A-Z_]+)` \| (\d) \| .+ \| .+ \|$", (DOCS / "errors.md").read_text(), re.MULTILINE)
    assert len({code for code, _ in rows}) == len(rows), "a code is listed twice"
    return {code: int(status) for code, status in rows}


def test_every_code_is_documented_and_no_other() -> None:
    assert sorted(documented()) == sorted(raised())


def test_every_code_ends_the_command_line_with_the_status_that_is_documented() -> None:
    assert {code: {status} for code, status in documented().items()} == raised()


def test_every_line_of_the_tables_of_codes_was_read() -> None:
    text = (DOCS / "errors.md").read_text()
    assert len(re.findall(r"^\| `", text, re.MULTILINE)) == len(documented())


def test_every_exit_status_is_documented() -> None:
    text = (DOCS / "reference" / "command-line.md").read_text().partition("## Exit status")[2]
    told = {int(status) for status in re.findall(r"^\| (\d) \|", text, re.MULTILINE)}
    kinds = (kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, DataflowError))
    assert told == {0, *(kind.exit_code for kind in kinds)}


def options_of(command: Any) -> set[str]:
    """What the command takes, as its help writes it."""
    parser = argparse.ArgumentParser()
    commands = parser.add_subparsers()
    command.add_to(commands)
    (made,) = commands.choices.values()
    options = {option for action in made._actions for option in action.option_strings} - {"-h", "--help"}
    return options | {str(action.metavar) for action in made._actions if not action.option_strings}


def test_every_option_is_documented_and_no_other() -> None:
    text = (DOCS / "reference" / "command-line.md").read_text()
    wrong = {}
    for command in (run, status, show, explain, plot, signal, forget, stop):
        name = command.__name__.rpartition(".")[2]
        section = text.partition(f"\n## {name}\n")[2].partition("\n## ")[0]
        cells = re.findall(r"^\| (`.+?) \|", section, re.MULTILINE)
        told = {option for cell in cells for option in re.findall(r"`(--[a-z-]+|[A-Z]+(?::[A-Z]+)?)", cell)}
        wrong[name] = sorted(told ^ options_of(command))
    assert {name: options for name, options in wrong.items() if options} == {}


def test_every_field_of_a_status_and_every_table_of_an_explanation_is_documented(tmp_path: Path) -> None:
    text = (DOCS / "reference" / "command-line.md").read_text()
    make_identity(Store.open(tmp_path))
    fields = {*read_status(str(tmp_path)).to_json()}
    told = text.partition("\n## status\n")[2].partition("\n## ")[0]
    assert [name for name in fields if f"`{name}`" not in told] == []
    told = text.partition("\n## explain\n")[2].partition("\n## ")[0]
    assert [name for name in explained(departures) if f"`{name}`" not in told] == []


def test_every_public_class_is_on_its_page() -> None:
    missing = []
    for page, kind in {"triggers": Trigger, "windows": WindowStrategy, "combiners": Combiner, "par_do": ParDo}.items():
        rows = re.findall(r"^\| (.+?) \|", (DOCS / "reference" / f"{page}.md").read_text(), re.MULTILINE)
        named = {name for row in rows for name in re.findall(r"[A-Z]\w+", row)}
        classes = {name for name, value in vars(package).items() if isinstance(value, type) and issubclass(value, kind)}
        missing += [f"{page}: {name}" for name in sorted(classes - {kind.__name__} - named)]
    assert missing == []


def test_the_modules_and_folders_that_the_pages_name_are_there() -> None:
    pages = [DOCS / "architecture.md", *sorted((DOCS / "decisions").glob("*.md"))]
    paths = {
        path
        for page in pages
        for path in re.findall(
            r"`((?:model|spark|progress|tables|testing|reference|cli|tests)/[\w/.]+)`", page.read_text()
        )
    }
    assert len(paths) > 30
    assert sorted(path for path in paths if not any((root / path).exists() for root in (PACKAGE, ROOT))) == []


def test_every_decision_is_listed() -> None:
    text = (DOCS / "architecture.md").read_text()
    assert [page.name for page in (DOCS / "decisions").glob("*.md") if f"(decisions/{page.name})" not in text] == []


def test_links_between_the_documents_lead_somewhere() -> None:
    links = [
        (page, link)
        for page in DOCS.rglob("*.md")
        for link in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text())
    ]
    assert links
    assert [link for page, link in links if not (page.parent / link).is_file()] == []


def test_the_glossary_names_what_there_is() -> None:
    names = {
        node.name if isinstance(node, ast.ClassDef | ast.FunctionDef) else target.id
        for path in PACKAGE.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        for target in _targets(node)
    }
    rows = re.findall(r"^\| [^|]+ \| [^|]+ \| ([^|]+) \|", (DOCS / "glossary.md").read_text(), re.MULTILINE)
    terms = [term for row in rows for term in re.findall(r"`([A-Za-z_.]+?)(?:\(.*?\))?`", row)]
    assert len(terms) > 40
    commands, folders = {"plot"}, {"W_100"}
    unknown = {part for term in terms for part in term.split(".")} - names - commands - folders
    modules = {path.stem for path in PACKAGE.rglob("*.py")} | {path.name for path in PACKAGE.rglob("*/")}
    assert unknown - modules == set()


def _targets(node: ast.AST) -> list[Any]:
    """The names that a statement brings into the world."""
    match node:
        case ast.ClassDef() | ast.FunctionDef():
            return [node]
        case ast.Assign(targets=targets):
            return [target for target in targets if isinstance(target, ast.Name)]
        case ast.AnnAssign(target=ast.Name() as target):
            return [target]
        case _:
            return []
