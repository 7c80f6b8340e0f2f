"""Where a person writes: the editor, completion, and what goes with the next message."""
