"""What this process has used so far, as Linux counts it; None elsewhere."""

from pathlib import Path


def bytes_written() -> int | None:
    """Bytes passed to `write` and its relatives, whether or not they reached the disk."""
    return _number(Path("/proc/self/io"), "wchar:")


def peak_memory() -> int | None:
    """Bytes of memory resident at the worst moment.

    Not `ru_maxrss`: that begins with what the parent had when it forked.
    """
    kilobytes = _number(Path("/proc/self/status"), "VmHWM:")
    return None if kilobytes is None else kilobytes * 1024


def _number(file: Path, label: str) -> int | None:
    try:
        lines = file.read_text(encoding="ascii", errors="replace").splitlines()
    except OSError:
        return None
    return next((int(each.split()[1]) for each in lines if each.startswith(label)), None)
