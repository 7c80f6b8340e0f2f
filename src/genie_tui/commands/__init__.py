"""The commands of the app and of a room: their names, their syntax, and the code that runs them."""
