"""Where things are, for the tests that look at the project as a whole."""

import ast
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
    "tfm_lib.classroom.inside"  # has another name in there, so that its modules import each other relatively
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
