"""A JupyterHub for one course, as small as it can be: one instructor, students, nbgrader's exchange, our grading.

Read it before use; run it with `jupyterhub -f classroom/hub/jupyterhub_config.py`. It needs the extra `hub` of this library,
`npm install -g configurable-http-proxy`, and users of the operating system: nbgrader's exchange knows people by them.
"""

import os
from pathlib import Path

c = get_config()  # noqa: F821 (JupyterHub gives it)

COURSE = os.environ.get("TFM_COURSE", "transformer")
EXCHANGE = os.environ.get("TFM_EXCHANGE", "/srv/nbgrader/exchange")  # a folder that everyone may write to: chmod 1777
INSTRUCTORS = set(filter(None, os.environ.get("TFM_INSTRUCTORS", "instructor").split(",")))
STUDENTS = set(filter(None, os.environ.get("TFM_STUDENTS", "").split(",")))
HERE = Path(__file__).parent

c.JupyterHub.bind_url = os.environ.get("TFM_HUB_URL", "http://127.0.0.1:8000")  # behind a proxy that speaks TLS
c.JupyterHub.hub_ip = "127.0.0.1"
c.JupyterHub.cleanup_servers = True

c.Authenticator.allowed_users = INSTRUCTORS | STUDENTS
c.Authenticator.admin_users = INSTRUCTORS

c.Spawner.default_url = "/lab"
# The course's folder must lie under the notebook root, or every page of the formgrader answers with an error.
c.Spawner.notebook_dir = "~"
# The spawner passes hardly any environment on: what nbgrader needs to find its settings must be named here.
c.Spawner.environment = {
    "JUPYTER_CONFIG_PATH": str(HERE / "jupyter"),
    "TFM_COURSE": COURSE,
    "TFM_EXCHANGE": EXCHANGE,
    "OMP_NUM_THREADS": "1",
}
c.Spawner.mem_limit = "4G"  # kept by spawners that can, such as SystemdSpawner and DockerSpawner
c.Spawner.cpu_limit = 2
