#!/usr/bin/python3 -B
# SPDX-License-Identifier: Apache-2.0
"""Checks the pages of a built site: what MkDocs does not.

usage: check_site.py SITE NAMES

Each link leads to a page and an anchor that are there, each public name of the file NAMES has its anchor, no anchor is
there twice, no link stayed Markdown, no text became a tag, and no page loads anything from another host. First proves on
planted pages that it finds each of these.
"""

import collections
import html.parser
import json
import pathlib
import re
import sys
import tempfile
import urllib.parse


TAGS = set("""a article aside body br button code dd del details div dl dt em footer form h1 h2 h3 h4 h5 h6 head header hr html
    img input label li link main meta nav ol p path pre script span strong sub summary sup svg table tbody td th thead title tr
    ul""".split())


class Page(html.parser.HTMLParser):
    """What a page links to, what it loads, and its anchors."""

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
        if tag == "link" and of.get("rel") not in ("canonical", "prev", "next"):
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
    return {path: Page(path) for path in site.rglob("*.html") if path.name != "404.html"}


def faults(site, pages, names):
    for path, page in pages.items():
        name = path.relative_to(site)
        yield from (f"{name}: the anchor {anchor} is there twice" for anchor, times in page.anchors.items()
                    if times > 1 and not anchor.startswith("__"))
        yield from (f"{name}: {text} is no link, or no text" for text in page.unmade)
        for link in page.links + page.loads:
            url = urllib.parse.urlsplit(link)
            if url.scheme or url.netloc:
                if link in page.loads:
                    yield f"{name}: loads {link}"
                continue
            target = (path.parent / urllib.parse.unquote(url.path)).resolve() if url.path else path
            target = target / "index.html" if target.is_dir() else target
            anchor = urllib.parse.unquote(url.fragment)
            if not target.exists():
                yield f"{name}: the link {link} leads nowhere"
            elif anchor and target in pages and not pages[target].anchors[anchor]:
                yield f"{name}: the link {link} leads to no anchor"
    for name, place in names.items():
        path, _, anchor = place.partition("#")
        page = pages.get(site / path.replace(".md", ".html"))
        if not page or not page.anchors[anchor]:
            yield f"{name} has no anchor"
    for path in site.rglob("*.css"):
        yield from (f"{path.relative_to(site)}: loads {url}" for url in re.findall(r"url\(\W?(https?:[^)]*)", path.read_text()))


GOOD = '<h1 id="a">a</h1><p><a href="#a">a</a> <a href="">a</a> <a href="https://example.org">b</a> <code>[a][b]</code></p>'
PLANTED = {
    "the link b.html leads nowhere": '<a href="b.html">b</a>',
    "the link #b leads to no anchor": '<a href="#b">b</a>',
    "the link a.html#b leads to no anchor": '<a href="a.html#b">b</a>',
    "the link b.svg leads nowhere": '<img src="b.svg">',
    "the anchor b is there twice": '<p id="b"></p><p id="b"></p>',
    "[b][c] is no link": "<p>[b][c]</p>",
    "[b](c.md) is no link": "<p>[b](c.md)</p>",
    "<t> is no link, or no text": "<p>std::vector<T></p>",
    "loads https://example.org/b.js": '<script src="https://example.org/b.js"></script>',
    "B has no anchor": "",
}


def self_test():
    with tempfile.TemporaryDirectory() as folder:
        site = pathlib.Path(folder).resolve()
        (site / "a.html").write_text(GOOD)
        found = list(faults(site, pages_of(site), {"A": "a.md#a"}))
        assert not found, f"a good page is refused: {found}"
        for fault, text in PLANTED.items():
            (site / "a.html").write_text(text)
            found = list(faults(site, pages_of(site), {"B": "a.md#B"}))
            assert any(fault in words for words in found), f"not found: {fault}, only {found}"


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    self_test()
    site, names = pathlib.Path(sys.argv[1]).resolve(), json.loads(pathlib.Path(sys.argv[2]).read_text())
    pages = pages_of(site)
    found = list(faults(site, pages, names))
    print(f"{len(pages)} pages, {sum(len(page.links) for page in pages.values())} links, {len(names)} names")
    sys.stderr.writelines(f"{fault}\n" for fault in found)
    sys.exit(1 if found else 0)


if __name__ == "__main__":
    main()
