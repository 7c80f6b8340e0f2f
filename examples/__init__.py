"""Small programs that embed the engine; run one with `python -m examples.tutorial`."""
