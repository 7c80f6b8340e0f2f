"""Lines for a terminal without a screen on it: what is said before the app starts."""


def safe_line(text: str) -> str:
    """A text as one line that a terminal shows and does not obey, whatever it quotes."""
    line = " ".join(text.split())
    if line.isprintable():
        return line
    from genie_tui.text import visible_line  # loads the screen's libraries, for few lines

    return visible_line(line)
