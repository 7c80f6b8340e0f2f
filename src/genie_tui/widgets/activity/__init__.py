"""The activity panel: every decision, approval, answer and failure, two lines each."""
