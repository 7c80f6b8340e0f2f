"""The settings of one person and the folders of one installation."""
