"""The table of metrics in docs/serve.md names what a service publishes, and as what."""

import re
from pathlib import Path
from typing import Any

from prometheus_client.parser import text_string_to_metric_families
from tests.docs.pages import DOCS, rows

from genie_serve.http import serve_ops
from genie_serve.service import Service
from serve_tests.test_http import ANYWHERE, Store, ask
from serve_tests.test_service import LOCAL, places, serving

PAGE = DOCS / "serve.md"


async def test_metrics_table_is_complete(tmp_path: Path) -> None:
    store: Any = Store()
    service = Service(LOCAL, places(tmp_path), store=store)
    service.locations.sessions.mkdir(parents=True)
    async with serve_ops(service, ANYWHERE) as ops:
        _, text = await ask(ops, "/metrics")
    families = list(text_string_to_metric_families(text))
    published = {
        family.name + ("_total" if family.type == "counter" else ""): family.type
        for family in families
    }
    page = PAGE.read_text()
    metrics = [(name.strip("`"), kind) for name, kind, *_ in rows(page, "metric")]
    own = {name: kind for name, kind in published.items() if name.startswith("genie_")}
    assert dict(metrics) == own
    assert len(metrics) == len(own)
    process = set(re.findall(r"`(process_\w+)`", page))
    assert process == {name for name in published if name.startswith("process_")}


async def test_named_states_and_labels_exist(tmp_path: Path) -> None:
    async with serving(tmp_path) as service, serve_ops(service, ANYWHERE) as ops:
        _, text = await ask(ops, "/metrics")
    values = set(re.findall(r'="(\w+)"', text))
    cells = " ".join(" ".join(row) for row in rows(PAGE.read_text(), "metric"))
    named = set(re.findall(r"`([a-z_]+)`", cells)) - {"by", "version", "state", "reason"}
    named = {each for each in named if not each.startswith("genie_")}
    assert named <= values
