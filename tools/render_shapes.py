# SPDX-License-Identifier: Apache-2.0
"""The keys of the Kubernetes objects that training jobs use, and the types of their values.

A shape maps keys to types; a key with `!` is required. Types: S text, I whole number, B boolean, M mapping of texts,
Q quantity, P port or its name, A anything; [shape], a list; a set of the allowed texts; the name of another shape. A
key that is in no shape is refused, as by a server with strict validation: usually it is misspelt.
"""

import re

S, I, B, M, Q, P, A = "text", "whole number", "boolean", "mapping of texts", "quantity", "port", "anything"
YES_NO_MAYBE = {"Always", "OnFailure", "Never"}
POLICY = {"FailJob", "FailIndex", "Ignore", "Count"}

SHAPES = {
    "Meta": {"name!": S, "namespace": S, "labels": M, "annotations": M},
    "TemplateMeta": {"name": S, "namespace": S, "labels": M, "annotations": M},
    "Selector": {"matchLabels": M, "matchExpressions": [{"key!": S, "operator!": {"In", "NotIn", "Exists",
                                                                                  "DoesNotExist"},
                                                        "values": [S]}]},
    "ServiceSpec": {"clusterIP": S, "selector!": M, "publishNotReadyAddresses": B, "sessionAffinity": S,
                    "type": {"ClusterIP", "NodePort", "LoadBalancer", "ExternalName"},
                    "ports": [{"name": S, "port!": I, "targetPort": P, "protocol": {"TCP", "UDP", "SCTP"},
                               "nodePort": I,
                               "appProtocol": S}]},
    "ClaimSpec": {"accessModes!": [{"ReadWriteOnce", "ReadOnlyMany", "ReadWriteMany", "ReadWriteOncePod"}],
                  "resources!": {"requests!": {"storage!": Q}}, "storageClassName": S, "volumeName": S,
                  "volumeMode": {"Filesystem", "Block"}, "selector": "Selector"},
    "Claim": {"metadata!": "Meta", "spec!": "ClaimSpec", "apiVersion": S, "kind": S},
    "BudgetSpec": {"selector!": "Selector", "maxUnavailable": A, "minAvailable": A,
                   "unhealthyPodEvictionPolicy": {"IfHealthyBudget", "AlwaysAllow"}},
    "Peer": {"podSelector": "Selector", "namespaceSelector": "Selector", "ipBlock": {"cidr!": S, "except": [S]}},
    "PolicyPort": {"port": P, "protocol": {"TCP", "UDP", "SCTP"}, "endPort": I},
    "PolicySpec": {"podSelector!": "Selector", "policyTypes": [{"Ingress", "Egress"}],
                   "ingress": [{"from": ["Peer"], "ports": ["PolicyPort"]}],
                   "egress": [{"to": ["Peer"], "ports": ["PolicyPort"]}]},
    "Probe": {"tcpSocket": {"port!": P, "host": S}, "exec": {"command!": [S]}, "grpc": {"port!": I, "service": S},
              "httpGet": {"path": S, "port!": P, "scheme": {"HTTP", "HTTPS"}, "host": S, "httpHeaders": [A]},
              "initialDelaySeconds": I, "periodSeconds": I, "timeoutSeconds": I, "failureThreshold": I,
              "successThreshold": I,
              "terminationGracePeriodSeconds": I},
    "KeyRef": {"name!": S, "key!": S, "optional": B},
    "Env": {"name!": S, "value": S, "valueFrom": {"fieldRef": {"fieldPath!": S, "apiVersion": S},
                                                  "secretKeyRef": "KeyRef",
                                                  "configMapKeyRef": "KeyRef",
                                                  "resourceFieldRef": {"resource!": S, "containerName": S,
                                                                       "divisor": Q}}},
    "Resources": {"requests": "Quantities", "limits": "Quantities"},
    "ContainerSecurity": {"allowPrivilegeEscalation": B, "readOnlyRootFilesystem": B, "runAsNonRoot": B, "runAsUser": I,
                          "runAsGroup": I, "privileged": B, "capabilities": {"drop": [S], "add": [S]},
                          "seccompProfile": {"type!": {"RuntimeDefault", "Localhost", "Unconfined"},
                                             "localhostProfile": S}},
    "PodSecurity": {"runAsNonRoot": B, "runAsUser": I, "runAsGroup": I, "fsGroup": I, "supplementalGroups": [I],
                    "fsGroupChangePolicy": {"OnRootMismatch", "Always"},
                    "seccompProfile": {"type!": {"RuntimeDefault", "Localhost", "Unconfined"}, "localhostProfile": S}},
    "Handler": {"sleep": {"seconds!": I}, "exec": {"command!": [S]}},
    "Container": {"name!": S, "image!": S, "imagePullPolicy": {"Always", "IfNotPresent", "Never"}, "command": [S],
                  "args": [S],
                  "workingDir": S, "env": ["Env"], "ports": [{"name": S, "containerPort!": I, "protocol": S}],
                  "envFrom": [{"configMapRef": {"name!": S, "optional": B}, "secretRef": {"name!": S, "optional": B},
                               "prefix": S}],
                  "volumeMounts": [{"name!": S, "mountPath!": S, "readOnly": B, "subPath": S}],
                  "resources": "Resources",
                  "startupProbe": "Probe", "readinessProbe": "Probe", "livenessProbe": "Probe",
                  "lifecycle": {"preStop": "Handler", "postStart": "Handler"}, "securityContext": "ContainerSecurity",
                  "terminationMessagePolicy": {"File", "FallbackToLogsOnError"}, "restartPolicy": {"Always"}},
    "Items": [{"key!": S, "path!": S, "mode": I}],
    "Volume": {"name!": S, "persistentVolumeClaim": {"claimName!": S, "readOnly": B},
               "emptyDir": {"medium": S, "sizeLimit": Q}, "configMap": {"name!": S, "items": "Items", "defaultMode": I},
               "secret": {"secretName!": S, "items": "Items", "defaultMode": I, "optional": B},
               "hostPath": {"path!": S, "type": S}, "nfs": {"server!": S, "path!": S, "readOnly": B},
               "csi": {"driver!": S, "readOnly": B, "volumeAttributes": M},
               "projected": {"sources!": [A], "defaultMode": I}},
    "Spread": {"maxSkew!": I, "topologyKey!": S, "whenUnsatisfiable!": {"ScheduleAnyway", "DoNotSchedule"},
               "labelSelector": "Selector"},
    "AffinityTerm": {"topologyKey!": S, "labelSelector": "Selector", "namespaces": [S]},
    "Affinities": {"requiredDuringSchedulingIgnoredDuringExecution": ["AffinityTerm"],
                   "preferredDuringSchedulingIgnoredDuringExecution": [{"weight!": I,
                                                                        "podAffinityTerm!": "AffinityTerm"}]},
    "PodSpec": {"containers!": ["Container"], "initContainers": ["Container"], "volumes": ["Volume"],
                "restartPolicy": YES_NO_MAYBE, "terminationGracePeriodSeconds": I, "enableServiceLinks": B,
                "automountServiceAccountToken": B, "serviceAccountName": S, "securityContext": "PodSecurity",
                "hostname": S,
                "subdomain": S, "priorityClassName": S, "nodeSelector": M, "imagePullSecrets": [{"name!": S}],
                "topologySpreadConstraints": ["Spread"], "schedulerName": S, "hostNetwork": B, "dnsPolicy": S,
                "affinity": {"podAffinity": "Affinities", "podAntiAffinity": "Affinities", "nodeAffinity": A},
                "tolerations": [{"key": S, "operator": {"Exists", "Equal"}, "value": S, "effect": S,
                                 "tolerationSeconds": I}],
                "activeDeadlineSeconds": I, "runtimeClassName": S},
    "CertificateSpec": {"secretName!": S, "issuerRef!": {"name!": S, "kind": {"Issuer", "ClusterIssuer"}, "group": S},
                        "dnsNames": [S], "ipAddresses": [S], "duration": S, "renewBefore": S, "commonName": S,
                        "usages": [{"digital signature", "key encipherment", "server auth", "client auth"}],
                        "privateKey": A, "subject": A, "secretTemplate": A},
    "PodTemplate": {"metadata": "TemplateMeta", "spec!": "PodSpec"},
    "StatefulSetSpec": {"replicas": I, "serviceName!": S, "selector!": "Selector", "template!": "PodTemplate",
                        "podManagementPolicy": {"Parallel", "OrderedReady"},
                        "updateStrategy": {"type!": {"OnDelete", "RollingUpdate"}, "rollingUpdate": A},
                        "persistentVolumeClaimRetentionPolicy": {"whenDeleted": {"Delete", "Retain"},
                                                                 "whenScaled": {"Delete", "Retain"}},
                        "volumeClaimTemplates": ["Claim"], "minReadySeconds": I, "revisionHistoryLimit": I,
                        "ordinals": {"start": I}},
    "DeploymentSpec": {"replicas": I, "selector!": "Selector", "template!": "PodTemplate", "minReadySeconds": I,
                       "strategy": {"type": {"Recreate", "RollingUpdate"}, "rollingUpdate": A},
                       "revisionHistoryLimit": I, "progressDeadlineSeconds": I},
    "JobSpec": {"template!": "PodTemplate", "completionMode": {"Indexed", "NonIndexed"}, "completions": I,
                "parallelism": I, "backoffLimit": I, "backoffLimitPerIndex": I, "maxFailedIndexes": I,
                "activeDeadlineSeconds": I, "suspend": B,
                "podReplacementPolicy": {"Failed", "TerminatingOrFailed"}, "ttlSecondsAfterFinished": I, "managedBy": S,
                "podFailurePolicy": {"rules!": [{"action!": POLICY,
                                                 "onExitCodes": {"operator!": {"In", "NotIn"}, "values!": [I],
                                                                 "containerName": S},
                                                 "onPodConditions": [{"type!": S, "status!": S}]}]},
                "successPolicy": {"rules!": [{"succeededIndexes": S, "succeededCount": I}]}},
    "JobTemplate": {"metadata": "TemplateMeta", "spec!": "JobSpec"},
    "JobSetSpec": {"replicatedJobs!": [{"name!": S, "replicas": I, "template!": "JobTemplate", "groupName": S,
                                        "dependsOn": [{"name!": S, "status!": {"Ready", "Complete"}}]}],
                   "network": {"enableDNSHostnames": B, "subdomain": S, "publishNotReadyAddresses": B},
                   "successPolicy": {"operator!": {"All", "Any"}, "targetReplicatedJobs": [S]},
                   "failurePolicy": {"maxRestarts": I, "restartStrategy": {"Recreate", "BlockingRecreate"},
                                     "rules": [{"name!": S, "onJobFailureReasons": [S], "targetReplicatedJobs": [S],
                                                "action!": {"FailJobSet", "RestartJobSet",
                                                            "RestartJobSetAndIgnoreMaxRestarts"}}]},
                   "startupPolicy": {"startupPolicyOrder!": {"AnyOrder", "InOrder"}}, "suspend": B, "managedBy": S,
                   "coordinator": {"replicatedJob!": S, "jobIndex": I, "podIndex": I}, "ttlSecondsAfterFinished": I},
    "PodGroupSpec": {"minMember": I, "queue": S, "priorityClassName": S, "minResources": "Quantities",
                     "minTaskMember": A},
    "RuntimeSpec": {"mlPolicy": {"numNodes": I, "torch": A, "mpi": A, "jax": A, "xgboost": A, "flux": A},
                    "podGroupPolicy": {"coscheduling": {"scheduleTimeoutSeconds": I}, "volcano": {"networkTopology": A}},
                    "template": {"metadata": "TemplateMeta", "spec!": "JobSetSpec"}},
    "TrainJobSpec": {"runtimeRef!": {"name!": S, "apiGroup": S, "kind": {"TrainingRuntime", "ClusterTrainingRuntime"}},
                     "trainer": {"image": S, "command": [S], "args": [S], "env": ["Env"], "numNodes": I,
                                 "numProcPerNode": A, "resourcesPerNode": "Resources"},
                     "initializer": A, "runtimePatches": [A], "suspend": B, "activeDeadlineSeconds": I,
                     "managedBy": S},
    "Replica": {"replicas": I, "restartPolicy": YES_NO_MAYBE | {"ExitCode"}, "template!": "PodTemplate"},
    "TFJobSpec": {"tfReplicaSpecs!": {"Chief": "Replica", "Master": "Replica", "PS": "Replica", "Worker": "Replica",
                                      "Evaluator": "Replica"},
                  "successPolicy": {"", "AllWorkers"}, "enableDynamicWorker": B,
                  "runPolicy": {"cleanPodPolicy": {"None", "Running", "All"}, "ttlSecondsAfterFinished": I,
                                "activeDeadlineSeconds": I, "backoffLimit": I, "suspend": B, "managedBy": S,
                                "schedulingPolicy": {"minAvailable": I, "queue": S, "priorityClass": S,
                                                     "scheduleTimeoutSeconds": I, "minResources": A}}},
}

