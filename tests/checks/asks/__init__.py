"""What the answers of the questions in the pages rest on, a module a chapter.

`VALUES`: the name of a question for a number or a shape → what the right answer and then each mistake come to, computed;
None for a mistake that nobody computes. `TRIALS`: the name of a question about lines of code → what must hold of the names
that the lines leave; it must fail on the lines as they are shown. `GIVEN`: what these lines may use, made anew each time. `CLAIMS`: the name of another question → what makes its
answer the right one.
"""
