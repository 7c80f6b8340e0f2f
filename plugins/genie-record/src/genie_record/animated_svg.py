"""Screens as one animated SVG without a script, for pages that show pictures, such as a README.

Each row of a screen is drawn once, and screens that have it refer to it. The screens stand side by
side in a strip that moves by whole screens (CSS animations).
"""

from collections.abc import Iterator, Sequence
from html import escape
from typing import Final

from rich.cells import cell_len
from rich.color import Color
from rich.segment import Segment
from rich.style import Style
from rich.terminal_theme import DIMMED_MONOKAI
from textual.strip import Strip

CELL: Final = 8
LINE: Final = 17
"""Width and height of a cell in pixels: whole ones, so that no seams show between them."""

_FONT: Final = (
    "font: 13.33px ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace"
)


class AnimatedSvg:
    """Writes screens as they come; memory grows with the different rows, not with the screens."""

    def __init__(self, width: int, height: int) -> None:
        self._width, self._height = width * CELL, height * LINE
        self._rows: dict[tuple[Segment, ...], str] = {}
        self._classes: dict[str, str] = {}
        self._times: list[float] = []

    def begin(self, title: str) -> str:
        """Return the beginning of the picture."""
        return (
            '<svg xmlns="http://www.w3.org/2000/svg" '
            f'viewBox="0 0 {self._width} {self._height}" width="{self._width}" role="img">\n'
            f'<title>{escape(title)}</title>\n<g class="strip">\n'
        )

    def screen(self, at: float, strips: Sequence[Strip]) -> str:
        """Return a screen that is shown from a time in seconds on."""
        left = len(self._times) * self._width
        self._times.append(at)
        rows = "".join(self._row(y, left, strip) for y, strip in enumerate(strips))
        return f"<g>\n{rows}</g>\n"

    def end(self, duration: float) -> str:
        """Return the end of the picture, which starts again after so many seconds."""
        return f"</g>\n<style>\n{''.join(self._style(duration))}</style>\n</svg>\n"

    def _row(self, y: int, left: int, strip: Strip) -> str:
        """Return a row, drawn where it is new."""
        row = tuple(Segment.simplify(each for each in strip if not each.control))
        known = self._rows.get(row)
        name = self._rows.setdefault(row, f"r{len(self._rows)}")
        drawn = "" if known else f'<defs><g id="{name}">{"".join(self._runs(row))}</g></defs>\n'
        return f'{drawn}<use href="#{name}" x="{left}" y="{y * LINE}"/>\n'

    def _runs(self, row: Sequence[Segment]) -> Iterator[str]:
        x = 0
        for text, style, _control in row:
            width = cell_len(text)
            place = f'x="{x * CELL}"'
            drawn = style or Style()
            ground = _colour(drawn.color if drawn.reverse else drawn.bgcolor, foreground=False)
            size = f'width="{width * CELL}" height="{LINE}"'
            yield f'<rect {place} {size} class="{self._class(f"fill: {ground}")}"/>'
            if text.strip():
                length = f'textLength="{width * CELL}" lengthAdjust="spacingAndGlyphs"'
                kind = self._class(_looks(drawn))
                yield f'<text {place} y="{LINE - 4}" {length} class="{kind}">{escape(text)}</text>'
            x += width

    def _class(self, css: str) -> str:
        return self._classes.setdefault(css, f"c{len(self._classes)}")

    def _style(self, duration: float) -> Iterator[str]:
        yield f"text {{ {_FONT}; white-space: pre; }}\n"
        for css, name in self._classes.items():
            yield f".{name} {{ {css}; }}\n"
        for place, at in enumerate(self._times):
            start = f"{at / duration:.4%} {{" if place else "@keyframes play {\n0% {"
            yield f"{start} transform: translateX({-place * self._width}px); }}\n"
        yield "}\n"
        yield f".strip {{ animation: play {duration:.2f}s step-end infinite; }}\n"
        last = -(len(self._times) - 1) * self._width
        still = f"animation: none; transform: translateX({last}px);"
        yield f"@media (prefers-reduced-motion: reduce) {{ .strip {{ {still} }} }}\n"


def _looks(style: Style) -> str:
    """Return how a text is drawn, as CSS."""
    colour = _colour(style.bgcolor if style.reverse else style.color, foreground=not style.reverse)
    lines = [
        *(["underline"] if style.underline else []),
        *(["line-through"] if style.strike else []),
    ]
    parts = [
        f"fill: {colour}",
        *(["font-weight: bold"] if style.bold else []),
        *(["font-style: italic"] if style.italic else []),
        *([f"text-decoration: {' '.join(lines)}"] if lines else []),
        *(["opacity: 0.6"] if style.dim else []),
    ]
    return "; ".join(parts)


def _colour(colour: Color | None, *, foreground: bool) -> str:
    known = colour or Color.default()
    return known.get_truecolor(DIMMED_MONOKAI, foreground=foreground).hex
