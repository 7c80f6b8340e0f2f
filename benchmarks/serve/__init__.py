"""What a service with many rooms takes, and what a burst in one room does to the others."""
