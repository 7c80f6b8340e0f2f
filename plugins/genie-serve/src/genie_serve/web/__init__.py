"""The page on which guests join a room in a browser, and the gateway behind it."""
