import pytest
from tests.genie_core.agent.provider.both import Reports

from genie_core.agent.provider.progress_reporter import BEAT, CallReporter, ProgressReporter
from genie_core.errors import ToolExited
from genie_core.runtime.progress import What, reporting_to


class Heard(Reports):
    """Keeps repeated reports, too."""

    def doing(self, what: str, detail: str) -> None:
        self.doings.append(f"{what} {detail}".strip())


def test_change_reports_now_rest_per_beat() -> None:
    now, heard = 0.0, Heard()
    pulse = ProgressReporter(lambda: now)

    def at(what: What, moment: float) -> None:
        nonlocal now
        now = moment
        pulse.at(what)

    with reporting_to(heard):
        for moment in (0.0, 0.1, BEAT - 0.1, BEAT):
            at("thinking", moment)
        at("writing", BEAT + 0.1)
        at("writing", BEAT + 0.2)
    assert heard.doings == ["thinking", "thinking", "writing"]


def test_remaining_call_is_reported() -> None:
    calls, heard = CallReporter(), Heard()
    with reporting_to(heard), calls.running("slow"):
        with calls.running("quick"):
            pass
        assert heard.doings == ["calling slow", "calling quick", "calling slow"]
    assert len(heard.doings) == 3


@pytest.mark.parametrize("error", [SystemExit(2), KeyboardInterrupt()])
def test_exiting_call_fails_with_tool_name(error: BaseException) -> None:
    with pytest.raises(ToolExited, match="'leave'") as caught, CallReporter().running("leave"):
        raise error
    assert caught.value.cause is error
    assert caught.value.public == "tool 'leave' tried to end the program"
