"""Commands and options of genie-serve."""
