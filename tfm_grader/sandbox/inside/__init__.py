"""What runs inside the sandbox, and the wire that both sides speak.

Nothing here imports anything of the book: the sandbox holds this folder, Python, numpy and torch, and
nothing else. Its modules import each other relatively, because the folder has another name in there.
"""
