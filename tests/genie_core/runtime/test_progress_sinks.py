from dataclasses import dataclass, field

from genie_core.agent import AgentInput
from genie_core.assistant.offline.agent import OfflineAgent
from genie_core.runtime.progress import Usage, also_reporting_to, doing, note, reporting_to, spent


@dataclass
class Heard:
    said: list[str] = field(default_factory=list)

    def spent(self, usage: Usage) -> None:
        self.said.append(usage.model)

    def doing(self, what: str, detail: str) -> None:
        self.said.append(f"{what} {detail}".strip())


def test_reports_stay_within_run() -> None:
    outer, inner, other = Heard(), Heard(), Heard()
    doing("asking")
    with also_reporting_to(other):
        doing("asking")
    with reporting_to(outer):
        with also_reporting_to(inner):
            doing("calling", "look")
            spent(Usage("m"))
        with reporting_to(other):
            doing("thinking")
        doing("writing")
    spent(Usage("m"))
    assert outer.said == ["calling look", "m", "writing"]
    assert inner.said == ["calling look", "m"]
    assert other.said == ["asking", "thinking"]


def test_note_gives_owner_detail() -> None:
    heard = Heard()
    with reporting_to(heard):
        note("it failed", "it failed: at gateway")
        note("gone", "gone")
    assert heard.said == ["note it failed", "detail it failed: at gateway", "note gone"]


def test_usages_add_up_without_unknown_cost() -> None:
    known, unknown = Usage("m", 1, 5, 6, 1, 2.0, 0.5), Usage("n", 2, 1, 1)
    assert known + unknown == Usage("m", 3, 6, 7, 1, 2.0, 0.5)
    assert unknown + known == Usage("n", 3, 6, 7, 1, 2.0, 0.5)
    assert (unknown + unknown).cost is None


@dataclass
class Bill:
    usages: list[Usage] = field(default_factory=list)

    def spent(self, usage: Usage) -> None:
        self.usages.append(usage)

    def doing(self, what: str, detail: str) -> None:
        pass


def test_usage_is_clamped_to_possible() -> None:
    bill = Bill()
    with reporting_to(bill):
        spent(Usage("m", -1, -5, 10**30, -1, 2.0, -0.5))
        spent(Usage("m", cost=float("nan")))
        spent(Usage("m", 1, 5, 6, 1, 2.0, 0.5))
    wrong, unknown, right = bill.usages
    assert wrong == Usage("m", 0, 0, 10**12, 0, 2.0, None)
    assert unknown.cost is None
    assert right == Usage("m", 1, 5, 6, 1, 2.0, 0.5)


async def test_the_offline_helper_takes_nothing() -> None:
    async def allow(_name: str, _arguments: dict[str, object]) -> bool:
        return True

    heard = Heard()
    with reporting_to(heard):
        await OfflineAgent().run_streaming(
            AgentInput("what can you do?"), allow, lambda _text: None
        )
    assert heard.said == ["asking", "writing"]
