"""Try the program on every Python that it names, as far as this machine has them.

The wheels of genie-core, genie-tui and the plugins are built once. For each interpreter a fresh
environment gets them with their dependencies, and a smoke test asks the offline helper a question in a real
terminal; all of them at the same time. With `--tests`, engine and contract tests follow on the last
one, unless it is the first, on which everything has run. Drills run on the first one only.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Final

VERSIONS: Final = ("3.11", "3.12", "3.13", "3.14")

ROOT: Final = Path(__file__).parents[1]
PINS: Final = ROOT / "constraints.txt"

ENGINE: Final = ("agent", "privacy", "reasoner", "runtime", "storage")
"""What belongs to the engine in tests/genie_core, beside the modules there."""

TESTING: Final = ROOT / "plugins" / "genie-testing"
"""The contracts, run against the agents of the engine."""

CONTRACT: Final = ("assistant", "clocks", "formats", "reconnecting", "returning")
"""Contract tests that run on the last Python: one of each kind, without terminals and kills."""

PROBE: Final = "import ensurepip, sys, venv; sys.stdout.write('%d.%d' % sys.version_info[:2])"


def main() -> int:
    """Try all there are, and say how that went; 0 if nothing failed."""
    with_tests = "--tests" in sys.argv[1:]
    found = interpreters()
    if not found:
        say("No Python found")
        return 1
    missing = [each for each in VERSIONS if each not in found]
    say(f"Pythons of this machine: {', '.join(found)}; missing: {', '.join(missing) or 'none'}")
    failed = []
    with tempfile.TemporaryDirectory() as scratch, ThreadPoolExecutor() as pool:
        last = [*found][-1]
        wheels, pins = built(Path(scratch)), versions_only(Path(scratch) / "pins.txt")
        tries = {
            version: pool.submit(tried, version, python, wheels, pins)
            for version, python in found.items()
        }
        for version, one in tries.items():
            own, code, told = one.result()
            say(
                f"Python {version}: the built wheels, in an environment of their own\n{told.rstrip()}"
            )
            if code:
                failed.append(f"the smoke test on {version}")
            elif with_tests and version == last != VERSIONS[0] and tested(own, version):
                failed.append(f"tests on {version}")
    say(f"Failed: {', '.join(failed)}" if failed else f"Passed on {', '.join(found)}")
    return 1 if failed else 0


def interpreters() -> dict[str, str]:
    """Find one interpreter that runs for each version; a name on PATH may be a mere shim."""
    found = {}
    for version in VERSIONS:
        places = [f"python{version}"]
        places += sorted(map(str, Path.home().glob(f".pyenv/versions/{version}.*/bin/python")))
        for place in places:
            if shutil.which(place) and answer(place) == version:
                found[version] = place
                break
    return found


def answer(python: str) -> str:
    """What an interpreter says its version is; empty if it does not run."""
    return subprocess.run(
        [python, "-c", PROBE], capture_output=True, text=True, check=False
    ).stdout.strip()


def built(folder: Path) -> list[str]:
    """Build the wheels there."""
    for source in (*ROOT.glob("distributions/genie-*"), *ROOT.glob("plugins/genie-*")):
        subprocess.run(
            [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)],
            cwd=source,
            check=True,
            stdout=subprocess.DEVNULL,
        )
    return [str(wheel) for wheel in folder.glob("*.whl")]


def versions_only(file: Path) -> Path:
    """Write the pins without their hashes, which pip would demand of the wheel as well."""
    file.write_text("\n".join(re.findall(r"^[\w.-]+==[^\s\\]+", PINS.read_text(), re.MULTILINE)))
    return file


def environment(version: str, python: str) -> Path:
    """Make a fresh environment; returns its interpreter."""
    folder = ROOT / f".venv-{version}"
    shutil.rmtree(folder, ignore_errors=True)
    subprocess.run([python, "-m", "venv", str(folder)], check=True)
    return folder / "bin" / "python"


def tried(version: str, python: str, wheels: Sequence[str], pins: Path) -> tuple[Path, int, str]:
    """Run the smoke test; returns the environment's interpreter, the exit code and the output."""
    own = environment(version, python)
    install(own, "-c", str(pins), *wheels)
    ran = subprocess.run(
        [sys.executable, ".ci/smoke.py", str(own.with_name("genie-tui"))],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    return own, ran.returncode, ran.stdout


def tested(python: Path, version: str) -> int:
    """Run engine and contract tests against the installed wheels."""
    say(f"Python {version}: contract tests without drills, engine tests")
    install(python, "--no-deps", "--require-hashes", "-r", str(PINS))
    core = ROOT / "tests" / "genie_core"
    modules = [*sorted(core.glob("test_*.py")), *(core / each for each in ENGINE), TESTING]
    contract = [ROOT / "tests" / "contract" / f"test_{each}.py" for each in CONTRACT]
    places = [str(each.relative_to(ROOT)) for each in (*contract, *modules)]
    # Programs start for real here: no fork hides that one lacks an import.
    pytest = [
        str(python),
        "-m",
        "pytest",
        "-q",
        "-n",
        "4",
        "--dist",
        "loadfile",
        "--no-fork-server",
    ]
    return call([*pytest, "--no-loadscope-reorder", "-m", "not drill", *places])


def install(python: Path, *what: str) -> None:
    """Install into an environment; what is imported is compiled then, the rest need not be."""
    pip = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-compile"]
    subprocess.run([str(python), *pip, *what], cwd=ROOT, check=True)


def call(command: Sequence[str]) -> int:
    """Run a command; returns its exit code. What it compiles is kept for the processes to come."""
    own = {**os.environ, "PYTHONDONTWRITEBYTECODE": ""}
    return subprocess.run(command, cwd=ROOT, env=own, check=False).returncode


def say(line: str) -> None:
    """Print a line before what the next program prints."""
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
