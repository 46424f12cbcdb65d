"""Serve the built pages, and the kernels that run what is written in them, from one local Jupyter server: `tfm read`."""

from __future__ import annotations

import json
import os
import secrets
from collections.abc import Callable
from pathlib import Path
from typing import Any

from jupyter_server.auth.decorator import authorized
from jupyter_server.base.handlers import APIHandler, JupyterHandler
from jupyter_server.extension.application import ExtensionApp
from tornado.web import StaticFileHandler, authenticated
from traitlets import Unicode

from tfm_exercises import IN_PAGES
from tfm_exercises.mine.store import NotKept
from tfm_exercises.mine.store import read as read_kept

PREFIX = "tfm-read"  # of the pages' addresses; theme/write.js knows by it that a kernel can be had
LAST = ".last-page"  # in the working copy: where the reader was


class Page(JupyterHandler, StaticFileHandler):
    """A file of the built book, for whoever has the server's token: a page of this origin may start kernels."""

    auth_resource = "contents"

    @property
    def content_security_policy(self) -> str:
        """No page of another origin frames ours; what else is allowed stands in each page itself."""
        return "frame-ancestors 'none'"

    @authenticated
    @authorized
    async def get(self, path: str, include_body: bool = True) -> None:
        if self.get_argument("token", ""):  # it is a cookie by now, and leaves the address
            self.redirect(self.request.path)
            return
        _ = self.xsrf_token  # reading it sets the cookie without which no kernel is started
        if path.endswith(".html"):
            self.settings["tfm_last"].write_text(path, encoding="utf-8")
        await StaticFileHandler.get(self, path, include_body)

    def set_extra_headers(self, path: str) -> None:
        self.set_header("Cache-Control", "no-cache")  # the browser asks again, so it shows a rebuilt page


class Solved(APIHandler):
    """The ids of the exercises whose answers are kept, whether they passed in a page or in a notebook."""

    auth_resource = "contents"

    @authenticated
    @authorized
    def get(self) -> None:
        try:
            kept = sorted(read_kept()["answers"])
        except NotKept:  # damaged; the next check in a page says so
            kept = []
        self.finish(json.dumps(kept))


class Reading(ExtensionApp):
    """The book as an application of a Jupyter server."""

    name = "tfm_read"
    extension_url = f"/{PREFIX}/index.html"
    load_other_extensions = False  # no terminals, nobody else's pages
    pages = Unicode(help="The folder of the built pages.").tag(config=True)

    @classmethod
    def get_extension_package(cls) -> str:
        return __name__  # where Jupyter asks for _jupyter_server_extension_points

    def initialize_settings(self) -> None:
        self.settings["tfm_last"] = Path(self.serverapp.root_dir) / LAST

    def initialize_handlers(self) -> None:
        self.handlers.append((f"/{PREFIX}/_solved", Solved))
        self.handlers.append((rf"/{PREFIX}/(.*)", Page, {"path": self.pages, "default_filename": "index.html"}))


def _jupyter_server_extension_points() -> list[dict[str, Any]]:
    return [{"module": __name__, "app": Reading}]


def serve(pages: Path, folder: Path, port: int, open_browser: bool, tell: Callable[[str], None]) -> None:
    """Serve `pages`, and kernels that work in `folder`, to this machine only until Ctrl-C; `tell` is given the address."""
    try:
        last = (folder / LAST).read_text(encoding="utf-8")
    except (OSError, ValueError):
        last = ""
    first = last if (pages / last).is_file() else "index.html"
    token = secrets.token_hex(24)
    options = {
        "Reading.pages": pages,
        "Reading.default_url": f"/{PREFIX}/{first}",
        "ServerApp.default_url": f"/{PREFIX}/{first}",
        "ServerApp.root_dir": folder,
        "ServerApp.ip": "127.0.0.1",
        "ServerApp.port": port,
        "ServerApp.open_browser": open_browser,
        "ServerApp.allow_root": True,  # as whoever built the book
        "ServerApp.answer_yes": True,  # Ctrl-C is not asked about: what was written is kept
        "ServerApp.log_level": "ERROR",
        "IdentityProvider.token": token,
        "MappingKernelManager.cull_idle_timeout": 3600,  # seconds: a page that is left open holds no memory for ever
        "MappingKernelManager.cull_connected": True,
        "MappingKernelManager.cull_busy": True,  # an answer may run for seconds only
    }
    os.environ[IN_PAGES] = "1"
    server = Reading.initialize_server([f"--{name}={value}" for name, value in options.items()])
    address = f"http://127.0.0.1:{server.port}/{PREFIX}/{first}?token={token}"
    server.io_loop.add_callback(tell, address)  # the server listens from the loop's first callback on, not before
    server.start()
