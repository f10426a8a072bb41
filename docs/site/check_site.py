#!/usr/bin/python3 -B
# SPDX-License-Identifier: Apache-2.0
"""Checks in a built site what MkDocs does not check.

usage: check_site.py SITE NAMES

SITE is the folder of the site. NAMES is the file names.json of write_pages.py: the page and the anchor of each public
name. Prints each fault, and ends with 1 if there is one. Faults are:

- a link to a page, a file or an anchor that does not exist; an anchor that occurs twice on a page;
- a public name without an anchor;
- a link that stayed Markdown; text that became a tag;
- a page or a style sheet that loads something from another host. (Links to other hosts are allowed, and not tried.)

Before that, the script makes pages with these faults, and checks that it finds them.
"""

import collections
import html.parser
import json
import pathlib
import re
import sys
import tempfile
import urllib.parse


# The tags on the pages of a site. Any other tag, such as `<T>`, was meant as text.
TAGS = set("""a article aside body br button code dd del details div dl dt em footer form h1 h2 h3 h4 h5 h6 head header hr html
    img input label li link main meta nav ol p path pre script span strong sub summary sup svg table tbody td th thead title tr
    ul""".split())


class Page(html.parser.HTMLParser):
    """The anchors of a page with their counts, the links, and the addresses that the page loads.

    `unmade`: links that stayed Markdown, and text that became a tag. `inside`: the open elements whose text is code.
    """

    def __init__(self, path):
        super().__init__()
        self.anchors, self.links, self.loads, self.unmade, self.inside = collections.Counter(), [], [], [], []
        self.feed(path.read_text())

    def handle_starttag(self, tag, attributes):
        of = dict(attributes)
        if tag not in TAGS:
            self.unmade.append(f"<{tag}>")
        if "id" in of:
            self.anchors[of["id"]] += 1
        if tag == "a" and "href" in of:
            self.links.append(of["href"])
        if "src" in of:
            self.loads.append(of["src"])
        if tag == "link" and "href" in of and of.get("rel") not in ("canonical", "prev", "next"):
            self.loads.append(of["href"])
        if tag in ("pre", "code", "script"):
            self.inside.append(tag)

    def handle_endtag(self, tag):
        if self.inside and tag == self.inside[-1]:
            self.inside.pop()

    def handle_data(self, data):
        if not self.inside:
            self.unmade += re.findall(r"\[[^\[\]]+\](?:\[[^\[\]]*\]|\([^()\s]+\))", data)


def pages_of(site):
    """Reads all pages but 404.html. Its links begin with `/`, which `faults` takes for the top of the file system."""
    return {path: Page(path) for path in site.rglob("*.html") if path.name != "404.html"}


def faults(site, pages, names):
    for path, page in pages.items():
        name = path.relative_to(site)
        # Anchors that begin with `__` are the theme's own; they may occur more than once.
        yield from (f"{name}: the anchor {anchor} occurs more than once" for anchor, times in page.anchors.items()
                    if times > 1 and not anchor.startswith("__"))
        yield from (f"{name}: {text} is a link that stayed Markdown, or text that became a tag" for text in page.unmade)
        for link in page.links + page.loads:
            url = urllib.parse.urlsplit(link)
            if url.scheme or url.netloc:
                if link in page.loads:
                    yield f"{name}: the page loads {link}, which is not a file of the site"
                continue
            target = (path.parent / urllib.parse.unquote(url.path)).resolve() if url.path else path
            target = target / "index.html" if target.is_dir() else target
            anchor = urllib.parse.unquote(url.fragment)
            if not target.exists():
                yield f"{name}: the link {link} leads to a file that does not exist"
            elif anchor and target in pages and not pages[target].anchors[anchor]:
                yield f"{name}: the link {link} leads to an anchor that does not exist"
    for name, place in names.items():
        path, _, anchor = place.partition("#")
        page = pages.get(site / path.replace(".md", ".html"))
        if not page or not page.anchors[anchor]:
            yield f"the public name {name} has no anchor"
    for path in site.rglob("*.css"):
        yield from (f"{path.relative_to(site)}: the style sheet loads {url} from another host"
                    for url in re.findall(r"url\(\W?(https?:[^)]*)", path.read_text()))


GOOD = '<h1 id="a">a</h1><p><a href="#a">a</a> <a href="">a</a> <a href="https://example.org">b</a> <code>[a][b]</code></p>'
# A part of the expected message for each fault, and the content of a page a.html that has the fault.
PLANTED = {
    "the link b.html leads to a file that does not exist": '<a href="b.html">b</a>',
    "the link #b leads to an anchor that does not exist": '<a href="#b">b</a>',
    "the link a.html#b leads to an anchor that does not exist": '<a href="a.html#b">b</a>',
    "the link b.svg leads to a file that does not exist": '<img src="b.svg">',
    "the anchor b occurs more than once": '<p id="b"></p><p id="b"></p>',
    "[b][c] is a link that stayed Markdown": "<p>[b][c]</p>",
    "[b](c.md) is a link that stayed Markdown": "<p>[b](c.md)</p>",
    "<t> is a link that stayed Markdown, or text that became a tag": "<p>std::vector<T></p>",
    "loads https://example.org/b.js": '<script src="https://example.org/b.js"></script>',
    "the public name B has no anchor": "",
}


def self_test():
    with tempfile.TemporaryDirectory() as folder:
        site = pathlib.Path(folder).resolve()
        (site / "a.html").write_text(GOOD)
        found = list(faults(site, pages_of(site), {"A": "a.md#a"}))
        assert not found, f"faults are reported for a page without faults: {found}"
        for fault, text in PLANTED.items():
            (site / "a.html").write_text(text)
            found = list(faults(site, pages_of(site), {"B": "a.md#B"}))
            assert any(fault in words for words in found), f"the planted fault is not found: {fault}; found: {found}"


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    self_test()
    site, names = pathlib.Path(sys.argv[1]).resolve(), json.loads(pathlib.Path(sys.argv[2]).read_text())
    pages = pages_of(site)
    found = list(faults(site, pages, names))
    print(f"{len(pages)} pages, {sum(len(page.links) for page in pages.values())} links, {len(names)} public names")
    sys.stderr.writelines(f"{fault}\n" for fault in found)
    sys.exit(1 if found else 0)


if __name__ == "__main__":
    main()
