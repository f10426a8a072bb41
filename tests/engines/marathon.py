#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the group of examples/marathon in an emulation of Marathon, because no real Marathon is available any more.

usage: marathon.py BUILD

Renders and checks the group, then does what Marathon and Mesos-DNS would do on one agent: starts each app's program
with its arguments, variables and fixed port, makes the apps' names known, connects to the ports of the health checks,
and restarts each program that ends. One parameter server and one worker are killed. The job must end with the hash of
an undisturbed synchronous run in one process. Then the group is deleted. All of it is done a second time, over TLS.
Needs root, for a private /etc. Exit code 77: skipped.
"""

import json
import os
import pathlib
import random
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))
import render_marathon  # noqa: E402

IMAGES = pathlib.Path(os.environ.get("FASHION_MNIST_DIR", "/usr/share/datasets/fashion-mnist"))
PS, WORKERS, STEPS, LIMIT = 2, 3, 600, 120


def say(text):
    print(f"launcher emulation: {text}", flush=True)


def free_range(count):
    """Returns the first of `count` consecutive free ports, below the range of ports that the system assigns itself."""
    for _ in range(100):
        first, held = random.randint(20000, 30000), []
        try:
            held = [socket.create_server(("127.0.0.1", first + i)) for i in range(count)]
            return first
        except OSError:
            pass
        finally:
            for one in held:
                one.close()
    raise SystemExit("error: no ports in a row are free")


def until(what, condition, seconds=LIMIT, tend=lambda: None):
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            raise SystemExit(f"error: waited {seconds} s for {what}, without success")
        tend()
        time.sleep(0.05)


class App:
    """An app of the group: one program, which Marathon restarts whenever it ends."""

    def __init__(self, app_id, app, program, sandbox):
        self.id, self.app, self.program, self.sandbox = app_id, app, program, sandbox
        self.starts, self.process, self.next_start = 0, None, 0.0
        sandbox.mkdir(parents=True)

    def start(self):
        ports = [definition["port"] for definition in self.app.get("portDefinitions", [])]
        variables = {"PATH": os.environ["PATH"], "HOST": "127.0.0.1", "MARATHON_APP_ID": self.id,
                     "MESOS_TASK_ID": f"{self.id.strip('/').replace('/', '_')}.{self.starts}",
                     "MESOS_SANDBOX": str(self.sandbox), "OPENBLAS_NUM_THREADS": "1"}
        for i, definition in enumerate(self.app.get("portDefinitions", [])):
            variables |= dict.fromkeys([f"PORT{i}", f"PORT_{definition['name'].upper()}"], str(definition["port"]))
        assert not ports or self.app["requirePorts"], "a port that is not fixed"
        self.starts += 1
        with open(self.sandbox / "output", "ab") as output:
            self.process = subprocess.Popen([self.program, *self.app["args"]], env=variables | self.app["env"],
                                            cwd=self.sandbox, stdin=subprocess.DEVNULL, stdout=output,
                                            stderr=subprocess.STDOUT)

    def encrypts(self):
        return self.app["env"].get("DISTRIB_TLS_DIRECTORY") == "/etc/distrib/tls"

    def tend(self):
        if self.process is not None and self.process.poll() is not None:
            say(f"{self.id} ended with {self.process.returncode}: starting it again")
            wait = self.app["backoffSeconds"] * self.app["backoffFactor"] ** min(self.starts - 1, 10)
            self.next_start = time.monotonic() + min(wait, self.app["maxLaunchDelaySeconds"])
            self.process = None
        if self.process is None and time.monotonic() >= self.next_start:
            self.start()

    def is_healthy(self):
        checks = self.app.get("healthChecks", [])
        ports = [self.app["portDefinitions"][check["portIndex"]]["port"] for check in checks]
        try:
            for port in ports:
                socket.create_connection(("127.0.0.1", port), timeout=1).close()
        except OSError:
            return False
        return True

    def kill(self):
        say(f"kill -9 {self.id}")
        self.process.kill()

    def stop(self):
        if self.process is None or self.process.poll() is not None:
            return
        self.process.send_signal(signal.SIGTERM)
        try:
            self.process.wait(self.app["taskKillGracePeriodSeconds"])
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            raise SystemExit(f"error: {self.id} did not end within its grace period") from None


def make_names_known(group, folder):
    """Does the work of Mesos-DNS: the names of the apps resolve to the agent, which is this machine."""
    hosts = folder / "hosts"
    names = [render_marathon.mesos_dns_name(app_id) for app_id, _ in render_marathon.marathon_apps(group)]
    hosts.write_text("127.0.0.1 localhost\n" + "".join(f"127.0.0.1 {name}\n" for name in names))
    subprocess.run(["mount", "--bind", str(hosts), "/etc/hosts"], check=True)


def make_certificate(group, folder):
    """Makes certificates for all apps of the group, in /etc/distrib/tls, where the volumes of the group have them."""
    names = [render_marathon.mesos_dns_name(app_id) for app_id, _ in render_marathon.marathon_apps(group)]
    tls, work = folder / "etc/distrib/tls", folder / "work"
    for directory in (tls, work):
        directory.mkdir(mode=0o700, parents=True)
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
                    "-keyout", "tls.key", "-out", "tls.crt", "-days", "1", "-subj", "/CN=job",
                    "-addext", "subjectAltName=" + ",".join(f"DNS:{name}" for name in names)],
                   cwd=tls, check=True, stderr=subprocess.DEVNULL)
    shutil.copy(tls / "tls.crt", tls / "ca.crt")
    subprocess.run(["mount", "-t", "overlay", "overlay", "-o",
                    f"lowerdir=/etc,upperdir={folder / 'etc'},workdir={work}", "/etc"], check=True)


def emulate(build, folder):
    train, data = build / "examples/fashion_mnist_train", folder / "data"
    subprocess.run([build / "examples/fashion_mnist_convert", IMAGES, data], check=True, stdout=subprocess.DEVNULL)
    command = ["train", f"--steps={STEPS}", "--save_every=100"]
    subprocess.run([train, *command[1:], "--data", data, "--out", folder / "undisturbed", "--workers", str(WORKERS)],
                   check=True, stdout=subprocess.DEVNULL, env=os.environ | {"OPENBLAS_NUM_THREADS": "1"})
    expected = json.loads((folder / "undisturbed/summary.json").read_text())["parameters_sha256"]
    values = {"name": "mnist", "image": "example.org/train:1", "command": command, "data_dir": str(data),
              "ps_replicas": PS, "worker_replicas": WORKERS, "grace": 20}
    run_group(build, folder / "plain", train, values, expected)
    run_group(build, folder / "secure", train, values | {"tls_secret_name": "mnist"}, expected)


def run_group(build, folder, train, values, expected):
    folder.mkdir()
    out = folder / "out"
    (folder / "values.json").write_text(json.dumps(values | {"train_dir": str(out), "port": free_range(PS + WORKERS)}))
    group = json.loads(subprocess.run([build / "tools/distrib", "render", ROOT / "examples/marathon/group.json.jinja",
                                       "--values", folder / "values.json", "--check"], check=True,
                                      stdout=subprocess.PIPE).stdout)
    if "tls_secret_name" in values:
        make_certificate(group, folder)
    make_names_known(group, folder)

    apps = {app_id: App(app_id, app, train, folder / "sandboxes" / app_id.strip("/"))
            for app_id, app in render_marathon.marathon_apps(group)}

    assert all(app.encrypts() == ("tls_secret_name" in values) for app in apps.values())

    def tend():
        for app in apps.values():
            app.tend()

    try:
        say(f"group {group['id']}: {', '.join(apps)}")
        tend()
        until("all health checks", lambda: all(app.is_healthy() for app in apps.values()), tend=tend)
        until("the first cut", lambda: any(out.glob("checkpoint/*.index")), tend=tend)
        apps["/mnist/ps-0"].kill()
        apps["/mnist/worker-1"].kill()
        until("summary.json", (out / "summary.json").exists, tend=tend)
        found = json.loads((out / "summary.json").read_text())["parameters_sha256"]
    except BaseException:
        for app in apps.values():
            print(f"--- {app.id}", (app.sandbox / "output").read_text()[-2000:], sep="\n", file=sys.stderr)
        raise
    finally:
        say(f"DELETE /v2/groups{group['id']}")
        for app in apps.values():
            app.stop()
    for app_id in ("/mnist/ps-0", "/mnist/worker-1"):
        assert apps[app_id].starts >= 2, f"{app_id} was not started again"
    assert found == expected, f"the hash {found} differs from the hash of one undisturbed process: {expected}"
    say(f"the same hash as one undisturbed process: {found}")


def main():
    build = pathlib.Path(sys.argv[1]).resolve()
    if os.geteuid() != 0:
        say("skipped: this test needs root, for a private /etc/hosts")
        return 77
    if "DISTRIB_OWN_MOUNTS" not in os.environ:
        os.environ["DISTRIB_OWN_MOUNTS"] = "yes"
        os.execvp("unshare", ["unshare", "--mount", "--propagation", "private",
                              sys.executable, "-B", __file__, str(build)])
    folder = pathlib.Path(tempfile.mkdtemp())
    try:
        emulate(build, folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