OBJECTS = {
    ("v1", "Service"): "ServiceSpec", ("v1", "PersistentVolumeClaim"): "ClaimSpec", ("v1", "Pod"): "PodSpec",
    ("apps/v1", "StatefulSet"): "StatefulSetSpec", ("apps/v1", "Deployment"): "DeploymentSpec", ("batch/v1",
                                                                                                 "Job"): "JobSpec",
    ("policy/v1", "PodDisruptionBudget"): "BudgetSpec", ("policy/v1beta1", "PodDisruptionBudget"): "BudgetSpec",
    ("networking.k8s.io/v1", "NetworkPolicy"): "PolicySpec", ("jobset.x-k8s.io/v1alpha2", "JobSet"): "JobSetSpec",
    ("trainer.kubeflow.org/v1alpha1", "TrainingRuntime"): "RuntimeSpec",
    ("trainer.kubeflow.org/v1alpha1", "TrainJob"): "TrainJobSpec",
    ("scheduling.volcano.sh/v1beta1", "PodGroup"): "PodGroupSpec",
    ("kubeflow.org/v1", "TFJob"): "TFJobSpec", ("cert-manager.io/v1", "Certificate"): "CertificateSpec",
}
DATA = {("v1", "ConfigMap"): {"data": M, "binaryData": M, "immutable": B},
        ("v1", "Secret"): {"type": S, "data": M, "stringData": M, "immutable": B},
        ("v1", "ServiceAccount"): {"automountServiceAccountToken": B}}

