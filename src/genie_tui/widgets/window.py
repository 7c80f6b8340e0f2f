"""A window onto a column of entries that are drawn only when they come near it.

The height of an entry is an estimate until it is drawn. What the person looks at must not move when
estimates turn out wrong, so everything within one window's height of the visible lines is drawn
before it is shown, and the position is corrected for what changed above.
"""

from collections import OrderedDict
from collections.abc import Callable
from typing import Final

from textual.strip import Strip

from genie_tui.widgets.layout import Heights

KEPT: Final = 512
"""How many drawn entries are kept at most."""

Draw = Callable[[int], list[Strip]]
Estimate = Callable[[int], int]


class Window:
    """Draws entries on demand and knows which lines they occupy.

    `draw` turns the entry with an index into lines, `estimate` guesses how many there will be and
    must be cheap. An index keeps its meaning until `replace_from` or `splice` says otherwise.
    """

    def __init__(self, draw: Draw, estimate: Estimate) -> None:
        self._draw = draw
        self._estimate = estimate
        self._heights = Heights()
        self._exact: set[int] = set()
        self._drawn: OrderedDict[int, list[Strip]] = OrderedDict()

    def __len__(self) -> int:
        return len(self._heights)

    @property
    def height(self) -> int:
        """How many lines there are, as far as is known."""
        return self._heights.total

    def replace_from(self, index: int, length: int) -> None:
        """Say that the entries from `index` on are new, and that there are `length` by now."""
        for stale in range(index, len(self._heights)):
            self._forget(stale)
        self._heights.cut(index)
        self._heights.extend(map(self._estimate, range(index, length)))

    def splice(self, index: int, removed: int, added: int) -> None:
        """Say that `added` new entries stand where `removed` stood, from `index` on.

        Those behind keep their looks under other indices. The time it takes grows with the number
        of entries, so it is for changes that are rare.
        """
        behind, shift = index + removed, added - removed
        before = [self._heights[each] for each in range(index)]
        after = [self._heights[each] for each in range(behind, len(self._heights))]
        kept = {
            each: each if each < index else each + shift
            for each in self._exact
            if not index <= each < behind
        }
        self._drawn = OrderedDict(
            (kept[each], lines) for each, lines in self._drawn.items() if each in kept
        )
        self._exact = set(kept.values())
        self._heights.cut(0)
        self._heights.extend(before)
        self._heights.extend(map(self._estimate, range(index, index + added)))
        self._heights.extend(after)

    def redraw(self, index: int) -> None:
        """Say that an entry looks different now."""
        self._forget(index)

    def redraw_all(self, *, rewrap: bool = False) -> None:
        """Say that all entries look different now; `rewrap` if the width is another, too."""
        self._drawn.clear()
        self._exact.clear()
        if rewrap:
            self.replace_from(0, len(self._heights))

    def at(self, line: int) -> tuple[int, int]:
        """The entry at a line, and which of its lines it is. There must be an entry."""
        return self._heights.find(line)

    def span(self, index: int) -> tuple[int, int]:
        """The first line of an entry and the number of its lines."""
        self._measure(index)
        return self._heights.start(index), self._heights[index]

    def lines(self, index: int) -> list[Strip]:
        """The lines of an entry."""
        drawn = self._drawn.get(index)
        if drawn is None:
            drawn = self._drawn[index] = self._draw(index)
            self._heights.set(index, len(drawn))
            self._exact.add(index)
            if len(self._drawn) > KEPT:
                self._drawn.popitem(last=False)
        else:
            self._drawn.move_to_end(index)
        return drawn

    def settle_end(self, rows: int) -> int:
        """Measure what is near the bottom and return the first visible line there."""
        self._measure_back(len(self._heights), 2 * rows)
        return max(0, self.height - rows)

    def settle(self, top: int, rows: int) -> int:
        """Measure what is near the lines from `top` on and return where that top is by then.

        An entry cut by the top edge keeps its distance from its own end, as when reading upwards.
        """
        if not len(self._heights):
            return 0
        first, inside = self._heights.find(top)
        below = self._heights[first] - inside
        self._measure(first)
        inside = max(0, self._heights[first] - below)
        self._measure_on(first, 2 * rows + inside)
        self._measure_back(first, rows)
        return self.clamp(self._heights.start(first) + inside, rows)

    def settle_by(self, index: int, distance: int, rows: int) -> int:
        """Measure what is near an entry and return the first visible line.

        That is the one from which the entry starts `distance` lines below, or above if negative.
        """
        self._measure_back(index, rows + max(0, distance))
        self._measure_on(index, 2 * rows + max(0, -distance))
        return self.clamp(self._heights.start(index) - distance, rows)

    def clamp(self, top: int, rows: int) -> int:
        """The nearest line that can be the first visible one."""
        return max(0, min(top, self.height - rows))

    def _measure_on(self, index: int, rows: int) -> None:
        while rows > 0 and index < len(self._heights):
            self._measure(index)
            rows -= self._heights[index]
            index += 1

    def _measure_back(self, index: int, rows: int) -> None:
        while rows > 0 and index > 0:
            index -= 1
            self._measure(index)
            rows -= self._heights[index]

    def _measure(self, index: int) -> None:
        if index not in self._exact:
            self.lines(index)

    def _forget(self, index: int) -> None:
        self._exact.discard(index)
        self._drawn.pop(index, None)
