"""The built site: every page is in it, every link leads somewhere, and nothing is fetched from elsewhere."""

from __future__ import annotations

import inspect
import json
import re
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

import airflow_dataflow_provider as package
from docs.site.build import DOCS, ROOT, build

FETCHED = {"script": "src", "link": "href", "img": "src", "iframe": "src"}
"""What a browser fetches by itself, and where the address stands."""


class Page(HTMLParser):
    """The addresses and the anchors of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: list[str] = []
        self.fetched: list[str] = []
        self.anchors: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value for name, value in attrs if value}
        self.anchors |= {given[name] for name in ("id", "name") if name in given}
        if tag == "a" and "href" in given:
            self.links.append(given["href"])
        if FETCHED.get(tag) in given and given.get("rel") not in {"prev", "next"}:
            self.fetched.append(given[FETCHED[tag]])


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The whole site: about five seconds. The generator refuses links of Markdown that lead nowhere by itself."""
    return build(tmp_path_factory.mktemp("docs")).parent


@pytest.fixture(scope="module")
def pages(site: Path) -> dict[Path, Page]:
    return {path: Page(path.read_text(encoding="utf-8")) for path in site.rglob("*.html")}


def test_every_page_of_markdown_is_in_the_table_of_contents(site: Path) -> None:
    listed = {*re.findall(r"\]\((.+?)\)", (site / "llms.txt").read_text(encoding="utf-8"))}
    written = {str(path.relative_to(DOCS)) for path in DOCS.rglob("*.md")}
    assert written - listed == set()
    assert {path for path in listed if not (site / path).is_file()} == set()


def test_every_link_leads_to_a_page_and_an_anchor_that_are_there(site: Path, pages: dict[Path, Page]) -> None:
    broken = []
    for path, page in pages.items():
        for link in page.links:
            parts = urlsplit(link)
            if parts.scheme or path.name == "404.html":
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            target = target / "index.html" if target.is_dir() else target
            anchored = not parts.fragment or target not in pages or unquote(parts.fragment) in pages[target].anchors
            if not target.is_file() or not anchored:
                broken.append(f"{path.relative_to(site)}: {link}")
    assert broken == []


def test_nothing_is_fetched_from_elsewhere(pages: dict[Path, Page]) -> None:
    addresses = {address for page in pages.values() for address in page.fetched}
    assert len(addresses) > 5
    assert {address for address in addresses if urlsplit(address).netloc} == set()


def test_every_public_name_has_its_docstring_on_a_page(site: Path) -> None:
    text = "".join(path.read_text(encoding="utf-8") for path in (site / "api").glob("*.html"))
    anchors = {anchor.rpartition(".")[2] for anchor in re.findall(r'id="(airflow_dataflow_provider\.[\w.]+)"', text)}
    of_types = {name for name in package.__all__ if not _has_docstring(name)}
    assert {*package.__all__} - of_types - anchors == set()


def _has_docstring(name: str) -> bool:
    """Whether it is a class, a function or a constant of the package, not an alias of other types."""
    value = getattr(package, name)
    kind = value if inspect.isclass(value) or inspect.isfunction(value) else type(value)
    return str(kind.__module__).startswith(package.__name__)


def test_search_knows_the_text_of_the_pages(site: Path) -> None:
    items = json.loads((site / "search.json").read_text(encoding="utf-8"))["items"]
    assert {"tutorial.html", "errors.html", "how-to/gate-a-task.html"} <= {
        item["location"].partition("#")[0] for item in items
    }
    assert any("SUBMIT_NO_INTERVAL" in item["text"] for item in items)
    # Without a server a browser lets no page read search.json: the index is a script, and search runs in a frame.
    assert (site / "search.js").is_file()
    assert "worker_in_frame.js" in (site / "index.html").read_text(encoding="utf-8")


def test_pages_are_dark_where_the_system_is(site: Path) -> None:
    text = (site / "index.html").read_text(encoding="utf-8")
    assert "(prefers-color-scheme: dark)" in text
    assert 'data-md-color-scheme="slate"' in text


def test_pages_for_machines_have_their_snippets_in_them(site: Path) -> None:
    text = (site / "tutorial.md").read_text(encoding="utf-8")
    assert (DOCS / "snippets" / "tutorial" / "orders.py").read_text(encoding="utf-8") in text
    assert [path for path in site.rglob("*.md") if re.search(r"^--8<--", path.read_text(), re.MULTILINE)] == []


def test_the_files_beside_the_readme_link_to_files_that_are_there() -> None:
    outside = [*ROOT.glob("*.md"), *(ROOT / ".github").rglob("*.md")]
    links = [(page, link) for page in outside for link in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text())]
    assert links
    assert [link for page, link in links if not (page.parent / link).exists()] == []
