import subprocess
import sys
from pathlib import Path

import pytest
from examples.service import KEY, EnvironmentSecrets, service_from
from tests.limits import scaled

ROOT = Path(__file__).parents[2]
EXAMPLES = ("tutorial", "coordinator", "attachments", "chat_server")
MODEL = {"GENIE_MODEL": "openai:gpt-5-mini"}


@pytest.mark.parametrize("example", EXAMPLES)
def test_missing_model_names_setting(example: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", f"examples.{example}"],
        cwd=ROOT,
        env={"PYTHONPATH": str(ROOT / "src")},
        capture_output=True,
        text=True,
        timeout=scaled(60),
    )
    assert done.returncode == 1
    assert done.stdout == ""
    assert done.stderr.startswith("Set GENIE_MODEL to a model")
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize("name", ["gpt-5-mini", "openai:", "anthropic:claude", ""])
def test_a_model_elsewhere_is_refused(name: str) -> None:
    with pytest.raises(SystemExit, match="GENIE_MODEL"):
        service_from({"GENIE_MODEL": name, KEY: "k"})


def test_a_missing_key_is_named() -> None:
    with pytest.raises(SystemExit, match=f"Set {KEY} .* gpt-5-mini"):
        service_from(MODEL)


def test_the_environment_names_model_and_service() -> None:
    assert service_from({**MODEL, KEY: "k"}).base_url is None
    address = "http://127.0.0.1:11434/v1"
    service = service_from({**MODEL, "OPENAI_BASE_URL": address, KEY: "k"})
    assert (service.model, service.base_url) == ("gpt-5-mini", address)


def test_everybody_may_have_a_key_of_their_own() -> None:
    secrets = EnvironmentSecrets({KEY: "shared", f"ALICE_{KEY}": "hers"})
    assert secrets.get_secrets("alice") == {KEY: "hers"}
    assert secrets.get_secrets("bob") == {KEY: "shared"}
    assert EnvironmentSecrets({}).get_secrets("bob") is None
