"""One person's engine in a room: its runs, the approval of its tool calls, and its reports."""
