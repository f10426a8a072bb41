# SPDX-License-Identifier: Apache-2.0
"""Functions that MkDocs calls during a build. They change the titles, the navigation of header pages, and the search."""

import html
import json
import pathlib
import re

ROOT = pathlib.Path(__file__).resolve().parents[2]
OF_HEADER = re.compile(r"reference/([^/]+)/.+\.md$")


# The page of words: a row of a table explains a word.
WORDS = "guide/words"
WORD = re.compile(r"^\| (?!word \|)([^|]*[^|\s-]) \| (.+) \|$", re.MULTILINE)


def plain(cell):
    """Returns the text of a cell, without links, stars and backquotes."""
    return html.escape(re.sub(r"[`*]", "", re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", cell)))


def anchor_of(word):
    return "word-" + re.sub(r"[^a-z0-9]+", "-", plain(word).lower()).strip("-")


def on_page_markdown(markdown, page, config, files):
    """Removes the backquotes from the title of a page: the navigation does not read Markdown and would show them. Gives each
    word of the page of words an anchor.
    """
    page.title = page.title.replace("`", "")
    if page.file.src_uri == f"{WORDS}.md":
        return WORD.sub(lambda row: f'| <span id="{anchor_of(row[1])}"></span>{row[1]} | {row[2]} |', markdown)


def on_page_context(context, page, config, nav):
    """Marks the overview of the room as active in the navigation while the page of a header is rendered.

    The page of a header is not in the navigation itself: with all headers there, each page of the site would be more than
    twice as large.
    """
    if match := OF_HEADER.match(page.file.src_uri):
        page.shown_as = next(other for other in nav.pages if other.file.src_uri == f"reference/{match[1]}.md")
        page.shown_as.active = True


def on_post_page(output, page, config):
    """Removes the mark of `on_page_context`: MkDocs would keep it, and show it on the next pages too."""
    if hasattr(page, "shown_as"):
        page.shown_as.active = False


def on_post_build(config):
    """Changes the search index: the title of a public name's entry begins with the whole name, as `Router::dispatch`
    instead of `dispatch`, and the pages of files in other top-level folders than docs (examples, tests) have no entries. Each
    word of the page of words gets an entry of its own, because the search prefers titles. A name that is
    also that of a room, as `train`, gets a tag: without it the pages of the room would come first.

    Trap: an entry is removed if the first folder of its address has the name of a folder at the top of the repository, so
    a folder of docs must not have such a name.
    """
    path = pathlib.Path(config["site_dir"], "search/search_index.json")
    index = json.loads(path.read_text())
    index["docs"] = [entry for entry in index["docs"] if not (ROOT / entry["location"].partition("/")[0]).is_dir()]
    rooms = {path.name for path in (ROOT / "include/distrib").iterdir() if path.is_dir()}
    for entry in index["docs"]:
        page, _, anchor = entry["location"].partition("#")
        first, comma, others = entry["title"].partition(",")
        name = anchor.replace(".", "::")
        if page.startswith("reference/") and name.endswith("::" + first):
            entry["title"] = name + comma + others
        if page.startswith("reference/") and page.count("/") > 1 and name in rooms:
            entry["tags"] = [name]
    index["docs"] += [{"location": f"{WORDS}.html#{anchor_of(word)}", "title": plain(word), "text": plain(meaning)}
                      for word, meaning in WORD.findall((ROOT / f"docs/{WORDS}.md").read_text())]
    path.write_text(json.dumps(index, separators=(",", ":")))
