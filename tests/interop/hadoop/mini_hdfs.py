# SPDX-License-Identifier: Apache-2.0
"""A small real HDFS: a name node, data nodes and HttpFS, one Java process each, so that any of them can be killed.

All ports are on loopback; the operating system chooses them before they are used.
"""

import getpass
import pathlib
import signal
import subprocess
import time
import urllib.request

from jars import JAVA, class_path, free_port


def site(path, values):
    properties = "".join(f"<property><name>{name}</name><value>{value}</value></property>"
                         for name, value in values.items())
    path.write_text(f"<configuration>{properties}</configuration>")


class MiniHdfs:
    """`with MiniHdfs(directory, data_nodes=2) as hdfs:`; the superuser is the user who runs it."""

    def __init__(self, directory, data_nodes=2):
        self.directory = pathlib.Path(directory)
        self.jars = class_path()
        self.user = getpass.getuser()
        self.rpc, self.http, self.httpfs_port = free_port(), free_port(), free_port()
        self.processes = {}
        self.names = [f"datanode{i}" for i in range(data_nodes)]

    def __enter__(self):
        try:
            self.configure("namenode", {})
            self.java("namenode", "org.apache.hadoop.hdfs.server.namenode.NameNode", "-format", "-force").wait(120)
            self.processes["namenode"] = self.java("namenode", "org.apache.hadoop.hdfs.server.namenode.NameNode")
            self.wait("namenode", lambda: self.ask("/?op=LISTSTATUS"))
            for name in self.names:
                self.start(name)
            self.wait("namenode", lambda: self.live() == len(self.names))
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        for process in self.processes.values():
            process.kill()
        for process in self.processes.values():
            process.wait()

    @property
    def url(self):
        return f"http://127.0.0.1:{self.http}"

    def configure(self, name, values):
        where = self.directory / name
        (where / "conf").mkdir(parents=True, exist_ok=True)
        for page in ("hdfs", "datanode"):  # web pages for users, which Maven Central does not have
            (where / "conf/webapps" / page / "WEB-INF").mkdir(parents=True, exist_ok=True)
            (where / "conf/webapps" / page / "WEB-INF/web.xml").write_text("<web-app/>")
        (where / "conf/webapps/static").mkdir(exist_ok=True)
        (where / "conf/log4j.properties").write_text(
            "log4j.rootLogger=WARN, out\nlog4j.appender.out=org.apache.log4j.ConsoleAppender\n"
            "log4j.appender.out.layout=org.apache.log4j.PatternLayout\n"
            "log4j.appender.out.layout.ConversionPattern=%d{ISO8601} %p %c{1}: %m%n\n")
        site(where / "conf/core-site.xml", {
            "fs.defaultFS": f"hdfs://127.0.0.1:{self.rpc}", "hadoop.tmp.dir": where / "tmp",
            f"hadoop.proxyuser.{self.user}.hosts": "*", f"hadoop.proxyuser.{self.user}.groups": "*"})
        site(where / "conf/hdfs-site.xml", {
            "dfs.namenode.rpc-address": f"127.0.0.1:{self.rpc}", "dfs.namenode.http-address": f"127.0.0.1:{self.http}",
            "dfs.replication": 2, "dfs.namenode.safemode.extension": 0,
            # A dead data node is noticed after 12 seconds instead of ten minutes.
            "dfs.heartbeat.interval": 1, "dfs.namenode.heartbeat.recheck-interval": 1000,
            "dfs.namenode.stale.datanode.interval": 3000, "dfs.namenode.avoid.read.stale.datanode": "true",
            "dfs.namenode.avoid.write.stale.datanode": "true", "dfs.datanode.hostname": "localhost",
            "dfs.datanode.address": "127.0.0.1:0", "dfs.datanode.http.address": "127.0.0.1:0",
            "dfs.datanode.ipc.address": "127.0.0.1:0", "dfs.datanode.du.reserved": 0,
            "dfs.client.block.write.replace-datanode-on-failure.policy": "NEVER", **values})

    def java(self, name, main, *arguments, options=()):
        where = self.directory / name
        with open(where / "log.txt", "ab") as log:
            return subprocess.Popen(
                [*JAVA, f"-Dhadoop.log.dir={where}", *options, "-cp", f"{where}/conf:{self.jars}", main, *arguments],
                stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT)

    def start(self, name):
        self.configure(name, {"dfs.datanode.data.dir": self.directory / name / "data"})
        self.processes[name] = self.java(name, "org.apache.hadoop.hdfs.server.datanode.DataNode")

    def kill(self, name):
        """Kills the process, as if its machine had lost power."""
        self.processes[name].send_signal(signal.SIGKILL)
        self.processes[name].wait()

    def start_httpfs(self):
        """Starts HttpFS and returns its URL."""
        self.configure("httpfs", {})
        where = self.directory / "httpfs"
        site(where / "conf/httpfs-site.xml", {
            "httpfs.http.port": self.httpfs_port, "httpfs.http.hostname": "127.0.0.1",
            "httpfs.hadoop.config.dir": where / "conf", f"httpfs.proxyuser.{self.user}.hosts": "*",
            f"httpfs.proxyuser.{self.user}.groups": "*"})
        (where / "temp").mkdir(exist_ok=True)
        self.processes["httpfs"] = self.java(
            "httpfs", "org.apache.hadoop.fs.http.server.HttpFSServerWebServer",
            options=[f"-Dhttpfs.home.dir={where}", f"-Dhttpfs.config.dir={where}/conf", f"-Dhttpfs.log.dir={where}",
                     f"-Dhttpfs.temp.dir={where}/temp"])
        url = f"http://127.0.0.1:{self.httpfs_port}"
        self.wait("httpfs", lambda: self.ask("/?op=LISTSTATUS", url))
        return url

    def ask(self, target, url=None):
        separator = "&" if "?" in target else "?"
        whole = f"{url or self.url}/webhdfs/v1{target}{separator}user.name={self.user}"
        with urllib.request.urlopen(whole, timeout=30) as answer:
            return answer.read()

    def live(self):
        query = "/jmx?qry=Hadoop:service=NameNode,name=FSNamesystemState"
        with urllib.request.urlopen(self.url + query, timeout=30) as answer:
            text = answer.read().decode()
        return int(text.split('"NumLiveDataNodes" : ')[1].split(",")[0])

    def wait(self, name, ready, seconds=120):
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            try:
                if ready():
                    return
            except OSError:
                pass
            if self.processes[name].poll() is not None:
                break
            time.sleep(0.3)
        log = (self.directory / name / "log.txt").read_text(errors="replace")
        raise SystemExit(f"{name} did not come up:\n{log[-3000:]}")
