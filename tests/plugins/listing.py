"""Writes what pytest has collected, with each test's fixtures, into the file `TFM_LISTING`. It rests on no other file of ours."""

import json
import os
from pathlib import Path

import pytest


def pytest_collection_finish(session: pytest.Session) -> None:
    found = {item.nodeid: sorted(getattr(item, "fixturenames", ())) for item in session.items}
    Path(os.environ["TFM_LISTING"]).write_text(json.dumps(found), encoding="utf-8")
