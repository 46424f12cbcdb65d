"""Where things are, for the tests that look at the project as a whole."""

from pathlib import Path

ROOT = Path(__file__).parent.parent
CHAPTERS = ROOT / "chapters"

NOT_CORE = {"cli"}  # the command line stands beside the packages, not among the ideas
CORE = sorted(
    path.stem for path in (ROOT / "tfm_lib").glob("*.py") if not path.stem.startswith("_") and path.stem not in NOT_CORE
)
