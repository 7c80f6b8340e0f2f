"""The workspace of every task: the program of a small shop, with tests, and files to pass over."""

from pathlib import Path
from typing import Final

PRICES: Final = '''"""Prices and taxes."""

TAX = 0.19


def total_with_tax(net):
    """Return the price with tax, in cents."""
    return round(net * (1 + TAX))


def discount(net, percent):
    """Return the price after a discount, in cents."""
    return round(net * (1 - percent / 10))
'''

ORDERS: Final = '''"""Orders of customers."""

from shop.prices import total_with_tax

LIMIT = 50


class Order:
    """A list of items for one customer."""

    def __init__(self, customer):
        self.customer = customer
        self.items = []

    def add(self, item, count=1):
        if len(self.items) >= LIMIT:
            raise ValueError("too many items")
        self.items.append((item, count))

    def sum_net(self):
        return sum(item.price * count for item, count in self.items)

    def total(self):
        # TODO: add the shipping costs
        return total_with_tax(self.sum_net())
'''

STOCK: Final = '''"""Items on stock."""


class Item:
    def __init__(self, name, price):
        self.name = name
        self.price = price


def is_short(counts, name):
    # TODO: read the threshold from the settings
    return counts.get(name, 0) < 5
'''

REPORTS: Final = '''"""Reports for the owner."""

from shop.orders import Order


def monthly(orders: list[Order]):
    # TODO: sort the lines by customer
    return [f"{order.customer}: {order.sum_net()}" for order in orders]


def largest(orders: list[Order]):
    return max(orders, key=lambda order: order.sum_net())
'''

RETRY: Final = '''"""Trying again."""

RETRIES = 3


def with_retries(call):
    for attempt in range(RETRIES):
        try:
            return call()
        except OSError:
            if attempt == RETRIES - 1:
                raise
'''

TEST_PRICES: Final = """import unittest

from shop.prices import discount, total_with_tax


class Prices(unittest.TestCase):
    def test_tax_is_added(self):
        self.assertEqual(total_with_tax(1000), 1190)

    def test_discount_is_in_percent(self):
        self.assertEqual(discount(1000, 10), 900)
"""

TEST_STOCK: Final = """import unittest

from shop.stock import is_short


class Stock(unittest.TestCase):
    def test_few_items_are_short(self):
        self.assertTrue(is_short({"tea": 2}, "tea"))
"""

CHECKS: Final = '''"""The checks of this project."""

import pathlib

for path in sorted(pathlib.Path("shop").rglob("*.py")):
    compile(path.read_text(), str(path), "exec")
print("all checks passed")
'''

AGENTS: Final = """# Working on the shop

- Run the checks with `python3 checks.py` after every change.
- Amounts are in cents, and are never floating point numbers.
- Names of functions are verbs or say what they return.
"""

README: Final = """# Shop

The program of a small shop: prices, orders, stock and reports.
Orders above 5000 cents are shipped free of charge.
"""

LONG: Final = "".join(
    f'def rule_{number}(order):\n    """Rule {number} for orders."""\n'
    f"    return order.total() > {number * 10}\n\n\n"
    for number in range(400)
)

FILES: Final = {
    "README.md": README,
    "AGENTS.md": AGENTS,
    "checks.py": CHECKS,
    ".gitignore": "build/\n",
    ".editorconfig": "[*.py]\nindent_size = 4\n",
    "shop/__init__.py": "",
    "shop/prices.py": PRICES,
    "shop/orders.py": ORDERS,
    "shop/stock.py": STOCK,
    "shop/reports.py": REPORTS,
    "shop/rules.py": LONG,
    "shop/net/__init__.py": "",
    "shop/net/retry.py": RETRY,
    "shop/zones/table.py": "def ship_zone(code):\n    return {'NO': 1, 'SE': 1}.get(code, 2)\n",
    "tests/__init__.py": "",
    "tests/test_prices.py": TEST_PRICES,
    "tests/test_stock.py": TEST_STOCK,
    **{f"build/shop_{number}/orders.py": ORDERS for number in range(40)},
}

MANY: Final = 2_300
"""Files of installed packages, more than one search reads."""


def make_project(root: Path, *, packages: bool) -> None:
    """Write the files of the project; `packages` adds a large folder that Git does not ignore."""
    for name, text in FILES.items():
        _write(root / name, text)
    if packages:
        for number in range(MANY):
            name = f"node_modules/package{number // 50:02}/part{number:04}.js"
            _write(root / name, f"module.exports = {number};\n")


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
