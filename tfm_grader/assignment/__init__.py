"""Make assignments: exercises from chapters, the student's hand-out, and the bundle that grades it."""
