"""Reports on a class: feedback for each student, an overview, and answers that are strikingly alike."""
