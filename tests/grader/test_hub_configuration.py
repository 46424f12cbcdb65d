"""The hub's settings are Python that sets what it says, without starting a hub."""

import runpy
from pathlib import Path

import pytest
from project import ROOT
from traitlets.config import Config

HUB = ROOT / "classroom" / "hub"


def settings(path: Path) -> Config:
    made = Config()
    runpy.run_path(str(path), init_globals={"get_config": lambda: made})
    return made


def test_hub_lets_in_whom_it_is_told_to(monkeypatch):
    monkeypatch.setenv("TFM_INSTRUCTORS", "ada")
    monkeypatch.setenv("TFM_STUDENTS", "ben,cho")
    made = settings(HUB / "jupyterhub_config.py")
    assert made.Authenticator.allowed_users == {"ada", "ben", "cho"}
    assert made.Authenticator.admin_users == {"ada"}
    assert made.JupyterHub.bind_url.startswith("http://127.0.0.1")


def test_spawner_passes_on_what_nbgrader_needs(monkeypatch):
    monkeypatch.setenv("TFM_COURSE", "attention-101")
    environment = settings(HUB / "jupyterhub_config.py").Spawner.environment
    folder = Path(environment["JUPYTER_CONFIG_PATH"])
    for name in ("TFM_COURSE", "TFM_EXCHANGE"):
        monkeypatch.setenv(name, environment[name])
    made = settings(folder / "nbgrader_config.py")
    assert made.CourseDirectory.course_id == "attention-101"
    assert made.Exchange.root == environment["TFM_EXCHANGE"]


def test_nbgrader_config_needs_its_environment(monkeypatch):
    monkeypatch.delenv("TFM_COURSE", raising=False)
    with pytest.raises(KeyError, match="TFM_COURSE"):
        settings(HUB / "jupyter" / "nbgrader_config.py")
