"""A course of one instructor and two students on the hub, from release to feedback, as classroom/hub/README.md says it."""

from __future__ import annotations

import csv
import os
import pwd
import re
import secrets
import shutil
import socket
import subprocess
import time
from pathlib import Path

import requests
from project import ROOT

INSTRUCTOR, STUDENTS = "ada", ["ben", "cho"]
COURSE, ASSIGNMENT = "transformer", {"course_id": "transformer", "assignment_id": "masks"}
HUB = ROOT / "classroom" / "hub"
README = (HUB / "README.md").read_text(encoding="utf-8")
STEPS = re.findall(r"^ *```sh\n(.*?)^ *```", README, re.MULTILINE | re.DOTALL)  # the instructor's, in order
PATIENCE = 600  # seconds, on a busy machine


def settings(folder: Path) -> dict[str, str]:
    """The environment that the hub is started with."""
    exchange = folder / "exchange"
    exchange.mkdir()
    exchange.chmod(0o1777)
    site, hub, proxy = (_free_port() for _ in range(3))
    return {
        "HUB_CONFIG": str(HUB / "jupyterhub_config.py"),
        "TFM_INSTRUCTORS": INSTRUCTOR,
        "TFM_STUDENTS": ",".join(STUDENTS),
        "TFM_EXCHANGE": str(exchange),
        "TFM_HUB_URL": f"http://127.0.0.1:{site}",
        "HUB_PORT": str(hub),
        "HUB_PROXY_PORT": str(proxy),
        "HUB_DRIVER": secrets.token_hex(16),
    }


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Person:
    """Somebody who has logged in at the hub with a name and a password, and whose server runs."""

    def __init__(self, settings: dict[str, str], name: str, password: str):
        self.hub, self.name, self.settings = f"{settings['TFM_HUB_URL']}/hub", name, settings
        self.home = Path(pwd.getpwnam(name).pw_dir)
        self._log_in("not the password", succeeds=False)
        self._log_in(password, succeeds=True)
        driver = {"Authorization": f"token {settings['HUB_DRIVER']}"}
        made = requests.post(f"{self.hub}/api/users/{name}/tokens", headers=driver, json={})
        made.raise_for_status()
        self.head = {"Authorization": f"token {made.json()['token']}"}
        requests.post(f"{self.hub}/api/users/{name}/server", headers=driver)  # unless logging in has started it
        until(lambda: self.get("api/status").ok, f"{name}'s server does not start")

    def _log_in(self, password: str, succeeds: bool) -> None:
        session = requests.Session()
        session.get(f"{self.hub}/login").raise_for_status()
        form = {"username": self.name, "password": password, "_xsrf": session.cookies["_xsrf"]}
        answer = session.post(f"{self.hub}/login", data=form, allow_redirects=False)
        assert (answer.status_code == 302) is succeeds, f"{self.name}: {answer.status_code}"

    def get(self, path: str) -> requests.Response:
        return requests.get(f"{self.settings['TFM_HUB_URL']}/user/{self.name}/{path}", headers=self.head)

    def post(self, path: str, **form: str) -> dict:
        """What the server answers to a click in the menu of nbgrader."""
        answer = requests.post(f"{self.settings['TFM_HUB_URL']}/user/{self.name}/{path}", json=form, headers=self.head)
        answer.raise_for_status()
        said = answer.json()
        assert said.get("success"), said
        return said

    def shell(self, commands: str) -> None:
        """Run `commands` in the book's folder, in the environment that the hub gives to servers and their terminals."""
        environment = {**os.environ, "HOME": str(self.home), "USER": self.name, "TFM_COURSE": COURSE}
        environment |= {"JUPYTER_CONFIG_PATH": str(HUB / "jupyter"), "TFM_EXCHANGE": self.settings["TFM_EXCHANGE"]}
        done = subprocess.run(
            ["bash", "-e", "-c", commands],
            check=False,
            cwd=ROOT,
            env=environment,
            user=self.name,
            group=self.name,
            extra_groups=[],
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, f"{commands}\n{done.stdout}{done.stderr}"

    def put(self, text: bytes, path: Path) -> None:
        """Save a file of this person's own."""
        path.write_bytes(text)
        shutil.chown(path, self.name, self.name)


def until(holds, otherwise: str) -> None:
    """Wait until `holds()`."""
    deadline = time.monotonic() + PATIENCE
    while True:
        try:
            if holds():
                return
        except requests.ConnectionError:
            pass
        assert time.monotonic() < deadline, otherwise
        time.sleep(0.5)


def hold(folder: Path, settings: dict[str, str], password: str, hub: subprocess.Popen) -> None:
    """The course; an assertion fails where it does not go as it should."""
    url = settings["TFM_HUB_URL"]
    until(lambda: hub.poll() is not None or requests.get(f"{url}/hub/health").ok, "the hub does not start")
    assert hub.poll() is None, "the hub ended"
    release, grade, feedback = STEPS
    ada = Person(settings, INSTRUCTOR, password)
    ada.shell(release)
    class_ = [Person(settings, name, password) for name in STUDENTS]
    for student in class_:
        listed = student.post("assignments/fetch", **ASSIGNMENT)
        assert [each["status"] for each in listed["value"]] == ["fetched"]
    ben, cho = class_
    ben.put((ada.home / "transformer/masks/solution/masking.ipynb").read_bytes(), ben.home / "masks" / "masking.ipynb")
    for student in class_:
        listed = student.post("assignments/submit", **ASSIGNMENT)
        assert "submitted" in [each["status"] for each in listed["value"]]
    ada.shell(grade)
    text = (ada.home / "transformer/masks/report/grades.csv").read_text(encoding="utf-8-sig")
    rows = {row["student"]: row for row in csv.DictReader(text.splitlines())}
    assert rows["ben"]["points"] == rows["ben"]["of"] != "0"
    assert rows["cho"]["points"] == "0"
    scored = {row["student"]: row["score"] for row in ada.get("formgrader/api/submissions/masks").json()}
    assert scored == {name: float(row["points"]) for name, row in rows.items()}
    ada.shell(feedback)
    for student, other in ((ben, cho), (cho, ben)):
        student.post("assignments/fetch_feedback", **ASSIGNMENT)
        (page,) = (student.home / "masks" / "feedback").glob("*/masking.html")
        told = page.read_text(encoding="utf-8")
        assert f"{rows[student.name]['points']} of {rows[student.name]['of']} points" in told
        assert other.name not in told
