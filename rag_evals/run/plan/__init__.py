"""What will be graded, by whom, and when is it enough? Checked before anything is sent."""
