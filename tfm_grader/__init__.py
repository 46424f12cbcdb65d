"""From chapter to grade: assign, collect, grade, report.

The judge and the student's code never share a process. `inside/` is all that runs in the sandbox.
"""
