# SPDX-License-Identifier: Apache-2.0
"""Downloads Hadoop from Maven Central into a cache directory. As a program: prints the class path."""

import os
import pathlib
import shutil
import socket
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
CACHE = pathlib.Path(os.environ.get("XDG_CACHE_HOME", pathlib.Path.home() / ".cache"), "distrib/hadoop")
JAVA = ["java", "-Xmx512m", "--add-opens=java.base/java.lang=ALL-UNNAMED"]


def class_path():
    """Returns the jars; Maven is called only once for each pom."""
    pom, listed, known = HERE / "pom.xml", CACHE / "class_path.txt", CACHE / "pom.xml"
    if not known.exists() or known.read_bytes() != pom.read_bytes() or not all(
            pathlib.Path(jar).exists() for jar in listed.read_text().strip().split(":")):
        CACHE.mkdir(parents=True, exist_ok=True)
        subprocess.run(["mvn", "-q", "-B", "-f", pom, "dependency:build-classpath", f"-Dmdep.outputFile={listed}"],
                       check=True, stdout=sys.stderr)
        shutil.copy(pom, known)
    return listed.read_text().strip()


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


if __name__ == "__main__":
    print(class_path())