IS = {S: lambda v: isinstance(v, str), I: lambda v: isinstance(v, int) and not isinstance(v, bool),
      B: lambda v: isinstance(v, bool), P: lambda v: isinstance(v, (int, str)) and not isinstance(v, bool),
      A: lambda v: True,
      M: lambda v: isinstance(v, dict) and all(isinstance(x, str) for pair in v.items() for x in pair),
      Q: lambda v: re.fullmatch(r"\d+(\.\d+)?(m|k|[KMGTPE]i?)?", str(v)) is not None and not isinstance(v, bool)}


def problems(document):
    """What is wrong with one object: unknown and missing keys, values of another type."""
    if not isinstance(document, dict):
        return [f"a document is not a mapping: {document!r}"]
    kind = document.get("kind")
    key = (document.get("apiVersion"), kind)
    if key in DATA:
        shape = {"apiVersion!": S, "kind!": S, "metadata!": "Meta", **DATA[key]}
    elif key in OBJECTS:
        shape = {"apiVersion!": S, "kind!": S, "metadata!": "Meta", "spec!": OBJECTS[key]}
    else:
        return [f"{kind} of {document.get('apiVersion')}: unknown to this check"]
    return list(differences(document, shape, str(kind)))


def differences(value, shape, where):
    if shape == "Quantities":
        if not isinstance(value, dict):
            yield f"{where}: must be a mapping of quantities"
            return
        for key, inner in value.items():
            yield from differences(inner, Q, f"{where}.{key}")
    elif isinstance(shape, str) and shape in SHAPES:
        yield from differences(value, SHAPES[shape], where)
    elif isinstance(shape, str):
        if not IS[shape](value):
            yield f"{where}: must be a {shape}, not {value!r}"
    elif isinstance(shape, (set, frozenset)):
        if value not in shape if isinstance(value, str) else True:
            yield f"{where}: must be one of {', '.join(sorted(shape))}, not {value!r}"
    elif isinstance(shape, list):
        if not isinstance(value, list):
            yield f"{where}: must be a list, not {value!r}"
            return
        for i, inner in enumerate(value):
            yield from differences(inner, shape[0], f"{where}[{i}]")
    elif not isinstance(value, dict):
        yield f"{where}: must be a mapping, not {value!r}"
    else:
        known = {key.rstrip("!"): inner for key, inner in shape.items()}
        for key in value:
            if key not in known:
                yield f"{where}: unknown key {key!r}"
            else:
                yield from differences(value[key], known[key], f"{where}.{key}")
        for key in shape:
            if key.endswith("!") and key[:-1] not in value:
                yield f"{where}: {key[:-1]} is missing"
