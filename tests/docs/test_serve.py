import re
from pathlib import Path

from msgspec.structs import replace

from genie_serve.config import CONFIG_NAME, ServeConfig, ServiceLimits, read_config

PAGE = Path(__file__).parents[2] / "docs/serve.md"


def test_page_config_matches_defaults(tmp_path: Path) -> None:
    found = re.search(r"### Configuration.*?```toml\n(.*?)```", PAGE.read_text(), re.DOTALL)
    assert found is not None
    path = tmp_path / CONFIG_NAME
    path.write_text(found[1])
    config = read_config(path)
    assert config.addresses == ("chat.example.org",)
    assert replace(config, addresses=(), key=None, certificate=None) == ServeConfig()
    told = set(re.findall(r"^(\w+) = ", found[1], re.MULTILINE))
    assert told >= {*ServeConfig.__struct_fields__, *ServiceLimits.__struct_fields__} - {
        *("room", "limits", "store", "guests", "web")
    }
