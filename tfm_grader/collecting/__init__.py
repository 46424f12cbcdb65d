"""Collect submissions: match files to students, choose the copy that counts, report unreadable files."""
