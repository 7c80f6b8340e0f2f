"""A hook of mkdocs: pages and pictures beside `docs/` belong to the site, too.

Links are written for readers of the repository. On the site, those to the pages of the top folder
and to pictures lead into it, and those to other files of the repository become plain text.
"""

import re
from pathlib import Path, PurePosixPath
from typing import Any, Final

from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

ROOT: Final = Path(__file__).parents[1]
TOP: Final = ("ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md")
_LINK: Final = re.compile(r"(!?)\[([^\]]*)\]\((?!https?:)([^)#\s]+)(#[^)]*)?\)")


def on_files(files: Files, config: Any) -> Files:
    """Add the pages of the top folder and the pictures."""
    pictures = (each for end in ("svg", "png") for each in ROOT.glob(f"screenshots/*.{end}"))
    for name in (*TOP, *(f"screenshots/{each.name}" for each in pictures)):
        files.append(File.generated(config, name, abs_src_path=str(ROOT / name)))
    return files


def on_page_markdown(markdown: str, page: Page, files: Files, **_: Any) -> str:
    """Turn links out of `docs/` into links of the site, or into their text."""
    here = PurePosixPath(page.file.src_uri)
    inside = "." if page.file.src_uri in TOP else "docs"

    def placed(link: "re.Match[str]") -> str:
        mark, text, path, anchor = link.groups()
        target = _normal(PurePosixPath(inside) / here.parent / path)
        target = target.removeprefix("docs/").replace("README.md", "index.md")
        if files.get_file_from_path(target) is None:
            leaves = not (ROOT / "docs" / target).exists() and (ROOT / target).exists()
            return text if leaves else link[0]
        up = "../" * (len(here.parts) - 1)
        return f"{mark}[{text}]({up}{target}{anchor or ''})"

    return _LINK.sub(placed, markdown)


def _normal(path: PurePosixPath) -> str:
    parts: list[str] = []
    for part in path.parts:
        if part == ".." and parts:
            parts.pop()
        else:
            parts.append(part)
    return "/".join(parts)
