#!/usr/bin/python3 -B
# SPDX-License-Identifier: Apache-2.0
"""Opens the status page of a job in headless Chromium, on the screen of a phone (390 px wide) and of a desk (1280 px):
while the main job runs on 2 parameter servers and 3 workers, and with 64 shards and 10 000 ranks from a file. Fails if it
does not show them, is wider than the screen, sends a request elsewhere, or leaves a message in the browser's console.

usage: status_page.py BUILD [--pictures FOLDER]
"""

import argparse
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time

import browser

WIDTHS = {"phone": 390, "desk": 1280}
DATA = re.compile(r'(<script id="data" type="application/json">)(.*?)(</script>)', re.DOTALL)
RAW = os.environ.get("FASHION_MNIST_DIR", "/usr/share/datasets/fashion-mnist")
ENVIRONMENT = {name: value for name, value in os.environ.items() if name != "TF_CONFIG"}


def look(chromium, name, address, expected, pictures, live):
    """Yields what is wrong with the page at an address. `expected`: regular expressions by the ids of elements."""
    for where, width in WIDTHS.items():
        for scheme in ("light", "dark"):
            chromium.show(width, 1000, scheme)
            chromium.driver.get(address)
            list(chromium.requests())
            end = time.monotonic() + 20
            while True:
                texts = {element: chromium.run("return document.getElementById(arguments[0]).innerText", element)
                         for element in expected}
                wrong = [f"#{element} is '{texts[element]}', not like '{pattern}'" for element, pattern in expected.items()
                         if not re.search(pattern, texts[element])]
                if not wrong or time.monotonic() > end:
                    break
                time.sleep(0.2)
            yield from (f"{name}, {where}: {words}" for words in wrong)
            wide = chromium.run("return document.documentElement.scrollWidth")
            if wide > width:
                yield f"{name}, {where}: the page is {wide} px wide on a screen of {width} px"
            if live:
                time.sleep(2.5)
                asked = list(chromium.requests())
                if len(asked) < 2:
                    yield f"{name}, {where}: the page has asked {len(asked)} times in 2.5 s"
                yield from (f"{name}, {where}: a request to {one}" for one in asked if one != address + "status.json")
            yield from (f"{name}, {where}: the browser's console has the message: {words}" for words in chromium.complaints())
            if pictures:
                chromium.driver.save_screenshot(str(pictures / f"status-{name}-{where}-{scheme}.png"))


def stagger(process, over):
    """Lets a process run and stand still by turns until it is over; then it runs."""
    while not over.is_set():
        os.kill(process, signal.SIGCONT)
        over.wait(0.3)
        os.kill(process, signal.SIGSTOP)
        over.wait(0.7)
    os.kill(process, signal.SIGCONT)


def run_job(chromium, build, work, pictures):
    subprocess.run([build / "examples/fashion_mnist_convert", RAW, work / "data"], check=True, stdout=subprocess.DEVNULL)
    log = work / "log"
    with log.open("w") as output:
        job = subprocess.Popen(
            [build / "tools/distrib", "launch", "--ps", "2", "--workers", "3", "--status", "0", "--",
             build / "examples/fashion_mnist_train", "--data", work / "data", "--out", work / "out", "--steps", "100000"],
            env=ENVIRONMENT, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT)
    try:
        end = time.monotonic() + 60
        while not re.search(r"worker0 \| step", log.read_text()):
            if time.monotonic() > end:
                yield f"the job does not start:\n{log.read_text()}"
                return
            time.sleep(0.1)
        said = log.read_text()
        address = re.search(r"status page: (http://\S+)", said)[1]
        held = int(re.search(r"worker2 is process (\d+)", said)[1])
        expected = {"step": r"^Step \d", "ranks": "", "key": r"here", "job": "bulk synchronous parallel, 3 workers, 2 param",
                    "shards": r"ps 0 shard 0(.|\n)*ps 1 shard 0", "processes": r"worker2\s+process", "events": "is process",
                    "facts": "steps per second"}
        yield from look(chromium, "job", address, expected, pictures, True)
        # A worker that stands still is the one for which the others wait.
        os.kill(held, signal.SIGSTOP)
        time.sleep(3)
        held_too = {"waited_said": r"^Now rank 2 missing, nothing has come for \d", "key": "1 behind the others"}
        yield from look(chromium, "held", address, expected | held_too, pictures, True)
        # A worker that stands still again and again is the one that was waited for.
        staggers = threading.Thread(target=stagger, args=(held, over := threading.Event()))
        staggers.start()
        try:
            waited = {"waited_said": r"In the last \d+ s:", "waited": r"(?m)^2\s+[\d.]+ m?s\s+\d+ %\s+\d+"}
            yield from look(chromium, "waited", address, expected | waited, pictures, True)
        finally:
            over.set()
            staggers.join()
        server = re.search(r"--ps_hosts=([^, ]*)", said)[1]
        subprocess.run([build / "tools/distrib", "status", server, "--html", work / "kept.html"], check=True, timeout=60)
    finally:
        job.terminate()
        job.wait(60)


def ten_thousand(kept, path):
    """Writes the page that was kept with many shards and ranks instead of its own."""
    text = kept.read_text(encoding="utf-8")
    first = json.loads(DATA.search(text)[2])["shards"][0]
    first |= {"open": True, "step": 123456, "total_steps": 1000000, "newest_cut": 123400, "tasks": 64, "workers": 10000}
    ranks = range(10000)
    columns = {"rank": list(ranks), "here": [int(rank % 997 != 5) for rank in ranks],
               "last": [123457 - (rank % 101 == 0) for rank in ranks], "was_last": [rank % 7 for rank in ranks],
               "waited_ms": [rank * 7919 % 10000 if rank % 7 else 0 for rank in ranks]}
    shards = [first | ({"rank_columns": columns} if task == 0 else {"rank_columns": None}) | {"task": task} for task in range(64)]
    events = [{"at": 1.7e9 + i, "text": f"event {i} <b>is text</b>"} for i in range(50)]
    data = json.dumps({"shards": shards, "events": events}).replace("<", "\\u003c")
    path.write_text(DATA.sub(lambda found: found[1] + data + found[3], text), encoding="utf-8")
    return path


def main():
    parser = argparse.ArgumentParser(usage="status_page.py BUILD [--pictures FOLDER]")
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--pictures", type=pathlib.Path)
    options = parser.parse_args()
    if options.pictures:
        options.pictures.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder, browser.browser() as chromium:
        work = pathlib.Path(folder)
        found = list(run_job(chromium, options.build.resolve(), work, options.pictures))
        if (work / "kept.html").exists():
            many = ten_thousand(work / "kept.html", work / "many.html").as_uri()
            expected = {"step": r"^Step 123,456 of 1,000,000$", "key": r"9,8\d\d here", "shards": "ps 63 shard 0",
                        "waited": r"(?m)^2321\s+10.0 s\s+\d+ %\s+4",
                        "events": r"event 49 <b>is text</b>"}
            found += look(chromium, "many", many, expected, options.pictures, False)
            began = time.monotonic()
            chromium.driver.get(many)
            chromium.run("return document.getElementById('shards').innerText")
            print(f"10 000 ranks are drawn {time.monotonic() - began:.2f} s after they were asked for")
    print("\n".join(found) or "the page is as it should be")
    sys.exit(1 if found else 0)


if __name__ == "__main__":
    main()
