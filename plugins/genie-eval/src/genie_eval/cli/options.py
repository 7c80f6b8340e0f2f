"""The options of `genie-tui eval`; importing this module is cheap."""

import argparse
from typing import Final

from genie_tui.cli.options import SESSION_HELP, AddPart, add_settings
from genie_tui.plugins import CommandCall

_EVAL_CODES: Final = """\
exit code: 0 if all was decided and no share is below its minimum; 1 if not; 2 for a wrong command line;
130 after ctrl+c.
"""


def add_eval(add: AddPart) -> None:
    measure = add("eval", "measure a reasoner by the decisions that you marked as wrong")
    add_settings(measure)
    measure.add_argument("ids", metavar="ID", nargs="+", help=SESSION_HELP)
    measure.add_argument(
        "--reasoner",
        metavar="TEMPLATE",
        help="the reasoner prompt to measure (default: the one that is set)",
    )
    measure.add_argument(
        "--trust-recorded",
        action="store_true",
        help="count recorded decisions without a mark as right; without it only marked ones count",
    )
    measure.add_argument(
        "--fresh", action="store_true", help="ask again about what was decided earlier"
    )
    measure.add_argument("--json", action="store_true", help="as JSON")
    measure.add_argument(
        "--dataset",
        metavar="FILE",
        help="ask nothing; write the decisions to measure by as a dataset for pydantic-evals",
    )
    for name, what in (
        ("precision", "of the delegated messages, those that should be"),
        ("recall", "of the messages to be delegated, those that were"),
    ):
        measure.add_argument(
            f"--min-{name}",
            type=_share,
            metavar="SHARE",
            help=f"fail below this share, from 0 to 1: {what}",
        )
    measure.epilog = _EVAL_CODES
    measure.set_defaults(command="eval", run=_run)


def _share(text: str) -> float:
    try:
        share = float(text)
    except ValueError:
        share = -1.0
    if not 0 <= share <= 1:
        raise argparse.ArgumentTypeError(f"a share is a number from 0 to 1, not {text!r}")
    return share


def _run(call: CommandCall) -> int:
    from genie_eval.cli.eval import run_eval

    return run_eval(call.options, call.source, call.locations, call.env, call.stdout, call.stderr)
