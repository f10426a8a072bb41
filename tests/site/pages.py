#!/usr/bin/python3 -B
# SPDX-License-Identifier: Apache-2.0
"""Opens each page of the built site on the screen of a phone (390 px wide), then widens it to a desktop's (1280 px). Fails
if a page is wider than the screen, sends a request to another host, or leaves a message in the browser's console.

usage: pages.py [--pictures FOLDER]

With --pictures, checks nothing. Saves pictures of one page of each kind in FOLDER, in both widths and in both colour
schemes.
"""

import argparse
import pathlib
import sys
import time

import browser

WIDTHS = {"phone": 390, "desk": 1280}
KINDS = {
    "home": "index.html", "guide": "guide/rpc.html", "design": "design/rpc.html", "errors": "reference/errors.html",
    "overview": "reference/rpc.html", "class": "reference/rpc/rpc_client.html", "aggregate": "reference/optimizer/adam.html",
    "enum": "reference/rpc/error.html", "concept": "reference/optimizer/updater.html", "index": "reference/index.html",
    "source": "examples/11_rpc.cpp.html", "search": "index.html",
}
SEARCH = """
const input = document.querySelector('.md-search__input');
document.querySelector('label[for=__search].md-header__button').click();
input.focus();
input.value = 'RpcClient';
input.dispatchEvent(new KeyboardEvent('keyup', {key: 't', bubbles: true}));
"""


def pictures(chromium, folder):
    folder.mkdir(parents=True, exist_ok=True)
    for kind, page in KINDS.items():
        for where, width in WIDTHS.items():
            for scheme in ("light", "dark"):
                chromium.show(width, 1200, scheme)
                chromium.open(page)
                chromium.run("localStorage.clear()")  # the theme has stored the colour scheme of the previous page there
                chromium.open(page)
                if kind == "search":
                    chromium.run(SEARCH)
                    time.sleep(4)
                time.sleep(0.5)
                chromium.driver.save_screenshot(str(folder / f"{kind}-{where}-{scheme}.png"))


# Switches off transitions. An element that still moves after the screen has changed its width could make the page wider
# than the screen for a moment.
STILL = "document.head.append(Object.assign(document.createElement('style'), {textContent: '* {transition: none !important}'}))"


def faults(chromium):
    pages = sorted(str(path.relative_to(browser.SITE)) for path in browser.SITE.rglob("*.html"))
    asked = 0
    for page in pages:
        chromium.show(WIDTHS["phone"])
        chromium.open(page)
        chromium.run(STILL)
        for width in WIDTHS.values():
            chromium.show(width)
            wide = chromium.run("return document.documentElement.scrollWidth")
            if wide > width:
                yield f"{page}: the page is {wide} px wide on a screen of {width} px"
        for address in chromium.requests():
            asked += 1
            if not address.startswith((chromium.address, "data:", "blob:")):
                yield f"{page}: the page sends a request to another host: {address}"
        yield from (f"{page}: the browser's console has the message: {words}" for words in chromium.complaints())
    print(f"{len(pages)} pages, {asked} requests")


def main():
    parser = argparse.ArgumentParser(usage="pages.py [--pictures FOLDER]")
    parser.add_argument("--pictures", type=pathlib.Path)
    folder = parser.parse_args().pictures
    with browser.browser(browser.Quiet if folder else browser.WithoutSearch) as chromium:
        if folder:
            return pictures(chromium, folder)
        found = list(faults(chromium))
    sys.stderr.writelines(f"{fault}\n" for fault in found)
    sys.exit(1 if found else 0)


if __name__ == "__main__":
    main()
