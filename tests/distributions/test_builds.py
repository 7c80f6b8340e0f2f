"""The distributions are built from the tree, and genie-core is used where nothing else is."""

import re
import shutil
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Iterator
from email.parser import Parser
from pathlib import Path

import pytest

import genie_core

ROOT = Path(__file__).parents[2]
VERSION = genie_core.__version__
NAMES = ("genie-core", "genie-tui")
PLUGINS = sorted(each.name for each in (ROOT / "plugins").iterdir())
PROGRAMS = Path(__file__).with_name("programs")
FENCE = re.compile(r"^```python (\S+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)

pytestmark = pytest.mark.timeout(300)


def test_both_are_built_by_the_same_hook() -> None:
    first, second = (ROOT / "distributions" / name / "hatch_build.py" for name in NAMES)
    assert first.read_text() == second.read_text()


def run(*command: object, cwd: Path) -> str:
    done = subprocess.run(
        [str(each) for each in command], cwd=cwd, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def build(folder: Path, into: Path, *targets: str) -> None:
    chosen = [word for target in targets for word in ("-t", target)]
    run(sys.executable, "-m", "hatchling", "build", *chosen, "-d", into, cwd=folder)


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build all, and keep them in one folder."""
    folder = tmp_path_factory.mktemp("dist")
    for name in (*NAMES, *PLUGINS):
        build(tree_of(name), folder, "sdist", "wheel")
    return folder


def tree_of(name: str) -> Path:
    return ROOT / ("distributions" if name in NAMES else "plugins") / name


@pytest.fixture(scope="module")
def bare(built: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Install genie-core alone, without any extra; returns the interpreter."""
    own = tmp_path_factory.mktemp("bare")
    run(sys.executable, "-m", "venv", "--without-pip", own, cwd=own)
    python = own / "bin" / "python"
    pip = (sys.executable, "-m", "pip", "--python", python, "install")
    run(*pip, "--quiet", "--no-deps", "--no-index", wheel(built, "genie-core"), cwd=own)
    return python


def wheel(folder: Path, name: str) -> Path:
    return folder / f"{name.replace('-', '_')}-{VERSION}-py3-none-any.whl"


def packages(folder: Path, name: str) -> set[str]:
    with zipfile.ZipFile(wheel(folder, name)) as archive:
        return {each.partition("/")[0] for each in archive.namelist() if ".dist-info" not in each}


def metadata(folder: Path, name: str) -> dict[str, list[str]]:
    with zipfile.ZipFile(wheel(folder, name)) as archive:
        (path,) = (each for each in archive.namelist() if each.endswith(".dist-info/METADATA"))
        told = Parser().parsestr(archive.read(path).decode())
    return {key: told.get_all(key, []) for key in told}


def test_wheels_have_package_and_license(built: Path) -> None:
    for name in (*NAMES, *PLUGINS):
        assert packages(built, name) == {name.replace("-", "_")}
        with zipfile.ZipFile(wheel(built, name)) as archive:
            files = archive.namelist()
        assert any(each.endswith("licenses/LICENSE") for each in files)
        assert f"{name.replace('-', '_')}/py.typed" in files
        assert not [each for each in files if "__pycache__" in each]


def test_core_without_extra_needs_nothing(built: Path) -> None:
    told = metadata(built, "genie-core")
    assert told["Provides-Extra"] == ["acp", "openai", "pydantic-ai", "room"]
    assert [each for each in told["Requires-Dist"] if "extra ==" not in each] == []


def test_app_requires_core_of_same_version(built: Path) -> None:
    told = metadata(built, "genie-tui")
    assert told["Requires-Dist"][0] == f"genie-core[acp,openai,pydantic-ai,room]=={VERSION}"
    assert told["Version"] == metadata(built, "genie-core")["Version"] == [VERSION]


def test_all_brings_every_plugin_of_this_version(built: Path) -> None:
    lines = metadata(built, "genie-tui")["Requires-Dist"]
    brought = [each.partition(";")[0].strip() for each in lines if "extra == 'all'" in each]
    assert brought == [f"{name}=={VERSION}" for name in PLUGINS]


@pytest.mark.parametrize("name", PLUGINS)
def test_plugin_has_version_of_the_program(built: Path, name: str) -> None:
    told = metadata(built, name)
    assert told["Version"] == [VERSION]
    assert (ROOT / "plugins" / name / "README.md").read_text().count("\n") <= 60
    ours = [each for each in told["Requires-Dist"] if each.startswith("genie-")]
    assert ours
    assert all(each.partition(";")[0].strip().endswith(f"=={VERSION}") for each in ours)


def test_tree_installs_without_core_index(tmp_path: Path) -> None:
    build(ROOT, tmp_path, "wheel")
    assert packages(tmp_path, "genie-tui") == {"genie_core", "genie_tui"}
    told = metadata(tmp_path, "genie-tui")
    assert told["Version"] == [VERSION]
    assert not [each for each in told["Requires-Dist"] if each.startswith("genie")]


def test_a_wheel_has_every_file_of_its_package(built: Path) -> None:
    for name in (*NAMES, *PLUGINS):
        package = name.replace("-", "_")
        with zipfile.ZipFile(wheel(built, name)) as archive:
            shipped = {each for each in archive.namelist() if each.startswith(package)}
        source = ROOT / "src" if name in NAMES else tree_of(name) / "src"
        files = {str(each.relative_to(source)) for each in sources(source / package)}
        assert files <= shipped
        extra = {each for each in shipped - files if ".dist-info/" not in each}
        assert all(each.startswith("genie_core/assistant/prompts/") for each in extra)


def sources(package: Path) -> Iterator[Path]:
    for path in package.rglob("*"):
        if path.is_file() and "__pycache__" not in path.parts:
            yield path


@pytest.mark.parametrize("name", [*NAMES, *PLUGINS])
def test_sdist_builds_same_wheel_as_tree(built: Path, name: str, tmp_path: Path) -> None:
    stem = f"{name.replace('-', '_')}-{VERSION}"
    with tarfile.open(built / f"{stem}.tar.gz") as archive:
        archive.extractall(tmp_path, filter="data")
    build(tmp_path / stem, tmp_path, "wheel")
    assert wheel(tmp_path, name).read_bytes() == wheel(built, name).read_bytes()


def test_bare_core_names_missing_extras(bare: Path, tmp_path: Path) -> None:
    code = (
        "import genie_core, importlib.metadata as metadata\n"
        "from importlib.resources import files\n"
        "assert genie_core.__version__ == metadata.version('genie-core')\n"
        "assert any(files('genie_core').joinpath('assistant/prompts').iterdir())\n"
        "try: from genie_core.agent.provider.openai import DefaultAgent\n"
        "except ImportError as error: print(error)\n"
        "try: from genie_core.room import join_room\n"
        "except ImportError as error: print(error)\n"
    )
    assert run(bare, "-c", code, cwd=tmp_path).splitlines() == [
        "module 'agents' is not installed; install it with: pip install 'genie-core[openai]'",
        "module 'msgspec' is not installed; install it with: pip install 'genie-core[room]'",
    ]


def test_bare_core_program_resumes(bare: Path, tmp_path: Path) -> None:
    kinds = "Received Decided ApprovalPending ApprovalClosed Answered"
    for already, count in ((0, 1), (2, 2)):
        said = run(bare, "-W", "error", PROGRAMS / "journalled.py", tmp_path, cwd=tmp_path)
        assert said == f"{already} {count} HELLO of alice\n{kinds}\n"


def test_embedding_programs_pass_mypy(bare: Path, tmp_path: Path) -> None:
    """Against the installed wheel; the packages of extras count as untyped."""
    shutil.copytree(PROGRAMS, tmp_path, dirs_exist_ok=True)
    for name, code in FENCE.findall((ROOT / "docs" / "engine.md").read_text()):
        (tmp_path / name).write_text(code)
    programs = [each for each in tmp_path.glob("*.py") if not each.name.startswith("test_")]
    assert len(programs) > 8
    mypy = (sys.executable, "-m", "mypy", "--strict", "--python-executable", bare)
    config = ("--config-file=", "--ignore-missing-imports", f"--cache-dir={tmp_path / 'cache'}")
    assert "no issues found" in run(*mypy, *config, *programs, cwd=tmp_path)
