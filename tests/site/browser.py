# SPDX-License-Identifier: Apache-2.0
"""The built site in headless Chromium: on a local server, at a width, in a colour scheme."""

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
    """Each page that is opened makes the index of the search anew, for seconds: here it is empty."""

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
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", {
            "width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600})
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {
            "features": [{"name": "prefers-color-scheme", "value": scheme}]})

    def open(self, page):
        self.driver.get(self.address + page)

    def run(self, script, *arguments):
        return self.driver.execute_script(script, *arguments)

    def run_until_done(self, script, *arguments):
        """The last argument of the script is a function to call when it is done."""
        return self.driver.execute_async_script(script, *arguments)

    def requests(self):
        """The addresses asked for since the last call."""
        for entry in self.driver.get_log("performance"):
            message = json.loads(entry["message"])["message"]
            if message["method"] == "Network.requestWillBeSent":
                yield message["params"]["request"]["url"]

    def complaints(self):
        """What the console of the browser said since the last call."""
        return [entry["message"] for entry in self.driver.get_log("browser")]


@contextlib.contextmanager
def browser(handler=Quiet):
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(handler, directory=SITE))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    options = Options()
    options.page_load_strategy = "eager"  # pictures may still be on their way
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
