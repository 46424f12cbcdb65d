"""Export grades to CSV, Canvas, Moodle, Gradescope and nbgrader, and feedback as LMS archives."""
