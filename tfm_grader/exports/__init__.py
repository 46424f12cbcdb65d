"""Writes grades for other programs: CSV, Canvas, Moodle, Gradescope, nbgrader; and feedback as their archives."""
