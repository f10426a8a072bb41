#!/usr/bin/python3 -B
# SPDX-License-Identifier: Apache-2.0
"""Types names into the search of the built site: every concept, and each of the names that most programs use, which are
listed in docs/guide/names.md. Fails if the entry of a name is not among the first five results.

usage: search.py [NAME...]

With names, which are public names without `distrib::`, searches for these instead, and prints the first five results of
each. A result is a page with links to its entries; one of the links must lead to the anchor of the name.
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

# The list of results changes several times after one key. It is read when it has not changed for 150 ms; if it does not
# change at all, after 2 s. Setting `value` does not start a search: the theme reads the field when a key is released.
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
    """Returns the number, from 1, of the first result with a link to `wanted` ("page#anchor"), or 0 if there is none."""
    def matches(link):
        # The theme adds the words of the query between page and anchor: rpc.html?h=words#anchor.
        path = re.split("[?#]", link)[0].split("/reference/")[-1]
        return "#" in link and f"reference/{path}#{link.partition('#')[2]}" == wanted
    return next((number for number, links in enumerate(results, 1) if any(map(matches, links))), 0)


def main():
    places = json.loads((browser.SITE.parent / "site-pages/names.json").read_text())
    names = sys.argv[1:]
    if unknown := [name for name in names if name not in places]:
        sys.exit(f"error: the reference has no name {', '.join(unknown)}; write public names without distrib::")
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
            time.sleep(0.1)  # the browser is still building the index
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
        print(f"{name}: " + (f"only result {place}" if place else "not among the first 20 results"), file=sys.stderr)
    sys.exit(1 if missed else 0)


if __name__ == "__main__":
    main()
