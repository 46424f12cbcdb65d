"""The code that runs inside the sandbox, and the wire protocol shared by both sides.

Nothing here imports the book's packages: the sandbox contains only this folder, Python, numpy and torch.
Imports are relative, because the folder has another name in the sandbox.
"""
