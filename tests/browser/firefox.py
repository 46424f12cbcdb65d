"""A headless Firefox, driven over WebDriver BiDi: Playwright cannot drive the one that Debian and others ship."""

from __future__ import annotations

import base64
import json
import re
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from websocket import WebSocket, WebSocketTimeoutException, create_connection

from tfm_lib._packages import apt_install

NAMES = ("firefox-esr", "firefox")
APPLICATIONS = ("/Applications/Firefox.app/Contents/MacOS/firefox",)
STARTS_WITHIN, ANSWERS_WITHIN = 60, 60  # seconds
LISTENS = re.compile(r"WebDriver BiDi listening on (ws://\S+)")
MISSING = (
    "No Firefox was found, so its tests are skipped. "
    "Install one (Debian: apt install firefox-esr; macOS: brew install --cask firefox) to have them run."
)
KEYS = {"Tab": "\ue004", "Enter": "\ue007", "ArrowLeft": "\ue012", "ArrowRight": "\ue014", "Home": "\ue011"}
CONTROL = "\ue009"

# Whoever answers at this port of the loopback, it is no proxy: what asks for somebody outside gets no answer.
CUT = {
    "network.proxy.type": 1,
    "network.proxy.http": "127.0.0.1",
    "network.proxy.http_port": 9,
    "network.proxy.ssl": "127.0.0.1",
    "network.proxy.ssl_port": 9,
    "network.proxy.no_proxies_on": "127.0.0.1",
}
PREFERENCES = {
    **CUT,
    "browser.shell.checkDefaultBrowser": False,
    "browser.startup.page": 0,
    "datareporting.policy.dataSubmissionEnabled": False,
    "ui.prefersReducedMotion": 1,
}

# Scrolls an element into view; where its middle is, if two frames show it at the same place and nothing lies over it.
RESTS = """async (selector, place) => {
  const node = document.querySelectorAll(selector)[place];
  if (!node) throw new Error(`there is no ${selector}`);
  node.scrollIntoView({ block: "center" });
  const middle = () => {
    const { left, top, width, height } = node.getBoundingClientRect();
    return [Math.round(left + width / 2), Math.round(top + height / 2)];
  };
  const before = middle();
  await new Promise((go) => requestAnimationFrame(() => requestAnimationFrame(go)));
  const [x, y] = middle();
  const found = document.elementFromPoint(x, y);
  const meant = node.contains(found) || node.closest("label")?.contains(found);
  return meant && x === before[0] && y === before[1] ? [x, y] : null;
}"""


def find_firefox() -> str | None:
    """The program's path, where there is one."""
    return next((path for path in map(shutil.which, (*NAMES, *APPLICATIONS)) if path), None)


