"""Reports on a class: student feedback, a class overview, and strikingly similar submissions."""
