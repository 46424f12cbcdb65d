"""Export the questions of the chapters' pages as question banks for learning management systems."""
