"""The commands of the app and of a room: what they are called, how they are typed, and what runs them."""
