"""From the Markdown to a folder of HTML that needs no server and no network."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any, Final

from markdown import Markdown
from pymdownx.snippets import SnippetExtension

from docs.site import api_pages

HERE: Final = Path(__file__).parent
DOCS: Final = HERE.parent
ROOT: Final = DOCS.parent
FETCHED: Final = "https://unpkg.com/iframe-worker/shim"
"""The script that the generator fetches for search without a server; the site has its own."""
WORKER: Final = HERE / "worker_in_frame.js"

API: Final = "api"
_NOT_PAGES: Final = ("site", "snippets")


def build(folder: Path) -> Path:
    """Build the site.

    Args:
        folder: where ``pages/`` (the Markdown, complete) and ``site/`` are made anew.

    Returns:
        The first page.

    Raises:
        CalledProcessError: the generator found something wrong, such as a link that leads nowhere, and has said what.
    """
    for name in ("pages", "site", ".cache"):
        shutil.rmtree(folder / name, ignore_errors=True)
    write_pages(folder / "pages")
    settings = config()
    (folder / "zensical.toml").write_text(settings, encoding="utf-8")
    command = [sys.executable, "-m", "zensical", "build", "--strict", "--config-file", str(folder / "zensical.toml")]
    subprocess.run(command, cwd=folder, env={**os.environ, "PYTHONPATH": str(ROOT)}, check=True)
    site = folder / "site"
    _bring_worker(site)
    _write_for_machines(tomllib.loads(settings)["project"], folder / "pages", site)
    return site / "index.html"


def config() -> str:
    """The generator's settings, with the decisions in the table of contents."""
    text = (HERE / "zensical.toml").read_text(encoding="utf-8")
    decisions = [f"decisions/{page.name}" for page in sorted((DOCS / "decisions").glob("*.md"))]
    text = text.replace('{ "Decisions" = [] }', f'{{ "Decisions" = {json.dumps(decisions)} }}')
    return text.replace('paths = [".."]', f"paths = [{json.dumps(str(ROOT))}]")


def write_pages(folder: Path) -> None:
    """Write every page as Markdown, snippets included, with the pictures."""
    for path in sorted(DOCS.rglob("*")):
        inside = path.relative_to(DOCS)
        if inside.parts[0] in _NOT_PAGES or path.suffix not in {".md", ".svg"}:
            continue
        (folder / inside).parent.mkdir(parents=True, exist_ok=True)
        if path.suffix == ".md":
            (folder / inside).write_text(complete(path), encoding="utf-8")
        else:
            shutil.copyfile(path, folder / inside)
    (folder / "changelog.md").write_text((ROOT / "CHANGELOG.md").read_text(encoding="utf-8").replace("](docs/", "]("))
    (folder / API).mkdir()
    for name, text in api_pages.pages().items():
        (folder / API / f"{name}.md").write_text(text, encoding="utf-8")


def complete(page: Path) -> str:
    """A page with its snippets in their places.

    Raises:
        SnippetMissingError: a page names a file, or a section of one, that is not there.
    """
    markdown = Markdown(
        extensions=[
            SnippetExtension(base_path=[str(DOCS / "snippets"), str(ROOT)], check_paths=True, dedent_subsections=True)
        ]
    )
    lines = page.read_text(encoding="utf-8").split("\n")
    return "\n".join(markdown.preprocessors["snippet"].run(lines))


def _bring_worker(site: Path) -> None:
    ours = site / "assets" / "javascripts" / WORKER.name
    shutil.copyfile(WORKER, ours)
    for page in site.rglob("*.html"):
        text = page.read_text(encoding="utf-8")
        local = Path(os.path.relpath(ours, page.parent))
        page.write_text(text.replace(FETCHED, local.as_posix()), encoding="utf-8")


def _write_for_machines(project: dict[str, Any], pages: Path, site: Path) -> None:
    """Write ``llms.txt`` (llmstxt.org), and each page as Markdown beside its HTML."""
    lines = [f"# {project['site_name']}", "", f"> {project['site_description']}."]
    for entry in project["nav"]:
        ((title, what),) = entry.items()
        lines += ["", f"## {title}", ""]
        for name, page in _leaves(title, what):
            if page.startswith(f"{API}/"):
                lines.append(f"- [{name}]({page.removesuffix('.md')}.html): classes, from their docstrings")
                continue
            text = (pages / page).read_text(encoding="utf-8")
            (site / page).parent.mkdir(parents=True, exist_ok=True)
            (site / page).write_text(text, encoding="utf-8")
            lines.append(f"- [{name or _heading(text)}]({page}){_about(text)}")
    (site / "llms.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")


def _leaves(title: str, what: Any) -> list[tuple[str, str]]:  # noqa: ANN401 - a nested table of TOML
    """The pages below an entry of the table of contents, with their titles."""
    match what:
        case str():
            return [(title, what)]
        case list():
            return [leaf for each in what for leaf in _leaves("", each)]
        case _:
            return [leaf for name, each in what.items() for leaf in _leaves(name, each)]


def _heading(text: str) -> str:
    return text.partition("\n")[0].removeprefix("# ")


def _about(text: str) -> str:
    """The first sentence of a page, without links and line breaks, where its first paragraph is prose."""
    paragraphs = [part.strip() for part in text.split("\n\n")][1:]
    first = next((part for part in paragraphs if not re.match(r"[#|!<\-\[{*]|```|\d+\. ", part)), "")
    plain = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", " ".join(first.split()))
    return f": {re.split(r'(?<=[.!?]) ', plain)[0]}" if plain else ""
