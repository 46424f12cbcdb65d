"""Where things are, for the tests that look at the project as a whole."""

import ast
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parent.parent
CHAPTERS = ROOT / "chapters"

NOT_CORE = {"cli"}  # the command line stands beside the packages, not among the ideas
CORE = sorted(
    path.stem for path in (ROOT / "tfm_lib").glob("*.py") if not path.stem.startswith("_") and path.stem not in NOT_CORE
)
PRIVATE = sorted(path.stem for path in (ROOT / "tfm_lib").glob("_*.py") if path.stem != "__init__")


def tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"), str(path))


IN_THE_SANDBOX = (
    "tfm_grader.sandbox.inside"  # has another name in there, so that its modules import each other relatively
)


def imports(nodes, package: str = "") -> set[str]:
    """The dotted names that the import statements among `nodes`, of a module in `package`, may bring in."""
    names = set()
    for node in nodes:
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            relative = node.level == 1 and package == IN_THE_SANDBOX
            assert node.level == 0 or relative, f"line {node.lineno}: relative imports hide where a name comes from"
            module = ".".join(filter(None, [package, node.module])) if relative else node.module
            names |= {module} | {f"{module}.{alias.name}" for alias in node.names}
    return names


@cache
def shown() -> list[tuple[str, str, str | None]]:
    """Every piece of code that a chapter shows from a file: (chapter, file, name)."""
    from tfm_book.notebooks.myst import blocks, within

    pieces = []
    for chapter in sorted(CHAPTERS.glob("*.md")):
        for block in (inner for outer in blocks(chapter.read_text(encoding="utf-8")) for inner in within(outer)):
            if block.name in ("literalinclude", "excerpt"):
                file = (CHAPTERS / block.argument).resolve().relative_to(ROOT).as_posix()
                pieces.append((chapter.stem, file, block.options.get("pyobject")))
    return pieces
