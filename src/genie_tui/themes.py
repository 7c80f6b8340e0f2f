"""The two themes of the house. Every colour of the app comes from a theme's variables."""

import difflib
from collections.abc import Mapping
from typing import Final

from textual.color import Color, ColorParseError
from textual.theme import BUILTIN_THEMES, Theme

DARK: Final = Theme(
    name="genie-dark",
    primary="#82aaff",
    secondary="#b69cf0",
    accent="#6fd0c4",
    success="#84c99a",
    warning="#eab75a",
    error="#ec7a84",
    foreground="#d5dae4",
    background="#12151b",
    surface="#181c24",
    panel="#20252f",
    dark=True,
    variables={
        "border": "#82aaff",
        "border-blurred": "#2b313d",
        "footer-background": "#12151b",
        "footer-key-foreground": "#82aaff",
        "footer-description-foreground": "#8c94a5",
        "scrollbar": "#2b313d",
        "scrollbar-hover": "#3a4252",
        "scrollbar-active": "#82aaff",
        "scrollbar-background": "#12151b",
        "scrollbar-background-hover": "#12151b",
        "scrollbar-background-active": "#12151b",
        "scrollbar-corner-color": "#12151b",
        "block-cursor-foreground": "#d5dae4",
        "block-cursor-background": "#2a3650",
        "block-cursor-text-style": "none",
        "block-cursor-blurred-foreground": "#d5dae4",
        "block-cursor-blurred-background": "#1d2430",
    },
)

LIGHT: Final = Theme(
    name="genie-light",
    primary="#2f5fb8",
    secondary="#7049a6",
    accent="#0b6f68",
    success="#2c7a47",
    warning="#95600a",
    error="#b02e3d",
    foreground="#2b2f38",
    background="#fbfaf7",
    surface="#f4f2ed",
    panel="#e9e6de",
    dark=False,
    variables={
        "border": "#2f5fb8",
        "border-blurred": "#dad6cc",
        "footer-background": "#fbfaf7",
        "footer-key-foreground": "#2f5fb8",
        "footer-description-foreground": "#6d717b",
        "scrollbar": "#dad6cc",
        "scrollbar-hover": "#c6c1b5",
        "scrollbar-active": "#2f5fb8",
        "scrollbar-background": "#fbfaf7",
        "scrollbar-background-hover": "#fbfaf7",
        "scrollbar-background-active": "#fbfaf7",
        "scrollbar-corner-color": "#fbfaf7",
        "block-cursor-foreground": "#2b2f38",
        "block-cursor-background": "#c3d4f4",
        "block-cursor-text-style": "none",
        "block-cursor-blurred-foreground": "#2b2f38",
        "block-cursor-blurred-background": "#ebe9e3",
    },
)


DARK_AUTHORS: Final = (
    *("#5aa9ff", "#19c9a0", "#e4f08a", "#f7a6dc"),
    *("#8f7bff", "#ff6f61", "#f5f7fb", "#a9806a"),
)
LIGHT_AUTHORS: Final = (
    *("#2468d8", "#00807a", "#3c4600", "#8e0052"),
    *("#5a2fd0", "#c93f1c", "#10131a", "#86614e"),
)
"""The colours of names. Also with red or green blindness any two of them differ visibly."""


def author_colours(*, dark: bool) -> dict[str, str]:
    """The variables for the colours of names."""
    colours = DARK_AUTHORS if dark else LIGHT_AUTHORS
    return {f"author-{number}": colour for number, colour in enumerate(colours)}


def theme_names() -> list[str]:
    """Return the names of all themes, our own first."""
    return [DARK.name, LIGHT.name, *sorted(BUILTIN_THEMES)]


def selection_colours(variables: Mapping[str, str]) -> dict[str, str]:
    """The variables for text that is selected, such that it can be read in any theme.

    The defaults of Textual keep the colour of the text, or take that of the ground for it. Themes
    in the terminal's own colours name their needs.
    """
    try:
        ground = Color.parse(variables["primary"])
    except ColorParseError:
        return {}
    if ground.ansi is not None:
        return {}
    black, white = Color(0, 0, 0), Color(255, 255, 255)
    text = max(black, white, key=lambda each: contrast(each, ground))
    return {
        f"{of}-selection-{part}": colour.hex
        for of in ("screen", "input")
        for part, colour in (("background", ground), ("foreground", text))
    }


def contrast(one: Color, other: Color) -> float:
    """Return the contrast ratio of two opaque colours, 1 to 21, as WCAG 2 defines it."""
    darker, lighter = sorted((_luminance(one), _luminance(other)))
    return (lighter + 0.05) / (darker + 0.05)


def _luminance(colour: Color) -> float:
    red, green, blue = (
        part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4
        for part in colour.normalized
    )
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def theme_problem(wanted: str) -> str | None:
    """Return the mistake in a theme's name, or None."""
    known = theme_names()
    if wanted in known:
        return None
    near = difflib.get_close_matches(wanted, known, n=1)
    hint = f"did you mean {near[0]}?" if near else f"there are {', '.join(sorted(known))}"
    return f"there is no theme {wanted!r}; {hint}"
