"""Where entries of different heights lie in a long column.

Heights live in a binary indexed tree (P. Fenwick, 1994: "A new data structure for cumulative
frequency tables"), so that appending, changing a height and finding the entry at a line each cost
time logarithmic in the number of entries.
"""

from collections.abc import Iterable


class Heights:
    """The heights of a column of entries, in lines, and their running sums."""

    def __init__(self) -> None:
        self._height: list[int] = []
        self._tree: list[int] = [0]  # node i covers the i & -i entries that end with entry i - 1

    def __len__(self) -> int:
        return len(self._height)

    def __getitem__(self, index: int) -> int:
        return self._height[index]

    @property
    def total(self) -> int:
        """The height of the whole column."""
        return self.start(len(self._height))

    def append(self, height: int) -> None:
        """Add an entry at the bottom."""
        self._height.append(height)
        node = len(self._height)
        whole, child = height, 1
        while child < node & -node:
            whole += self._tree[node - child]
            child <<= 1
        self._tree.append(whole)

    def extend(self, heights: Iterable[int]) -> None:
        """Add entries at the bottom."""
        for height in heights:
            self.append(height)

    def cut(self, length: int) -> None:
        """Remove the entries from index `length` on."""
        del self._height[length:]
        del self._tree[length + 1 :]

    def set(self, index: int, height: int) -> int:
        """Change an entry's height and return by how much it grew."""
        growth = height - self._height[index]
        if growth:
            self._height[index] = height
            node = index + 1
            while node < len(self._tree):
                self._tree[node] += growth
                node += node & -node
        return growth

    def start(self, index: int) -> int:
        """The line at which an entry starts; for the length, the line after the last."""
        line = 0
        while index:
            line += self._tree[index]
            index &= index - 1
        return line

    def find(self, line: int) -> tuple[int, int]:
        """The entry that a line belongs to, and which of its lines it is.

        Lines outside the column belong to its first or last entry. There must be an entry.
        """
        line = max(0, min(line, self.total - 1))
        node, rest = 0, line
        step = 1 << len(self._height).bit_length()
        while step := step >> 1:
            if node + step < len(self._tree) and self._tree[node + step] <= rest:
                node += step
                rest -= self._tree[node]
        return node, rest
