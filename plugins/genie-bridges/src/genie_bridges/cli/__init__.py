"""Commands and options of genie-bridges."""
