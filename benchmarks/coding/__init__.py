"""Coding and chat tasks, played by a scripted model through the real client code."""
