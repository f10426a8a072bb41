#!/usr/bin/python3 -B
# SPDX-License-Identifier: Apache-2.0
"""Types what a newcomer looks for into the search of the built site. Fails if the page that explains it is not among the
first five results, or if a page that is written for users has no link to the words.

usage: phrases.py [PHRASE...]

With phrases, which may be any text, prints the first five results of each.
"""

import re
import sys
import time

import browser
from search import FIRST, SEARCH

PHRASES = {
    "mini-batch": "guide/data_pipelines.html",
    "in-memory": "guide/data_pipelines.html",
    "data in memory": "guide/data_pipelines.html",
    "write tfrecord": "guide/data_pipelines.html",
    "logging": "reference/train/hooks/logging_tensor.html",
    "parameter server dies": "guide/failures.html",
    "worker dies": "guide/failures.html",
    "epoch": "guide/data_pipelines.html",
    "restart window": "guide/words.html",
    "compile time": "guide/use.html",
    "own hook": "guide/your_own_policies.html",
    "early stop": "guide/your_own_policies.html",
    "early stopping": "guide/your_own_policies.html",
    "stop the training": "guide/your_own_policies.html",
    "request_stop": "coming-from-tensorflow.html",
    "hook throws": "guide/your_own_policies.html",
    "print an event": "guide/your_own_policies.html",
    "git clone": "guide/start.html",
    "first build": "guide/start.html",
    "CMAKE_BUILD_PARALLEL_LEVEL": "guide/start.html",
    "compiler killed": "guide/start.html",
    "half-open connection": "guide/words.html",
    "event file": "guide/words.html",
    "AUC": "guide/words.html",
    "wide and deep": "guide/words.html",
    "TF_CONFIG": "guide/words.html",
    "replay budget": "guide/words.html",
    "carry-less product": "guide/words.html",
}


def page_of(link):
    """The page that a result leads to, from the root of the site."""
    return re.split("[?#]", link)[0]


def without_words():
    """Yields the pages for users that do not lead to the page of words."""
    pages = [*browser.SITE.glob("guide/**/*.html"), *browser.SITE.glob("coming-from-*.html")]
    for page in sorted(pages):
        text = page.read_text()
        article = text[text.index("<article"):text.index("</article>")]
        if page.name != "words.html" and not re.search(r'href="(?:[./]*|guide/)words\.html', article):
            yield str(page.relative_to(browser.SITE))


def main():
    asked = sys.argv[1:] or list(PHRASES)
    missed = []
    with browser.browser() as chromium:
        chromium.show(1280)
        chromium.open("index.html")
        chromium.run("document.querySelector('.md-search__input').focus()")
        while "Initializing" in chromium.run("return document.querySelector('.md-search-result__meta').textContent"):
            time.sleep(0.1)  # the browser is still building the index
        for phrase in asked:
            results = [links[0] for links in chromium.run_until_done(SEARCH, phrase)]
            found = [page_of(link).removeprefix(chromium.address) for link in results[:FIRST]]
            if sys.argv[1:]:
                print(phrase, *results[:FIRST], sep="\n  ")
            elif PHRASES[phrase] not in found:
                missed.append(f"{phrase}: {PHRASES[phrase]} is not among {', '.join(found)}")
    if not sys.argv[1:]:
        missed += [f"{page}: no link to the words" for page in without_words()]
        print(f"{len(asked)} phrases, {len(missed)} faults")
    sys.stderr.writelines(f"{fault}\n" for fault in missed)
    sys.exit(1 if missed else 0)


if __name__ == "__main__":
    main()
