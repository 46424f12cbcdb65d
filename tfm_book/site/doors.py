"""Lead out of a page to where the book is at home: hosted notebooks, the page's source, a report of a mistake.

All addresses follow from one setting, `repository: url:` in `_config.yml`. Without it, no page shows any of them. The
workflow that publishes the book puts it on the branch `gh-pages`, where Colab finds the notebooks.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlsplit

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.config import Config

from tfm_book.site.assets import write

PUBLISHED = "gh-pages"  # the branch with the built book
DOWNLOADS = "_downloads"


@dataclass(frozen=True)
class Repository:
    """The repository at `url`, for example https://github.com/owner/name, whose sources are on `branch`."""

    url: str
    branch: str = "main"

    @classmethod
    def of(cls, config: Config) -> Repository:
        options = config.html_theme_options
        return cls(str(options.get("repository_url", "")).rstrip("/"), options.get("repository_branch") or "main")

    @property
    def path(self) -> str:
        """The owner and the name, as owner/name."""
        return urlsplit(self.url).path.strip("/").removesuffix(".git")

    @property
    def forge(self) -> str:
        """Return "github" or "gitlab", by the address; "" for others."""
        host = urlsplit(self.url).hostname or ""
        return next((forge for forge in ("github", "gitlab") if forge in host), "")

    @property
    def pages(self) -> str:
        """The usual address of the published book; "" where it isn't known."""
        owner, _, name = self.path.partition("/")
        if not self.forge or not name:
            return ""
        own = f"https://{owner.lower()}.{self.forge}.io"
        return own if name.lower() == f"{owner}.{self.forge}.io".lower() else f"{own}/{name}"

    def notebook(self, stem: str) -> list[dict[str, str]]:
        """The services that open a chapter's notebook, each with `name`, `what` and `href`."""
        if self.forge != "github":
            return []
        lab = quote(f"lab/tree/work/{stem}.ipynb", safe="")
        return [
            {
                "name": "Colab",
                "what": "runs the notebook at Google, with an account",
                "href": f"https://colab.research.google.com/github/{self.path}/blob/{PUBLISHED}/{DOWNLOADS}/{stem}.ipynb",
            },
            {
                "name": "Binder",
                "what": "runs it without an account, after some minutes",
                "href": f"https://mybinder.org/v2/gh/{self.path}/{quote(self.branch, safe='')}?urlpath={lab}",
            },
            {
                "name": "Codespaces",
                "what": "opens the whole project in an editor",
                "href": f"https://codespaces.new/{self.path}?ref={quote(self.branch, safe='')}",
            },
        ]

    def edit(self, source: str) -> str:
        """The page of the forge that edits the file `source`; "" where there is none."""
        between = {"github": "/edit/", "gitlab": "/-/edit/"}.get(self.forge)
        return f"{self.url}{between}{self.branch}/{source}" if between else ""

    def report(self, page: str, title: str) -> str:
        """The address for reporting a mistake on `page`; "" without a repository."""
        if not self.url:
            return ""
        subject, body = quote(f"Mistake in “{title}”"), quote(f"On the page {page}:\n\n")
        if self.forge == "gitlab":
            return f"{self.url}/-/issues/new?issue[title]={subject}&issue[description]={body}"
        return f"{self.url}/issues/new?title={subject}&body={body}"

    def wheel(self, name: str) -> str:
        """The address of the library's wheel on the published branch; "" where it isn't known."""
        return f"{self.url}/raw/{PUBLISHED}/{DOWNLOADS}/{name}" if self.forge == "github" else ""


def sitemap(base: str, pages: list[str]) -> str:
    """Return a sitemap of the pages below the address `base`, as XML."""
    lines = [f"  <url><loc>{base.rstrip('/')}/{quote(page)}.html</loc></url>" for page in sorted(pages)]
    head = '<?xml version="1.0" encoding="UTF-8"?>\n<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">'
    return "\n".join([head, *lines, "</urlset>"]) + "\n"


def address(app: Sphinx, config: Config) -> None:
    """Take the usual address of the published book, if none is set."""
    config.html_baseurl = config.html_baseurl or Repository.of(config).pages


def open_doors(
    app: Sphinx, pagename: str, templatename: str, context: dict[str, Any], doctree: nodes.document | None
) -> None:
    """Pass the page's addresses to the template."""
    if doctree is None:
        return
    repository, source = Repository.of(app.config), Path(app.env.doc2path(pagename))
    context["tfm_report"] = repository.report(pagename, context.get("tfm_title", pagename))
    context["tfm_edit"] = repository.edit(source.relative_to(app.srcdir).as_posix())
    has_notebook = any(file["name"].endswith(".ipynb") for file in context.get("tfm_downloads", []))
    context["tfm_doors"] = repository.notebook(source.stem) if has_notebook else []


def map_site(app: Sphinx, error: Exception | None) -> None:
    """Write the sitemap of a book that has an address."""
    file = Path(app.outdir) / "sitemap.xml"
    file.unlink(missing_ok=True)
    if error is None and app.config.html_baseurl and app.builder.format == "html":
        write(file, sitemap(app.config.html_baseurl, list(app.env.found_docs)).encode())


def setup(app: Sphinx) -> None:
    app.connect("config-inited", address, priority=950)
    app.connect("html-page-context", open_doors, priority=940)  # after the downloads and the page's title
    app.connect("build-finished", map_site)
