"""Actors, tasks, threads and progress: what the engine runs on."""
