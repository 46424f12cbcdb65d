"""Grade an assignment end to end: assign, collect, grade and report.

A submission goes through the packages in this order: `collecting`, `judging` (which runs it in `sandbox`), `scoring`,
`reports` and `exports`; `assignment` makes what is graded. The judge and the student's code never share a process:
only `sandbox/inside/` runs in the same process as the student's code.
"""
