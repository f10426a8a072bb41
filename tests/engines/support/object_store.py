# SPDX-License-Identifier: Apache-2.0
"""An object store in a pod of the node, versitygw, for jobs without a volume; for kubernetes.py."""

import shutil

from control_plane import until
from main_job import NAMESPACE
from node import DOMAIN, run

SECRET, LABELS, PORT = "store", {"app": "store"}, 7070
ENDPOINT = f"http://store.{NAMESPACE}.svc.{DOMAIN}:{PORT}"
KEYS = {"AWS_ACCESS_KEY_ID": "AKIAIOSFODNN7EXAMPLE",
        "AWS_SECRET_ACCESS_KEY": "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"}


class Store:
    """The store, with the bucket "bucket". The Secret `SECRET` has its keys, as variables of a job.

    versitygw keeps an object in a file with the name of its key, so the test finds them in the directory `bucket`. The
    store has a volume, because it must be there again after a restart.
    """

    def __init__(self, node, distrib):
        self.node, self.distrib, folder = node, distrib, node.folder / "store"
        node.claim("store", folder, made=True)
        self.bucket = folder / "bucket"
        self.bucket.mkdir()
        shutil.chown(self.bucket, 65532, 65532)
        variables = [{"name": f"ROOT_{name}", "valueFrom": {"secretKeyRef": {"name": SECRET, "key": key}}}
                     for name, key in (("ACCESS_KEY", "AWS_ACCESS_KEY_ID"), ("SECRET_KEY", "AWS_SECRET_ACCESS_KEY"))]
        node.apply(
            {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": SECRET}, "stringData": KEYS},
            {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "store"},
             "spec": {"clusterIP": "None", "selector": LABELS, "ports": [{"port": PORT}]}},
            {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "store", "labels": LABELS}, "spec": {
                "automountServiceAccountToken": False, "enableServiceLinks": False,
                "containers": [{
                    "name": "versitygw", "image": "versitygw", "imagePullPolicy": "Never",
                    "args": ["--port", f":{PORT}", "--quiet", "posix", "/objects"], "env": variables,
                    "ports": [{"containerPort": PORT}],
                    "readinessProbe": {"tcpSocket": {"port": PORT}, "periodSeconds": 1},
                    "volumeMounts": [{"name": "objects", "mountPath": "/objects"}],
                    "securityContext": {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}}}],
                "volumes": [{"name": "objects", "persistentVolumeClaim": {"claimName": "store"}}],
                "securityContext": {"runAsNonRoot": True, "runAsUser": 65532, "runAsGroup": 65532, "fsGroup": 65532,
                                    "seccompProfile": {"type": "RuntimeDefault"}}}})
        node.kubectl("wait", "--for=condition=ready", "--timeout=60s", "pod/store")

    def pod(self):
        return self.node.pods("app=store")[0]

    def has_records(self):
        """Writes the records of the main job below data/, with an index."""
        url = f"s3+http://{self.pod()['status']['podIP']}:{PORT}/bucket/data"
        files = sorted((self.node.folder / "records").glob("t*-*-of-*"))
        for command in (["recompress", "--force", "--compression", "none", "--directory", url, *files],
                        ["index", f"{url}/train-*"]):
            run(self.distrib, "records", *command, env=KEYS | {"AWS_REGION": "us-east-1", "PATH": "/usr/bin:/bin"})

    def restarts(self):
        """Kills the store. Returns when the kubelet has started it again."""
        before = self.node.container(self.pod())
        self.node.kill(self.pod())

        def again():
            state = self.pod()["status"]["containerStatuses"][0]
            return state["ready"] and self.node.container(self.pod()) != before

        until("another process of the object store", again, self.node.processes, 60)

    def objects(self, directory):
        """Returns the keys below a directory, without it."""
        root = self.bucket / directory
        return sorted(str(path.relative_to(root)) for path in root.rglob("*") if path.is_file())
