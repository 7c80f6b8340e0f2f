"""Commands and options of genie-eval."""
