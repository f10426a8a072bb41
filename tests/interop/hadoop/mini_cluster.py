# SPDX-License-Identifier: Apache-2.0
"""HDFS and YARN in one JVM. Only one at a time on a machine, because YARN uses fixed ports."""

import glob
import json
import os
import pathlib
import re
import subprocess
import sys
import time
import urllib.error
import urllib.request

from jars import CACHE, HERE, JAVA, class_path, free_port


def with_our_classes():
    """Returns the class path of Hadoop's JVMs, with our own small classes."""
    hadoop, classes = class_path(), CACHE / "classes"
    classes.mkdir(exist_ok=True)
    subprocess.run(["javac", "-nowarn", "-d", classes, "-cp", hadoop, *sorted(HERE.glob("*.java"))], check=True,
                   stderr=subprocess.DEVNULL)
    return f"{classes}:{hadoop}"


class Job:
    """The result of a job."""

    def __init__(self, code, log):
        self.succeeded = code == 0
        self.log = log

    def counter(self, name):
        """Returns the value of a counter; 0 if it does not exist."""
        found = re.findall(rf"^\s*{re.escape(name)}=(\d+)$", self.log, re.MULTILINE)
        return int(found[-1]) if found else 0


class MiniCluster:
    """A context manager: the cluster is ready on entry and stopped on exit. `work` keeps its data and logs."""

    def __init__(self, work):
        self.work = pathlib.Path(work)
        self.class_path = with_our_classes()

    def __enter__(self):
        self.namenode, self.http, self.manager = free_port(), free_port(), free_port()
        self.hdfs = f"hdfs://localhost:{self.namenode}"
        settings = {
            "dfs.replication": 1, "yarn.resourcemanager.bind-host": "127.0.0.1",
            "yarn.nodemanager.bind-host": "127.0.0.1", "mapreduce.jobhistory.bind-host": "127.0.0.1",
            "mapreduce.jobhistory.admin.address": f"127.0.0.1:{free_port()}",
            "yarn.nodemanager.delete.debug-delay-sec": 86400,  # tests look at the files of finished tasks
            "yarn.nodemanager.disk-health-checker.max-disk-utilization-per-disk-percentage": 99.5,
        }
        command = [*JAVA, "-Xmx1g", f"-Dtest.build.data={self.work}/data", f"-Dhadoop.log.dir={self.work}/logs",
                   "-cp", self.class_path, "org.apache.hadoop.mapreduce.MiniHadoopClusterManager", "-format",
                   "-datanodes", "1", "-nodemanagers", "1", "-nnport", self.namenode, "-nnhttpport", self.http,
                   "-rmport", self.manager, "-jhsport", free_port(), "-writeConfig", self.work / "site.xml",
                   "-writeDetails", self.work / "details.json"]
        for name, value in settings.items():
            command += ["-D", f"{name}={value}"]
        (self.work / "logs").mkdir(parents=True)
        self.log = open(self.work / "cluster.log", "w")
        self.process = subprocess.Popen([str(part) for part in command], cwd=self.work, stdout=self.log,
                                        stderr=subprocess.STDOUT)
        deadline = time.monotonic() + 180
        while not (self.work / "details.json").exists():
            if self.process.poll() is not None or time.monotonic() > deadline:
                self.__exit__()
                sys.exit("the mini cluster did not start:\n" + (self.work / "cluster.log").read_text()[-3000:])
            time.sleep(0.2)
        json.loads((self.work / "details.json").read_text())
        return self

    def __exit__(self, *_):
        self.process.terminate()
        try:
            self.process.wait(60)
        except subprocess.TimeoutExpired:
            self.process.kill()
        self.log.close()

    # ---- files of HDFS, over WebHDFS ----

    def _ask(self, verb, path, query, body=None):
        url = f"http://localhost:{self.http}/webhdfs/v1{path}?{query}&user.name={os.environ.get('USER', 'root')}"
        request = urllib.request.Request(url, method=verb, data=body)
        with urllib.request.urlopen(request, timeout=60) as reply:
            return reply.read()

    def put(self, path, content, permission="644"):
        where = json.loads(self._ask("PUT", path, f"op=CREATE&overwrite=true&noredirect=true&permission={permission}"))
        request = urllib.request.Request(where["Location"], method="PUT", data=content,
                                         headers={"Content-Type": "application/octet-stream"})
        urllib.request.urlopen(request, timeout=60).read()

    def read(self, path):
        return self._ask("GET", path, "op=OPEN")

    def names(self, directory):
        listed = json.loads(self._ask("GET", directory, "op=LISTSTATUS"))
        return sorted(entry["pathSuffix"] for entry in listed["FileStatuses"]["FileStatus"])

    def copy(self, directory, target):
        """Copies the files of a directory into a local one."""
        pathlib.Path(target).mkdir()
        for name in self.names(directory):
            pathlib.Path(target, name).write_bytes(self.read(f"{directory}/{name}"))
        return target

    # ---- jobs ----

    def java(self, main, *arguments, cwd=None):
        command = [*JAVA, "-cp", self.class_path, main, *map(str, arguments)]
        run = subprocess.run(command, cwd=cwd or self.work, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                             timeout=600)
        return run.returncode, run.stdout

    def pipes(self, program, source, target, settings, conf=()):
        """Runs a job of Pipes on YARN until it has ended."""
        # The configuration file of the cluster does not name the framework.
        settings = {"mapreduce.framework.name": "yarn", "yarn.is.minicluster": "true",
                    "yarn.resourcemanager.address": f"127.0.0.1:{self.manager}", **settings}
        arguments = ["-conf", self.work / "site.xml"]
        for file in conf:
            arguments += ["-conf", file]
        for name, value in settings.items():
            arguments += ["-D", f"{name}={value}"]
        arguments += ["-program", program, "-input", source, "-output", target]
        return Job(*self.java("org.apache.hadoop.mapred.pipes.Submitter", *arguments))

    def task_logs(self):
        """Returns the last log lines of the tasks, to find the reason of a failure."""
        pieces = []
        for path in glob.glob(f"{self.work}/data/**/container_*/stderr", recursive=True):
            text = pathlib.Path(path).read_text(errors="replace").strip()
            if text:
                pieces.append(f"{path}:\n{text[-1500:]}")
        return "\n".join(pieces[-6:])
