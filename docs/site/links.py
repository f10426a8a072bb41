# SPDX-License-Identifier: Apache-2.0
"""Where the site has what a page names or links to: public names, pages of docs, other files of the repository."""

import pathlib
import posixpath
import re

# A code span or a link may go on in the next line, but not in the next paragraph.
LINE = r"(?:[^{}\n]|\n(?!\s*\n))"
SPAN = "`" + LINE.format("`", "") + "+`"
FENCE = r"^(?P<indent> *)(?P<fence>`{3,})[^\n]*\n.*?^(?P=indent)(?P=fence)[ ]*$"
LINK = r"\[(?P<text>(?:" + SPAN + r"|!\[[^\]]*\]\([^)]*\)|" + LINE.format(r"\[\]`", "") + r")*)\]\((?P<target>[^)\s]+)\)"
PART = re.compile(rf"{FENCE}|{LINK}|(?P<span>{SPAN})", re.MULTILINE | re.DOTALL)
CALLED = re.compile(r"(?:distrib::)?(operator\W+?|~?\w+(?:::~?\w+)*)(?=[<({]|$)")
LISTED = "errors"  # the fragment that leads from core/error.hpp to the list of all errors


class Links:
    """`names`: the page and the anchor of each public name. `aliases`: the class of each name that is another name of one.
    `wanted`: paths of the repository that pages link to."""

    def __init__(self, root, public_headers, names, aliases):
        self.root, self.names, self.aliases = pathlib.Path(root), names, aliases
        self.headers = set(public_headers)
        self.rooms = {name.split("/")[0] for name in public_headers if "/" in name}
        self.wanted = set()

    def page_of(self, path):
        """The page, or another file of the site, for a path of the repository."""
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
        """A link in the file `here`, as it is on its page."""
        path, _, fragment = link.partition("#")
        if not path or "://" in link or link.startswith("mailto:"):
            return link
        path = posixpath.normpath(posixpath.join(posixpath.dirname(here), path))
        if path == "include/distrib/core/error.hpp" and fragment == LISTED:
            return relative(page, "reference/errors.md")
        self.wanted.add(path)
        return relative(page, self.page_of(path)) + (f"#{fragment}" if fragment else "")

    def name(self, span, scope="", known=""):
        """The page and the anchor of the name that a code span begins with; None if it is none of ours, or perhaps not:
        `data` may be a folder, `data()` is a function. `known` is a declaration whose parameters are no names."""
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
        """The text of the file `here` with its links as they are on the page, and with a link at each public name."""

        def part(found):
            if found["target"]:
                return f"[{found['text']}]({self.target(found['target'], here, page)})"
            start = text.rfind("\n", 0, found.start()) + 1
            if found["span"] and not text.startswith("#", start):
                target = self.name(found["span"], scope, known)
                if target and target != self.names.get(scope.removesuffix("::")):  # not to where it stands
                    return f"[{found['span']}]({relative(page, target)})"
            return found[0]

        return PART.sub(part, text)


def relative(page, target):
    """`target` as a link on `page`."""
    path, _, fragment = target.partition("#")
    if path == page and fragment:
        return f"#{fragment}"
    return posixpath.relpath(path, posixpath.dirname(page) or ".") + (f"#{fragment}" if fragment else "")
