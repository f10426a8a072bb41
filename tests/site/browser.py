# SPDX-License-Identifier: Apache-2.0
"""Starts a local server for the built site, and headless Chromium to open its pages."""

import contextlib
import functools
import http.server
import json
import pathlib
import threading

from selenium import webdriver
from selenium.webdriver.chrome.options import Options
from selenium.webdriver.chrome.service import Service

SITE = pathlib.Path(__file__).resolve().parents[2] / "build/site"


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


class WithoutSearch(Quiet):
    """Serves an empty search index. Every page that is opened builds the index again, which takes seconds."""

    def do_GET(self):
        if not self.path.endswith("/search_index.json"):
            return super().do_GET()
        body = b'{"config": {"lang": ["en"], "separator": " "}, "docs": []}'
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
        return None


class Browser:
    def __init__(self, driver, address):
        self.driver, self.address = driver, address

    def show(self, width, height=900, scheme="light"):
        """Sets the size of the screen in pixels, and the preferred colour scheme: light or dark."""
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", {
            "width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600})
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {
            "features": [{"name": "prefers-color-scheme", "value": scheme}]})

    def open(self, page):
        self.driver.get(self.address + page)

    def run(self, script, *arguments):
        return self.driver.execute_script(script, *arguments)

    def run_until_done(self, script, *arguments):
        """Runs a script that ends later. Its last argument is a function; the script must call it with the result."""
        return self.driver.execute_async_script(script, *arguments)

    def requests(self):
        """Yields the addresses of all requests that the browser has sent since the last call."""
        for entry in self.driver.get_log("performance"):
            message = json.loads(entry["message"])["message"]
            if message["method"] == "Network.requestWillBeSent":
                yield message["params"]["request"]["url"]

    def complaints(self):
        """Returns the messages in the browser's console since the last call."""
        return [entry["message"] for entry in self.driver.get_log("browser")]


@contextlib.contextmanager
def browser(handler=Quiet):
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(handler, directory=SITE))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    options = Options()
    options.page_load_strategy = "eager"  # `open` does not wait until the pictures are loaded
    options.binary_location = "/usr/bin/chromium"
    for argument in ("--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars"):
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"performance": "ALL", "browser": "ALL"})
    driver = webdriver.Chrome(service=Service("/usr/bin/chromedriver"), options=options)
    driver.set_script_timeout(60)
    try:
        yield Browser(driver, f"http://127.0.0.1:{server.server_port}/")
    finally:
        driver.quit()
        server.shutdown()
