"""The screens of the app, one module and one style sheet each."""
