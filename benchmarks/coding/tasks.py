"""Thirty tasks of coding and chat.

Each call is written for our tools and for those of opencode; a model makes those that it is
offered.
"""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from benchmarks.coding.steps import ROOT, Ask, Do, Learn, Step
from genie_core.message import Message
from genie_testing.turns import Call


@dataclass(frozen=True)
class Task:
    """What is asked, one message after another, and how the workspace must be in the end.

    `before` are messages that people wrote earlier; `packages` adds a folder of installed packages.
    opencode is not given a task that does not fit it.
    """

    name: str
    asks: tuple[Ask, ...]
    done: Callable[[Path], bool] = lambda _root: True
    before: tuple[Message, ...] = ()
    packages: bool = False
    fits_opencode: bool = True


@dataclass(frozen=True)
class Edit:
    path: str
    old: str
    new: str
    everywhere: bool = False


def grep(text: str, folder: str = "") -> tuple[Call, ...]:
    where = {"folder": folder} if folder else {}
    place = {"path": f"{ROOT}/{folder}"} if folder else {}
    ours = Call("grep_files", {"pattern": text, **where})
    return ours, Call("grep", {"pattern": text, **place})


def listing(folder: str = "") -> tuple[Call, ...]:
    return (Call("list_files", {"folder": folder}),)


def read(path: str, first: int = 1, last: int | None = None) -> tuple[Call, ...]:
    lines = {"first_line": first, "last_line": last} if last else {}
    part = {"offset": first, "limit": last - first + 1} if last else {}
    ours = Call("read_file", {"path": path, **lines})
    return ours, Call("read", {"filePath": f"{ROOT}/{path}", **part})


def named(name: str) -> tuple[Call, ...]:
    return Call("find_files", {"name": name}), Call("glob", {"pattern": f"**/{name}"})


def edit(*edits: Edit, apart: tuple[Edit, ...] = ()) -> Do:
    """Make several edits: in one call where a tool can, else one after another.

    `apart` are the edits for the latter, if it takes fewer of them.
    """
    together = [{"path": each.path, "old": each.old, "new": each.new} for each in edits]
    one_by_one = tuple(
        Call(
            "edit_file",
            {
                "path": each.path,
                "old": each.old,
                "new": each.new,
                "everywhere": each.everywhere,
            },
        )
        for each in apart or edits
    )
    at_once = ((Call("edit_files", {"edits": together}),),) if len(edits) > 1 else ()
    return Do((*at_once, one_by_one, _opencode(apart or edits)))


def _opencode(edits: tuple[Edit, ...]) -> tuple[Call, ...]:
    return tuple(
        Call(
            "edit",
            {
                "filePath": f"{ROOT}/{each.path}",
                "oldString": each.old,
                "newString": each.new,
                "replaceAll": each.everywhere,
            },
        )
        for each in edits
    )


def write(path: str, text: str) -> Do:
    ours = Call("write_file", {"path": path, "content": text})
    return Do(((ours,), (Call("write", {"filePath": f"{ROOT}/{path}", "content": text}),)))


def run(command: str) -> Do:
    return Do(tuple((each,) for each in commands(command)))


def commands(command: str) -> tuple[Call, ...]:
    return (
        Call("run_command", {"command": command}),
        Call("bash", {"command": command, "description": "Runs a command of the task"}),
    )


def use(tool: str, command: str = "", **arguments: object) -> Do:
    """Use a tool of ours, or else a command."""
    options = ((Call(tool, arguments),), *((each,) for each in commands(command) if command))
    return Do(options)


def has(path: str, *texts: str) -> Callable[[Path], bool]:
    def check(root: Path) -> bool:
        file = root / path
        return file.is_file() and all(text in file.read_text("utf-8") for text in texts)

    return check


def each_of(*checks: Callable[[Path], bool]) -> Callable[[Path], bool]:
    return lambda root: all(check(root) for check in checks)


def genie(text: str, *steps: Step, answer: str) -> Ask:
    return Ask(f"@genie {text}", steps, answer)


