"""The hub's settings are Python that sets what it says, without starting a hub."""

import runpy
from pathlib import Path

from project import ROOT
from traitlets.config import Config

HUB = ROOT / "classroom" / "hub"


def settings(path: Path) -> Config:
    made = Config()
    runpy.run_path(str(path), init_globals={"get_config": lambda: made})
    return made


def test_hub_lets_in_whom_it_is_told_to_and_passes_on_what_nbgrader_needs(monkeypatch):
    for name, value in {"COURSE": "attention-101", "INSTRUCTORS": "ada", "STUDENTS": "ben,cho"}.items():
        monkeypatch.setenv(f"TFM_{name}", value)
    hub = settings(HUB / "jupyterhub_config.py")
    assert (hub.Authenticator.admin_users, hub.Authenticator.allowed_users) == ({"ada"}, {"ada", "ben", "cho"})
    environment = hub.Spawner.environment
    folder = Path(environment["JUPYTER_CONFIG_PATH"])
    for name in ("TFM_COURSE", "TFM_EXCHANGE"):
        monkeypatch.setenv(name, environment[name])
    made = settings(folder / "nbgrader_config.py")
    assert made.CourseDirectory.course_id == "attention-101"
    assert made.Exchange.root == environment["TFM_EXCHANGE"]
