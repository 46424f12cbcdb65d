"""The oldest version of each package that `pyproject.toml` allows, one a line, as constraints for pip: `make old`."""

import re
import tomllib

from project import ROOT

AT_LEAST = re.compile(r"([\w.-]+)>=([\w.]+)(?:,.*)?")


def floors() -> list[str]:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    lines = [*project["dependencies"], *(line for extra in project["optional-dependencies"].values() for line in extra)]
    return sorted({f"{found[1]}=={found[2]}" for line in lines if (found := AT_LEAST.fullmatch(line))})


if __name__ == "__main__":
    print("\n".join(floors()))
