"""`genie-tui keys`: print the keys of every action."""

from pathlib import Path
from typing import TextIO

from genie_core.settings.model import Preset
from genie_tui.commands.key_file import key_lines, read_keymap


def print_keys(preset: Preset, file: Path, out: TextIO) -> int:
    """Print the present keys as a file of keys; returns the exit code."""
    keymap = read_keymap(preset, file)
    out.writelines(f"{line}\n" for line in key_lines(preset, keymap, file))
    return 0
