# SPDX-License-Identifier: Apache-2.0
"""What MkDocs calls while it builds: the navigation beside the page of a header, and the entries of the search."""

import json
import pathlib
import re

ROOT = pathlib.Path(__file__).resolve().parents[2]
OF_HEADER = re.compile(r"reference/([^/]+)/.+\.md$")


def on_page_markdown(markdown, page, config, files):
    """The navigation shows titles as they are written."""
    page.title = page.title.replace("`", "")


def on_page_context(context, page, config, nav):
    """The page of a header is not in the navigation, which would make each page large. It is shown there as its room."""
    if match := OF_HEADER.match(page.file.src_uri):
        page.shown_as = next(other for other in nav.pages if other.file.src_uri == f"reference/{match[1]}.md")
        page.shown_as.active = True


def on_post_page(output, page, config):
    if hasattr(page, "shown_as"):
        page.shown_as.active = False


def on_post_build(config):
    """The entry of a name gets its whole name as the title. Pages of files outside of docs are left out."""
    path = pathlib.Path(config["site_dir"], "search/search_index.json")
    index = json.loads(path.read_text())
    index["docs"] = [entry for entry in index["docs"] if not (ROOT / entry["location"].partition("/")[0]).is_dir()]
    for entry in index["docs"]:
        page, _, anchor = entry["location"].partition("#")
        first, comma, others = entry["title"].partition(",")
        name = anchor.replace(".", "::")
        if page.startswith("reference/") and name.endswith("::" + first):
            entry["title"] = name + comma + others
    path.write_text(json.dumps(index, separators=(",", ":")))
