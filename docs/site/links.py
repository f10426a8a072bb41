# SPDX-License-Identifier: Apache-2.0
"""Finds the page for each public name that a page mentions, and for each file or folder that a page links to."""

import pathlib
import posixpath
import re

# One character inside a code span or the text of a link, but none of those that `format` inserts. A span or a link may
# continue on the next line, but not in the next paragraph.
LINE = r"(?:[^{}\n]|\n(?!\s*\n))"
SPAN = "`" + LINE.format("`") + "+`"
FENCE = r"^(?P<indent> *)(?P<fence>`{3,})[^\n]*\n.*?^(?P=indent)(?P=fence)[ ]*$"
LINK = r"\[(?P<text>(?:" + SPAN + r"|!\[[^\]]*\]\([^)]*\)|" + LINE.format(r"\[\]`") + r")*)\]\((?P<target>[^)\s]+)\)"
# A block of code, a link, or a code span.
PART = re.compile(rf"{FENCE}|{LINK}|(?P<span>{SPAN})", re.MULTILINE | re.DOTALL)
# A name at the beginning of a code span, alone or before a bracket: `Router`, `tfrecords(...)`, `Batch<T>`, `Adam{}`.
CALLED = re.compile(r"(?:distrib::)?(operator\W+?|~?\w+(?:::~?\w+)*)(?=[<({]|$)")
LISTED = "errors"  # a link to core/error.hpp with this fragment leads to the list of all errors


class Links:
    """Makes the links of the pages. A path is relative to the repository, a page to the folder of all pages.

    `names`: for each public name its page and anchor, as "page#anchor". `aliases`: for each alias of a class the name of
    that class. `wanted` collects the paths that the pages link to.
    """

    def __init__(self, root, public_headers, names, aliases):
        self.root, self.names, self.aliases = pathlib.Path(root), names, aliases
        self.headers = set(public_headers)
        self.rooms = {name.split("/")[0] for name in public_headers if "/" in name}
        self.wanted = set()

    def page_of(self, path):
        """Returns the page for a path of the repository; for a picture the file.

        A path that does not exist keeps its name, and the checks of the site report the link.
        """
        if path == "README.md":
            return "index.md"
        if path == "include/distrib" or path == "include/distrib/ecosystem.hpp":
            return "reference/README.md"
        if path.startswith("include/distrib/"):
            header = path.removeprefix("include/distrib/")
            if header in self.headers or header.removesuffix(".hpp") in self.rooms:
                return f"reference/{header.removesuffix('.hpp')}.md"
        place = path.removeprefix("docs/")
        if (self.root / path).is_dir():
            return f"{place}/README.md"
        if not (self.root / path).exists() or path.endswith((".md", ".svg", ".png")):
            return place
        return f"{place}.md"

    def target(self, link, here, page):
        """Returns the link that replaces `link`, from the file `here`, on the page `page`. Adds its path to `wanted`.

        Links to other hosts and to anchors of the same file stay as they are.
        """
        path, _, fragment = link.partition("#")
        if not path or "://" in link or link.startswith("mailto:"):
            return link
        path = posixpath.normpath(posixpath.join(posixpath.dirname(here), path))
        if path == "include/distrib/core/error.hpp" and fragment == LISTED:
            return relative(page, "reference/errors.md")
        self.wanted.add(path)
        return relative(page, self.page_of(path)) + (f"#{fragment}" if fragment else "")

    def name(self, span, scope="", known=""):
        """Returns "page#anchor" of the public name that the code span begins with, or None if there is no such name.

        The name is looked up in `scope`, such as "RpcClient::", then in the scopes around it, then in the whole library. A
        lower-case word alone is looked up in the scopes only, because it may mean something else: `data` may be a folder,
        `data()` is a function. Such a word is not looked up in them either if it occurs in the declaration `known`,
        because there it is a parameter.
        """
        called = CALLED.match(span.strip("`"))
        if not called:
            return None
        name, plain = called[1], span.strip("`") == called[1] and not re.search(r"[A-Z_:]", called[1])
        while scope:
            if scope + name in self.names and not (plain and re.search(rf"\b{name}\b", known)):
                return self.names[scope + name]
            scope = re.sub(r"[^:]+::$", "", scope)
        first, _, rest = name.partition("::")
        if first in self.aliases and rest:
            name = f"{self.aliases[first]}::{rest}"
        return None if plain else self.names.get(name)

    def linked(self, text, here, page, scope="", known=""):
        """Returns `text`, a part of the file `here`, as it is on the page `page`: with the links of the site, and with a
        link at each code span that is a public name. Blocks of code stay as they are, and names in headings get no link.
        `scope` and `known` are those of `name`.
        """

        def part(found):
            if found["target"]:
                return f"[{found['text']}]({self.target(found['target'], here, page)})"
            start = text.rfind("\n", 0, found.start()) + 1
            if found["span"] and not text.startswith("#", start):
                target = self.name(found["span"], scope, known)
                if target and target != self.names.get(scope.removesuffix("::")):  # an entry has no link to itself
                    return f"[{found['span']}]({relative(page, target)})"
            return found[0]

        return PART.sub(part, text)


def relative(page, target):
    """Returns the relative link from `page` to `target`, both relative to the folder of all pages."""
    path, _, fragment = target.partition("#")
    if path == page and fragment:
        return f"#{fragment}"
    return posixpath.relpath(path, posixpath.dirname(page) or ".") + (f"#{fragment}" if fragment else "")