UNITTEST: Final = "python3 -m unittest -q"
RENAMED: Final = ("shop/prices.py", "shop/orders.py", "tests/test_prices.py")
RENAMES: Final = (
    Edit("shop/prices.py", "def total_with_tax", "def gross"),
    Edit("shop/orders.py", "import total_with_tax", "import gross"),
    Edit("shop/orders.py", "return total_with_tax", "return gross"),
    Edit("tests/test_prices.py", "discount, total_with_tax", "discount, gross"),
    Edit("tests/test_prices.py", "(total_with_tax(1000)", "(gross(1000)"),
)
NEW_TEST: Final = """import unittest

from shop.net.retry import with_retries


class Retry(unittest.TestCase):
    def test_the_result_is_returned(self):
        self.assertEqual(with_retries(lambda: 7), 7)
"""
EXPORT: Final = '''"""Exporting orders."""


def as_lines(orders):
    return [f"{order.customer};{order.sum_net()}" for order in orders]
'''
EXPORT_TEST: Final = """import unittest

from shop.export import as_lines


class Export(unittest.TestCase):
    def test_nothing_gives_no_line(self):
        self.assertEqual(as_lines([]), [])
"""
ORDER_EDITS: Final = (
    Edit("shop/orders.py", "LIMIT = 50", "LIMIT = 100"),
    Edit("shop/orders.py", '"too many items"', '"an order has at most 100 items"'),
    Edit("shop/orders.py", "def sum_net(self):", "def net(self):"),
    Edit("shop/orders.py", "self.sum_net()", "self.net()"),
)
TODOS: Final = (
    Edit("shop/orders.py", "        # TODO: add the shipping costs\n", ""),
    Edit(
        "shop/reports.py",
        "    # TODO: sort the lines by customer\n    return [",
        "    orders = sorted(orders, key=lambda order: order.customer)\n    return [",
    ),
    Edit("shop/stock.py", "    # TODO: read the threshold from the settings\n", ""),
)
EXTRACTED: Final = (
    Edit("shop/stock.py", '"""Items on stock."""\n', '"""Items on stock."""\n\nSHORT = 5\n'),
    Edit("shop/stock.py", "counts.get(name, 0) < 5", "counts.get(name, 0) < SHORT"),
    Edit("tests/test_stock.py", "import is_short", "import SHORT, is_short"),
    Edit("tests/test_stock.py", '{"tea": 2}', '{"tea": SHORT - 1}'),
)


def moved(root: Path) -> bool:
    return not (root / "shop/net/retry.py").exists() and has("shop/retry.py", "RETRIES")(root)


def removed(root: Path) -> bool:
    return not (root / "shop/zones/table.py").exists()


def renamed(root: Path) -> bool:
    return not any("total_with_tax" in (root / path).read_text("utf-8") for path in RENAMED)


def chatter(count: int) -> tuple[Message, ...]:
    people = ("ben", "cleo", "dana")
    about = ("the invoice for May", "the delivery of tea", "the shelf by the door", "the till")
    return tuple(
        Message(f"Message {n}: {about[n % 4]} is {'done' if n % 3 else 'due on Friday'}.",
                people[n % 3])
        for n in range(count)
    )  # fmt: skip


def find_function(*more: tuple[Call, ...]) -> Learn:
    calls = [call for each in (grep("def ship_zone"), *more) for call in each]
    return Learn("zones/table.py", tuple(calls))


def retry_by_name() -> Learn:
    """Find a file by its name, or by looking into one folder after another."""
    folders = (listing(), listing("shop"), listing("shop/net"))
    calls = [call for each in (named("retry.py"), *folders) for call in each]
    return Learn("retry.py", tuple(calls))


