"""The pages hold together: links lead somewhere, every page is listed, lines fit."""

import re
from pathlib import Path

import pytest
from tests.docs.pages import DOCS, ROOT, one_line

TOP = [ROOT / f"{name}.md" for name in ("README", "ARCHITECTURE", "CONTRIBUTING", "CHANGELOG")]
PLUGINS = sorted(ROOT.glob("plugins/*/README.md"))
PAGES = [*TOP, *PLUGINS, *sorted(DOCS.rglob("*.md"))]
SIZES = {"README.md": 7_000, "ARCHITECTURE.md": 12_000}
"""The most bytes of a page."""


def _without_code(page: str) -> str:
    return re.sub(r"^```.*?^```", "", page, flags=re.DOTALL | re.MULTILINE)


def _anchors(page: Path) -> set[str]:
    titles = re.findall(r"^#+ (.+)$", _without_code(page.read_text()), re.MULTILINE)
    return {re.sub(r"[^\w\s-]", "", title.lower()).strip().replace(" ", "-") for title in titles}


def _name(page: Path) -> str:
    return str(page.relative_to(ROOT))


@pytest.mark.parametrize("page", PAGES, ids=_name)
def test_links_lead_somewhere(page: Path) -> None:
    broken = []
    for link in re.findall(r"\]\(([^)\s]+)\)", one_line(_without_code(page.read_text()))):
        path, _, anchor = link.partition("#")
        if re.match(r"https?:", path):
            continue
        target = (page.parent / path).resolve() if path else page
        if not target.exists() or (anchor and anchor not in _anchors(target)):
            broken.append(link)
    assert broken == []


@pytest.mark.parametrize("page", PAGES, ids=_name)
def test_lines_have_100_columns(page: Path) -> None:
    lines = page.read_text().splitlines()
    assert [number for number, line in enumerate(lines, 1) if len(line) > 100] == []


@pytest.mark.parametrize("name", SIZES)
def test_page_is_short(name: str) -> None:
    assert len((ROOT / name).read_bytes()) <= SIZES[name]


def test_decisions_have_25_lines() -> None:
    pages = [each for each in (DOCS / "decisions").glob("*.md") if each.name != "index.md"]
    assert pages
    assert [each.name for each in pages if len(each.read_text().splitlines()) > 25] == []


def test_named_modules_exist() -> None:
    sources = [ROOT / "src", *ROOT.glob("plugins/*/src")]
    packages = [each for source in sources for each in source.iterdir() if each.is_dir()]
    inner = [ROOT / f"src/genie_core/{name}" for name in ("assistant", "agent/provider")]
    roots = [ROOT, ROOT / "tests", *sources, *packages, *inner]
    code = re.compile(r"`([\w-]+/[\w/-]*\.py)`")
    missing = [
        f"{_name(page)}: {path}"
        for page in PAGES
        for path in code.findall(_without_code(page.read_text()))
        if not any((root / path).exists() for root in roots)
    ]
    assert missing == []
