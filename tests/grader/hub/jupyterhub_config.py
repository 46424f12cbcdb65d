"""The book's hub on ports that are free; everything else is classroom/hub/jupyterhub_config.py as it stands."""

import os

c = get_config()  # noqa: F821 (JupyterHub gives it)

load_subconfig(os.environ["HUB_CONFIG"])  # noqa: F821 (JupyterHub gives it)
c.JupyterHub.hub_port = int(os.environ["HUB_PORT"])
c.ConfigurableHTTPProxy.api_url = f"http://127.0.0.1:{os.environ['HUB_PROXY_PORT']}"
c.JupyterHub.services = [{"name": "driver", "api_token": os.environ["HUB_DRIVER"]}]
c.JupyterHub.load_roles = [{"name": "driver", "services": ["driver"], "scopes": ["servers", "tokens"]}]
c.Spawner.start_timeout = c.Spawner.http_timeout = 600  # a busy machine
c.PAMAuthenticator.open_sessions = False  # no records of this machine's logins
