"""A room as lines of text: for screen readers, simple terminals, pipes and scripts."""
