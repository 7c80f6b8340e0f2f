"""Recordings of a replay as files: terminal recordings and animated pictures."""