TASKS: Final = (
    Task("find a function", (
        genie("where is total_with_tax defined?",
              Learn("shop/prices.py", grep("def total_with_tax")),
              answer="In shop/prices.py, line 6."),
    )),
    Task("find the uses of a name", (
        genie("who calls sum_net?", Learn("shop/reports.py", grep(r"\.sum_net\(", "")),
              answer="shop/orders.py and shop/reports.py."),
    )),
    Task("search beside installed packages", (
        genie("where is ship_zone defined?", find_function(grep("def ship_zone", "shop")),
              answer="In shop/zones/table.py."),
    ), packages=True),
    Task("find a file by name", (
        genie("is there a file called retry something?", retry_by_name(),
              answer="It is shop/net/retry.py."),
    )),
    Task("read a part of a long file", (
        genie("what does rule_250 say?", Learn("shop/rules.py", grep("def rule_250")),
              Learn("> 2500", read("shop/rules.py", 1250, 1256)),
              answer="It asks whether the total is above 2500."),
    )),
    Task("several edits in one file", (
        genie("raise the limit in orders.py to 100 items and call sum_net just net",
              Learn("LIMIT = 50", read("shop/orders.py")), edit(*ORDER_EDITS),
              answer="Done, in four places of shop/orders.py."),
    ), has("shop/orders.py", "LIMIT = 100", "at most 100", "def net(self)", "self.net()")),
    Task("rename across files", (
        genie("rename total_with_tax to gross everywhere",
              Learn("tests/test_prices.py", grep("total_with_tax")),
              *(Learn(text, read(path)) for path, text in
                zip(RENAMED, ("percent / 10", "LIMIT = 50", "assertEqual"), strict=True)),
              edit(*RENAMES, apart=tuple(
                  Edit(path, "total_with_tax", "gross", everywhere=True) for path in RENAMED)),
              run(UNITTEST),
              answer="Renamed in three files."),
    ), renamed),
    Task("fix a bug that a test shows", (
        genie("a test fails, please repair it", run(UNITTEST),
              Learn("percent / 10", read("shop/prices.py")),
              edit(Edit("shop/prices.py", "percent / 10)", "percent / 100)")), run(UNITTEST),
              answer="The discount divided by 10; all tests pass now."),
    ), has("shop/prices.py", "percent / 100")),
    Task("write a test and run it", (
        genie("write a test for with_retries in shop/net/retry.py",
              Learn("def with_retries", read("shop/net/retry.py")),
              write("tests/test_retry.py", NEW_TEST), run("python3 -m unittest -q tests.test_retry"),
              answer="tests/test_retry.py passes."),
    ), has("tests/test_retry.py", "with_retries")),
    Task("write a module with its test", (
        genie("add shop/export.py with as_lines(orders), one line per order, and a test",
              Learn("def sum_net", read("shop/orders.py")), write("shop/export.py", EXPORT),
              write("tests/test_export.py", EXPORT_TEST), run("python3 -m unittest -q tests.test_export"),
              answer="Both files are there, and the test passes."),
    ), each_of(has("shop/export.py", "as_lines"), has("tests/test_export.py", "as_lines"))),
    Task("move a file", (
        genie("move shop/net/retry.py up to shop/retry.py",
              use("move_file", "mv shop/net/retry.py shop/retry.py",
                  path="shop/net/retry.py", to="shop/retry.py"),
              answer="Moved."),
    ), moved),
    Task("delete a file", (
        genie("delete shop/zones/table.py, it isn't used",
              use("delete_file", "rm shop/zones/table.py", path="shop/zones/table.py"),
              answer="Deleted."),
    ), removed),
    Task("change a file whose name has a dot", (
        genie("indent by 2 in .editorconfig",
              Learn("indent_size", (*read(".editorconfig"), *commands("cat .editorconfig"))),
              Do((*edit(Edit(".editorconfig", "indent_size = 4", "indent_size = 2")).options,
                  *run("sed -i s/4/2/ .editorconfig").options),
                 has(".editorconfig", "indent_size = 2")),
              answer="It is 2 now."),
    ), has(".editorconfig", "indent_size = 2")),
    Task("run all tests", (
        genie("do the tests pass?", run("python3 -m unittest -v"),
              answer="One of three fails: test_discount_is_in_percent."),
    )),
    Task("follow the instructions of the project", (
        genie("rename the class Order's method add to put, and check it as the project wants",
              Learn("after every change", (*listing(), *read("AGENTS.md"))),
              Learn("LIMIT = 50", read("shop/orders.py")),
              edit(Edit("shop/orders.py", "def add(self", "def put(self")), run("python3 checks.py"),
              answer="Renamed; the checks pass."),
    ), has("shop/orders.py", "def put(self")),
    Task("deal with every TODO", (
        genie("deal with all TODOs", Learn("shop/stock.py", grep("TODO")),
              *(Learn(text, read(path)) for path, text in
                (("shop/orders.py", "LIMIT = 50"), ("shop/reports.py", "def largest"),
                 ("shop/stock.py", "class Item"))),
              edit(*TODOS), run(UNITTEST), answer="Three TODOs are gone."),
    ), lambda root: not any("TODO" in path.read_text("utf-8") for path in (root / "shop").rglob("*.py"))),
    Task("extract a constant", (
        genie("make the 5 in stock.py a constant and use it in its test",
              Learn("class Item", read("shop/stock.py")), Learn("tea", read("tests/test_stock.py")),
              edit(*EXTRACTED), run("python3 -m unittest -q tests.test_stock"),
              answer="It is SHORT now."),
    ), each_of(has("shop/stock.py", "< SHORT"), has("tests/test_stock.py", "SHORT - 1"))),
    Task("answer from a file", (
        genie("from which sum on is shipping free?", Learn("5000 cents", read("README.md")),
              answer="From 50.00 on, says README.md."),
    )),
    Task("explain a package", (
        genie("explain how shop is built", Learn("orders.py", (*listing("shop"), *read("shop"))),
              Learn("class Order", read("shop/orders.py")), Learn("class Item", read("shop/stock.py")),
              Learn("def monthly", read("shop/reports.py")),
              answer="Orders have items; reports sum them up; prices add tax."),
    )),
    Task("count lines", (
        genie("how long is rules.py?", run("wc -l shop/rules.py"), answer="2,000 lines."),
    )),
    Task("long conversation", tuple(
        genie(f"question {number}: what does rule_{number} ask for?",
              Learn(f"Rule {number} for", read("shop/rules.py", number * 5 + 1, number * 5 + 4)),
              answer=f"Whether the total is above {number * 10}.")
        for number in range(1, 31, 2)
    )),
    Task("summarise the chat", (
        genie("summarise what was said", Do(((Call("summarise_chat", {"count": 50}),),)),
              answer="Invoices and deliveries are due on Friday."),
    ), before=chatter(60)),
    Task("find out who said it", (
        genie("who wrote about the till on Friday?", Learn("Message 3:", (
                  Call("search_chat", {"words": "till friday"}),)),
              answer="Ben did."),
    ), before=chatter(60)),
    Task("a date", (
        genie("which date is in 3 weeks?",
              use("shift_date", "date -d '3 weeks' +%F", start="today", days=21),
              answer="That is in 21 days."),
    )),
    Task("a time elsewhere", (
        genie("when is 3pm in Oslo for Tokyo?",
              use("convert_time", "env TZ=Asia/Tokyo date -d 'TZ=\"Europe/Oslo\" 15:00' +%R",
                  time="3pm", source="Oslo", target="Tokyo"),
              answer="Seven or eight hours later."),
    )),
    Task("arithmetic", (
        genie("what is 19% of 84.50?", use("calculate", "python3 -c 'print(84.50 * 0.19)'",
                                           expression="84.50 * 0.19"),
              answer="16.055"),
    )),
    Task("pass work to another agent", (
        Ask("@genie let the coder repair discount()", (
                Do(((Call("run_subagent", {"subagent_name": "coder",
                                           "query": "Repair discount() in shop/prices.py."}),),)),
            ), "The coder has repaired it.", (
                Learn("percent / 10", read("shop/prices.py")),
                edit(Edit("shop/prices.py", "percent / 10)", "percent / 100)")),
            ), "Repair discount() in shop/prices.py."),
    ), has("shop/prices.py", "percent / 100"), fits_opencode=False),  # what its agents ask is lost
    Task("ask the same again", (
        genie("from which sum on is shipping free?", Learn("5000 cents", read("README.md")),
              answer="From 50.00 on."),
        genie("sorry, from which sum on again?", Learn("5000 cents", read("README.md")),
              answer="From 50.00 on, as I said."),
    )),
    Task("a question to all", (
        Ask("which of our modules knows about taxes?",
            (Learn("TAX = 0.19", grep("TAX")),), "shop/prices.py."),
    )),
    Task("a message to a person", (
        Ask("ben, can you bring the keys tomorrow?"),
    )),
)  # fmt: skip