class Firefox:
    """One tab; `asked` holds the addresses that its pages asked for, `said` what they printed as a warning or an error."""

    def __init__(self, socket: WebSocket) -> None:
        self.socket, self.serial = socket, 0
        self.asked: list[str] = []
        self.said: list[str] = []
        self.tell("session.new", capabilities={})
        self.tell("session.subscribe", events=["network.beforeRequestSent", "log.entryAdded"])
        self.tab = self.tell("browsingContext.getTree")["contexts"][0]["context"]

    def tell(self, method: str, **params: Any) -> dict[str, Any]:
        """The result of a command; what happens meanwhile is noted."""
        self.serial += 1
        self.socket.send(json.dumps({"id": self.serial, "method": method, "params": params}))
        while True:
            try:
                answer = json.loads(self.socket.recv())
            except WebSocketTimeoutException:
                raise TimeoutError(f"Firefox does not answer {method} within {ANSWERS_WITHIN} s") from None
            if answer["type"] == "event":
                self._note(answer["method"], answer["params"])
            elif answer["id"] == self.serial:
                if answer["type"] == "error":
                    raise RuntimeError(f"{method}: {answer['message']}")
                return answer["result"]

    def _note(self, event: str, params: dict[str, Any]) -> None:
        if event == "network.beforeRequestSent":
            self.asked.append(params["request"]["url"])
        elif params["level"] in ("warn", "error"):
            self.said.append(f"{params['level']}: {params['text']}")

    def size(self, width: int, height: int) -> None:
        self.tell("browsingContext.setViewport", context=self.tab, viewport={"width": width, "height": height})

    def go(self, address: str) -> None:
        self.tell("browsingContext.navigate", context=self.tab, url=address, wait="complete")

    def run(self, function: str, *values: Any) -> Any:
        """What a JavaScript function of plain values returns; a promise is waited for."""
        given = ", ".join(json.dumps(value) for value in values)
        found = self.tell(
            "script.evaluate",
            expression=f"Promise.resolve(({function})({given})).then((found) => JSON.stringify(found ?? null))",
            target={"context": self.tab},
            awaitPromise=True,
        )
        if found["type"] == "exception":
            raise RuntimeError(found["exceptionDetails"]["text"])
        return json.loads(found["result"]["value"])

    def until(self, function: str, *values: Any) -> Any:
        """The first result of `function` that is something."""
        end = time.monotonic() + ANSWERS_WITHIN
        while time.monotonic() < end:
            if found := self.run(function, *values):
                return found
            time.sleep(0.05)
        raise TimeoutError(f"after {ANSWERS_WITHIN} s there is still nothing in {function}")

    def press(self, *keys: str, held: str = "") -> None:
        """Keys by name, or letters; `held` is down all the while."""
        strokes = [KEYS.get(key, key) for key in keys]
        actions = [{"type": kind, "value": key} for key in strokes for kind in ("keyDown", "keyUp")]
        if held:
            actions = [{"type": "keyDown", "value": held}, *actions, {"type": "keyUp", "value": held}]
        self._act({"type": "key", "id": "keys", "actions": actions})

    def point(self, selector: str, click: bool = True, place: int = 0) -> None:
        """Move the mouse to the middle of the element once it rests there uncovered, and click."""
        x, y = self.until(RESTS, selector, place)
        steps: list[dict[str, Any]] = [{"type": "pointerMove", "x": x, "y": y}]
        if click:
            steps += [{"type": kind, "button": 0} for kind in ("pointerDown", "pointerUp")]
        self._act({"type": "pointer", "id": "mouse", "parameters": {"pointerType": "mouse"}, "actions": steps})

    def _act(self, source: dict[str, Any]) -> None:
        self.tell("input.performActions", context=self.tab, actions=[source])

    def picture(self, path: Path, whole: bool = False) -> None:
        origin = "document" if whole else "viewport"
        shot = self.tell("browsingContext.captureScreenshot", context=self.tab, origin=origin)
        path.write_bytes(base64.b64decode(shot["data"]))


@contextmanager
def firefox(program: str, profile: Path, **preferences: Any) -> Iterator[Firefox]:
    """A Firefox with a profile of its own in the folder `profile`, until the end of the block."""
    profile.mkdir(parents=True, exist_ok=True)
    lines = [f"user_pref({json.dumps(k)}, {json.dumps(v)});\n" for k, v in {**PREFERENCES, **preferences}.items()]
    (profile / "user.js").write_text("".join(lines), encoding="utf-8")
    command = [program, "--headless", "--no-remote", "--profile", str(profile), "--remote-debugging-port", "0"]
    log = profile / "said.log"
    with log.open("w") as output:
        process = subprocess.Popen([*command, "about:blank"], stdout=output, stderr=subprocess.STDOUT)
    try:
        socket = create_connection(f"{_address(process, log)}/session", timeout=ANSWERS_WITHIN, suppress_origin=True)
        try:
            yield Firefox(socket)
        finally:
            socket.close()
    finally:
        process.terminate()
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _address(process: subprocess.Popen, log: Path) -> str:
    end = time.monotonic() + STARTS_WITHIN
    while time.monotonic() < end and process.poll() is None:
        if found := LISTENS.search(log.read_text(encoding="utf-8", errors="replace")):
            return found[1]
        time.sleep(0.1)
    raise RuntimeError(f"Firefox does not start; it says:\n{log.read_text(errors='replace')[-2000:]}")


if __name__ == "__main__" and find_firefox() is None:
    print("Firefox: none found, installing one.", flush=True)
    if not apt_install("firefox-esr"):
        print(MISSING)
