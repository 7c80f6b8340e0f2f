"""Arithmetic on text. Walks a parsed expression; nothing is executed as code."""

import ast
import math
import operator
import re
from collections.abc import Callable
from textwrap import shorten
from typing import Final

MAX_CHARS: Final = 200
MAX_BITS: Final = 4_096
"""Size limit for every integer, intermediate results included: about 1,230 decimal digits."""
MAX_FACTORIAL: Final = 300

Number = int | float


class CalculationError(ValueError):
    """The expression is not arithmetic, has no result, or is too large."""


class NotArithmetic(CalculationError):
    """The expression is not arithmetic, or too long."""


async def calculate(expression: str) -> str:
    """Evaluate one arithmetic expression and return it with its result.

    Args:
        expression: Such as "(3 + 4) * 2 ** 10", "15% of 80" or "sin(radians(30))". Knows pi, e, tau
            and the common functions of Python's math module, with cbrt, gcd and factorial.
    """
    try:
        result = evaluate(expression)
    except CalculationError as error:
        return f"Cannot calculate {shorten(expression, 60)!r}: {error}."
    return f"{expression.strip()} = {_written(result)}"


def evaluate(expression: str) -> Number:
    """Return the value of `expression`. Raises `CalculationError` if it has none."""
    tree = _parsed(expression)
    try:
        return _value(tree)
    except ZeroDivisionError:
        raise CalculationError("division by zero") from None
    except OverflowError:
        raise CalculationError("the result is too large") from None
    except CalculationError:
        raise
    except ValueError:
        raise CalculationError("the result is not a real number") from None
    except TypeError:
        raise CalculationError("a function has the wrong number or type of arguments") from None


def is_calculation(expression: str) -> bool:
    """Return whether `expression` is arithmetic with at least one operation."""
    try:
        evaluate(expression)
    except NotArithmetic:
        return False
    except CalculationError:
        return True
    return any(isinstance(node, ast.BinOp | ast.Call) for node in ast.walk(_parsed(expression)))


def _parsed(expression: str) -> ast.expr:
    if len(expression) > MAX_CHARS:
        raise NotArithmetic(f"it is longer than {MAX_CHARS} characters")
    try:
        return ast.parse(_as_python(expression.strip()), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        if isinstance(error, CalculationError):
            raise
        raise NotArithmetic("it is not an arithmetic expression") from None


_OPERATORS: Final[dict[type[ast.operator], Callable[[Number, Number], Number]]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
}
_SIGNS: Final[dict[type[ast.unaryop], Callable[[Number], Number]]] = {
    ast.UAdd: operator.pos,
    ast.USub: operator.neg,
}
_CONSTANTS: Final = {"pi": math.pi, "e": math.e, "tau": math.tau}


def _factorial(value: Number) -> int:
    if not isinstance(value, int) or not 0 <= value <= MAX_FACTORIAL:
        raise CalculationError(f"factorial takes a whole number from 0 to {MAX_FACTORIAL}")
    return math.factorial(value)


def _round(value: Number, digits: Number = 0) -> Number:
    if not isinstance(digits, int) or abs(digits) > MAX_CHARS:
        raise CalculationError("round needs a small whole number of digits")
    return round(value, digits) if digits else round(value)


_FUNCTIONS: Final[dict[str, Callable[..., Number]]] = {
    "sqrt": math.sqrt,
    "cbrt": math.cbrt,
    "abs": abs,
    "round": _round,
    "floor": math.floor,
    "ceil": math.ceil,
    "log": math.log,
    "log2": math.log2,
    "log10": math.log10,
    "exp": math.exp,
    "sin": math.sin,
    "cos": math.cos,
    "tan": math.tan,
    "degrees": math.degrees,
    "radians": math.radians,
    "min": min,
    "max": max,
    "gcd": math.gcd,
    "hypot": math.hypot,
    "factorial": _factorial,
}


def _value(node: ast.expr) -> Number:
    match node:
        case ast.Constant(value=int() | float() as value) if not isinstance(value, bool):
            return _bounded(value)
        case ast.Name(id=name) if name in _CONSTANTS:
            return _CONSTANTS[name]
        case ast.UnaryOp(op=sign, operand=operand) if type(sign) in _SIGNS:
            return _SIGNS[type(sign)](_value(operand))
        case ast.BinOp(left=left, op=ast.Pow(), right=right):
            return _bounded(_power(_value(left), _value(right)))
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _OPERATORS:
            return _bounded(_OPERATORS[type(op)](_value(left), _value(right)))
        case ast.Call(func=ast.Name(id=name), args=arguments, keywords=[]) if name in _FUNCTIONS:
            return _bounded(_FUNCTIONS[name](*map(_value, arguments)))
    raise NotArithmetic("it contains something other than arithmetic")


def _power(base: Number, exponent: Number) -> Number:
    """Raise to a power; refuse a result that would be too large before computing it."""
    if isinstance(base, int) and isinstance(exponent, int) and abs(base) > 1:
        if exponent < 0 and abs(exponent) > MAX_BITS:
            return 0.0
        if base.bit_length() * exponent > MAX_BITS + base.bit_length():
            raise CalculationError("the result is too large")
    result = base**exponent
    if isinstance(result, complex):
        raise CalculationError("the result is not a real number")
    return result


def _bounded(value: Number) -> Number:
    if isinstance(value, int) and value.bit_length() > MAX_BITS:
        raise CalculationError("the result is too large")
    if isinstance(value, float) and not math.isfinite(value):
        raise CalculationError("the result is too large")
    return value


def _written(value: Number) -> str:
    """Format a number as people write it: 7 rather than 7.0, 0.3 rather than 0.30000000000000004."""
    if isinstance(value, float) and not value.is_integer():
        return f"{value:.12g}"
    if isinstance(value, float) and abs(value) >= 10**15:
        return f"{value:.12g}"
    return str(int(value))


_TOKENS = re.compile(
    r"(?:(?:\d++\.?\d*+|\.\d++)(?:e[+-]?\d++)?+(?![\w.])|[a-z][a-z0-9]*+|\*\*|//|[-+*/%(),]|\s)++",
    re.IGNORECASE,
)
"""All permitted tokens; nothing else reaches Python's parser.

The quantifiers are possessive: without them a row of words could be split into names in
exponentially many ways.
"""
_AMBIGUOUS_PERCENT = re.compile(r"[\w)]\s*[+-]\s*\d+(?:\.\d+)?\s*%\s*(?:$|[-+)])")
_PERCENT_OF = re.compile(r"(\d+(?:\.\d+)?)\s*%\s*of\b", re.IGNORECASE)
_PERCENT = re.compile(r"(\d+(?:\.\d+)?)\s*%(?!\s*[\w.(])")
_TYPOGRAPHY: Final = str.maketrans(
    {
        "\u00d7": "*",  # multiplication sign
        "\u00b7": "*",  # middle dot
        "\u00f7": "/",  # division sign
        "\u2212": "-",  # minus sign
        "\u00b2": "**2",
        "\u00b3": "**3",
        "^": "**",
    }
)


def _as_python(expression: str) -> str:
    """Rewrite percentages and typographic signs; "7 % 3" stays the remainder."""
    text = expression.translate(_TYPOGRAPHY)
    if _AMBIGUOUS_PERCENT.search(text):
        raise CalculationError('adding a percentage is ambiguous: write "110% of 50" or "50 + 0.1"')
    text = _PERCENT.sub(r"(\1/100)", _PERCENT_OF.sub(r"(\1/100)*", text))
    if not _TOKENS.fullmatch(text):
        raise NotArithmetic("it is not an arithmetic expression")
    return text
