"""Actors, tasks, threads and progress: the foundation of the engine."""
