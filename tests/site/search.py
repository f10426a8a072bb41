#!/usr/bin/python3 -B
# SPDX-License-Identifier: Apache-2.0
"""Types names into the search of the built site: every concept, and each of the names that most programs use.

usage: search.py [NAME...]     these names instead, and what is found

The page of the name must be among the first five results, with the anchor of the name.
"""

import json
import pathlib
import re
import sys
import time

import browser

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))
import reference

NAMES = ROOT / "docs/guide/names.md"
FIRST = 5

# Results change more than once while one types: they count when they have not changed for a while.
SEARCH = """
const [name, done] = arguments;
const input = document.querySelector('.md-search__input');
const list = document.querySelector('.md-search-result__list');
let timer = 0;
const finish = () => {
  observer.disconnect();
  done([...list.children].slice(0, 20).map(item => [...item.querySelectorAll('a')].map(link => link.getAttribute('href'))));
};
const wait = milliseconds => { clearTimeout(timer); timer = setTimeout(finish, milliseconds); };
const observer = new MutationObserver(() => wait(150));
observer.observe(list, {childList: true, subtree: true});
input.focus();
input.value = name;
input.dispatchEvent(new KeyboardEvent('keyup', {key: 'a', bubbles: true}));
wait(2000);
"""


def place_of(results, wanted):
    """The number of the result that has the anchor, from 1; 0 if none has."""
    def matches(link):
        path = link.split("?")[0].split("/reference/")[-1]
        return "reference/" + path + "#" + link.partition("#")[2] == wanted if "#" in link else False
    return next((number for number, links in enumerate(results, 1) if any(map(matches, links))), 0)


def main():
    places = json.loads((browser.SITE.parent / "site-pages/names.json").read_text())
    names = sys.argv[1:]
    if not names:
        concepts = [item.full_name for item in reference.Reader(ROOT).items if item.kind == "concept"]
        used = re.findall(r"^\| \[`([\w:]+)`\]", NAMES.read_text(), re.MULTILINE)
        names = list(dict.fromkeys(concepts + used))
        print(f"{len(concepts)} concepts, {len(used)} names that most programs use")
    found, missed = [], []
    with browser.browser() as chromium:
        chromium.show(1280)
        chromium.open("index.html")
        chromium.run("document.querySelector('.md-search__input').focus()")
        while "Initializing" in chromium.run("return document.querySelector('.md-search-result__meta').textContent"):
            time.sleep(0.1)  # the index is being made
        for name in names:
            results = chromium.run_until_done(SEARCH, name)
            wanted = places[name].replace(".md#", ".html#")
            place = place_of(results, wanted)
            (found if 0 < place <= FIRST else missed).append((name, place))
            if sys.argv[1:]:
                print(name, place, *results[:FIRST], sep="\n  ")
    counts = {number: sum(place == number for _, place in found) for number in range(1, FIRST + 1)}
    print(f"{len(found)} of {len(names)} names found: " + ", ".join(f"{count} as result {n}" for n, count in counts.items()))
    for name, place in missed:
        print(f"{name}: " + (f"result {place}" if place else "not found"), file=sys.stderr)
    sys.exit(1 if missed else 0)


if __name__ == "__main__":
    main()
