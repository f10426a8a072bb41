#!/usr/bin/python3 -B
# SPDX-License-Identifier: Apache-2.0
"""Writes the input of MkDocs: the pages of docs, the reference, and pages for the files that these pages link to.

usage: write_pages.py FOLDER

Removes FOLDER with all its contents, then writes FOLDER/pages (the Markdown), FOLDER/mkdocs.yml (the configuration with
the navigation) and FOLDER/names.json (the page and the anchor of each public name).
"""

import json
import pathlib
import posixpath
import re
import shutil
import sys

SITE = pathlib.Path(__file__).resolve().parent
ROOT = SITE.parents[1]
sys.path.insert(0, str(ROOT / "tools"))
import reference
import write_reference
from links import Links

PROJECT = ["CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md"]
PICTURES = (".svg", ".png")
# The language of a block of code, for the ends of file names that are not the name of the language themselves.
LANGUAGES = {"hpp": "cpp", "ipp": "cpp", "sbatch": "sh", "yml": "yaml", "expected": "text", "txt": "text", "jinja": "text"}
# Lines of a README in docs: a heading, or a bold line in place of one; a row of a table, or an entry of a list.
HEADING = re.compile(r"^(?:#{2,} +|\*\*)(?:\d+\. )?([^*]+)(?:\*\*)?$")
ENTRY = re.compile(r"^(?:\||- |\d+\. )")
LINKED = re.compile(r"\]\(([^)#\s]+)")
# A comment with the path of a file above a block of code that is quoted from it. The path becomes the title of the block.
QUOTED = re.compile(r"^<!-- ([\w./-]+) -->\n(```\w+)$", re.MULTILINE)


def page_text(path, page, links):
    """Returns the page for a path of the repository. A Markdown file gets the links of the site, another file becomes a
    block of code, and a folder is its README.md, or else the list of all text files in it that are not empty.
    """
    file = ROOT / path
    if file.is_dir() and (file / "README.md").exists():
        path, file = f"{path}/README.md", file / "README.md"
    if file.is_dir():
        names = sorted(str(name.relative_to(file)) for name in file.rglob("*") if name.is_file() and is_text(name))
        return links.linked("\n".join([f"# {path}", "", *(f"- [{name}]({name})" for name in names)]), f"{path}/README.md", page)
    if path.endswith(".md"):
        return links.linked(QUOTED.sub(r'\2 title="\1"', file.read_text()), path, page)
    suffix = path.rpartition("/")[2].rpartition(".")[2]
    text = file.read_text().rstrip("\n")
    fence = "`" * max(3, 1 + max(map(len, re.findall("`+", text)), default=0))
    return f"# {path}\n\n{fence}{LANGUAGES.get(suffix, suffix)}\n{text}\n{fence}\n"


def is_text(path):
    try:
        return "__pycache__" not in path.parts and bool(path.read_text())
    except UnicodeDecodeError:
        return False


def chapters(folder, docs):
    """Returns the navigation of a folder of docs: the README, then the pages that it lists, in its order and under its
    headings, then the other pages. If more than half of the pages are not listed, returns all pages without headings.
    """
    readme = f"docs/{folder}/README.md"
    left = [path for path in docs if path.startswith(f"docs/{folder}/") and path != readme]
    found, heading = {}, ""
    for line in (ROOT / readme).read_text().splitlines() if readme in docs else []:
        if match := HEADING.match(line):
            heading = match[1].strip()
        for link in LINKED.findall(line) if ENTRY.match(line) else []:
            path = posixpath.normpath(posixpath.join(f"docs/{folder}", link))
            if path in left:
                found.setdefault(heading, []).append(path.removeprefix("docs/"))
                left.remove(path)
    pages = [path.removeprefix("docs/") for path in docs if path.startswith(f"docs/{folder}/")]
    pages.sort(key=lambda page: not page.endswith(f"{folder}/README.md"))
    if 2 * len(left) > len(pages):
        return pages
    return [*pages[:1], *({name: paths} for name, paths in found.items()), *(path.removeprefix("docs/") for path in left)]


def navigation(docs, rooms):
    own = sorted({path.split("/")[1] for path in docs if path.count("/") > 1} - {"guide", "design"})
    more = [path.removeprefix("docs/") for path in docs if path.count("/") == 1]
    return [
        {"Home": "index.md"},
        {"Guide": [*chapters("guide", docs), *([{"More": more}] if more else [])]},
        {"Reference": ["reference/README.md", "reference/errors.md", {"Rooms": rooms}]},
        *({folder.capitalize(): chapters(folder, docs)} for folder in ["design", *own]),
        {"Project": PROJECT},
    ]


def write_wanted(paths, links, pages):
    """Writes a page for each of these paths of the repository, and for each path that one of the pages, or the reference,
    links to. A path that does not exist gets no page: the checks of the site report the link.
    """
    todo, done = list(paths), set()
    while todo:
        path = todo.pop()
        page = links.page_of(path)
        if page in done or page.startswith("reference/") or not (ROOT / path).exists():
            continue
        done.add(page)
        (pages / page).parent.mkdir(parents=True, exist_ok=True)
        if path.endswith(PICTURES):
            shutil.copy(ROOT / path, pages / page)
        else:
            (pages / page).write_text(page_text(path, page, links))
        todo += links.wanted


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    folder = pathlib.Path(sys.argv[1]).resolve()
    shutil.rmtree(folder, ignore_errors=True)
    pages = folder / "pages"
    shutil.copytree(SITE / "style", pages / "style")
    reader = reference.Reader(ROOT)
    names = write_reference.names_of(reader)
    links = Links(ROOT, reader.headers, names, write_reference.aliases_of(reader))
    rooms = write_reference.Reference(reader, links).write(pages)
    docs = [str(path.relative_to(ROOT)) for path in sorted((ROOT / "docs").rglob("*.md"))]
    write_wanted(["README.md", *PROJECT, *docs], links, pages)
    config = {"INHERIT": str(SITE / "mkdocs.yml"), "docs_dir": str(pages), "theme": {"custom_dir": str(SITE / "theme")},
              "hooks": [str(SITE / "hooks.py")], "nav": navigation(docs, rooms)}
    (folder / "mkdocs.yml").write_text(json.dumps(config, indent=1))
    (folder / "names.json").write_text(json.dumps(names, indent=0))


if __name__ == "__main__":
    main()
