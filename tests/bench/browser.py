# SPDX-License-Identifier: BSD-2-Clause
#
# A page in a real browser: headless Chromium, spoken to by its own protocol over pipes. Python's
# standard library only.
import base64
import json
import os
import select
import shutil
import subprocess
import tempfile
import time

# Of a busy machine: how long an answer may take.
PATIENCE = 120


def chromium():
    """Its path, or None."""
    return shutil.which("chromium") or shutil.which("chromium-browser")


class Browser:
    """with Browser() as browser: browser.open(path)"""

    def __enter__(self):
        self.profile = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        to_read, self.to = os.pipe()
        self.back, back_write = os.pipe()
        # It reads from 3 and writes to 4. Without a sandbox, for tests may run as root: the page
        # is one of our own.
        shell = f'exec "$0" "$@" 3<&{to_read} 4>&{back_write}'
        self.process = subprocess.Popen(
            ["sh", "-c", shell, chromium(), "--headless", "--no-sandbox", "--disable-gpu",
             "--disable-dev-shm-usage", "--hide-scrollbars", "--no-first-run",
             "--disable-background-networking", "--disable-component-update", "--disable-sync",
             "--remote-debugging-pipe", f"--user-data-dir={self.profile.name}", "about:blank"],
            pass_fds=(to_read, back_write), stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(to_read)
        os.close(back_write)
        self.buffer = b""
        self.number = 0
        self.events = []
        self.session = None
        targets = self.call("Target.getTargets")["targetInfos"]
        page = next(target for target in targets if target["type"] == "page")
        self.session = self.call("Target.attachToTarget", targetId=page["targetId"],
                                 flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")
        return self

    def __exit__(self, *_):
        os.close(self.to)
        os.close(self.back)
        self.process.terminate()
        try:
            self.process.wait(timeout=PATIENCE)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.profile.cleanup()

    def receive(self):
        while b"\0" not in self.buffer:
            if not select.select([self.back], [], [], PATIENCE)[0]:
                raise RuntimeError("Chromium says nothing")
            more = os.read(self.back, 1 << 20)
            if not more:
                raise RuntimeError("Chromium ended")
            self.buffer += more
        message, self.buffer = self.buffer.split(b"\0", 1)
        return json.loads(message)

    def call(self, method, **parameters):
        self.number += 1
        request = {"id": self.number, "method": method, "params": parameters}
        if self.session:
            request["sessionId"] = self.session
        rest = json.dumps(request).encode() + b"\0"
        while rest:
            rest = rest[os.write(self.to, rest):]
        deadline = time.monotonic() + PATIENCE
        while time.monotonic() < deadline:
            answer = self.receive()
            if answer.get("id") == self.number:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']}")
                return answer["result"]
            self.events.append(answer)
        raise RuntimeError(f"{method}: no answer")

    def look(self, width, scheme="light", media="screen"):
        """How the page is to be seen from now on."""
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=800,
                  deviceScaleFactor=1, mobile=width < 600)
        self.call("Emulation.setEmulatedMedia", media=media,
                  features=[{"name": "prefers-color-scheme", "value": scheme}])

    def open(self, path):
        self.events.clear()
        self.call("Page.navigate", url="file://" + os.path.abspath(path))
        deadline = time.monotonic() + PATIENCE
        while not any(event.get("method") == "Page.loadEventFired" for event in self.events):
            if time.monotonic() > deadline:
                raise RuntimeError("the page is never loaded")
            self.events.append(self.receive())

    def evaluate(self, expression):
        result = self.call("Runtime.evaluate", expression=expression, returnByValue=True)
        if "exceptionDetails" in result:
            raise RuntimeError(result["exceptionDetails"])
        return result["result"].get("value")

    def complaints(self):
        """What the console says, and exceptions."""
        said = []
        for event in self.events:
            if event.get("method") == "Log.entryAdded":
                said.append(event["params"]["entry"]["text"])
            if event.get("method") in ("Runtime.consoleAPICalled", "Runtime.exceptionThrown"):
                said.append(json.dumps(event["params"]))
        return said

    def requests(self):
        """Addresses that were asked for, data of the page itself apart."""
        return [event["params"]["request"]["url"] for event in self.events
                if event.get("method") == "Network.requestWillBeSent"
                and not event["params"]["request"]["url"].startswith("data:")]

    def screenshot(self, path):
        """All of the page, as it looks now."""
        shot = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=True)
        with open(path, "wb") as file:
            file.write(base64.b64decode(shot["data"]))
