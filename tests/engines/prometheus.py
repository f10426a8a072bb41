#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A real Prometheus scrapes the main job: 2 parameter servers, 3 workers.

usage: prometheus.py BUILD

All five tasks must be up; every query of the dashboard in examples/kubernetes/monitoring must have an answer, and every
rule must be accepted. Before that, promtool runs each alarm against made-up series: it must come when it should, and only
then. Exit code 77: skipped, because there is no Prometheus.
"""

import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time
import urllib.parse
import urllib.request

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/support"))
from processes import free_ports_in_a_row  # noqa: E402

MONITORING = ROOT / "examples/kubernetes/monitoring"
RAW = os.environ.get("FASHION_MNIST_DIR", "/usr/share/datasets/fashion-mnist")
ENVIRONMENT = {name: value for name, value in os.environ.items() if name != "TF_CONFIG"}
TASKS = 5

SHARD, WORKER = 'instance="i",task="0",shard="0"', 'instance="j",worker="1",rank="1"'
OTHER = 'instance="i",task="1",shard="0"'
# Of each alarm: series with values of each minute, when it must not have come and when it must have, and its labels.
ALARMS = {
    "DistribStandsStill": ({f"distrib_ps_step{{{SHARD}}}": "0+60x20 1200x40", f"distrib_ps_total_steps{{{SHARD}}}": "9000x60"},
                           "20m", "50m", f'{SHARD},severity="critical"'),
    "DistribDoesNotOpen": ({f"distrib_ps_open{{{SHARD}}}": "1x10 0x40"}, "18m", "40m", f'{SHARD},severity="critical"'),
    "DistribCutIsOld": ({f"distrib_ps_step{{{SHARD}}}": "0+60x90", f"distrib_ps_newest_cut_step{{{SHARD}}}": "0+60x30 1800x60"},
                        "45m", "80m", f'{SHARD},severity="warning"'),
    "DistribRankIsAway": ({f"distrib_ps_step{{{SHARD}}}": "0+60x60", f"distrib_ps_total_steps{{{SHARD}}}": "9000x60",
                           f'distrib_ps_rank_here{{{SHARD},rank="2"}}': "1x10 0x50"},
                          "12m", "20m", f'{SHARD},rank="2",severity="warning"'),
    "DistribDiskIsFull": ({f"distrib_ps_no_room{{{SHARD}}}": "0x10 1x20"}, "11m", "15m", f'{SHARD},severity="critical"'),
    "DistribStepsApart": ({f"distrib_ps_step{{{SHARD}}}": "0+60x60", f"distrib_ps_step{{{OTHER}}}": "0+60x20 1200+55x40",
                           f"distrib_ps_ranks{{{SHARD}}}": "3x60", f"distrib_ps_ranks{{{OTHER}}}": "3x60"},
                          "30m", "50m", 'severity="warning"'),
    "DistribWaitsForRank": ({f'distrib_ps_rank_waited_seconds_total{{{SHARD},rank="0"}}': "0+10x60",
                             f'distrib_ps_rank_waited_seconds_total{{{SHARD},rank="2"}}': "0+10x20 200+30x40"},
                            "25m", "50m", f'{SHARD},rank="2",severity="warning"'),
    "DistribOneWorkerIsSlow": ({'distrib_worker_seconds_total{worker="0",phase="wait"}': "0+10x20 200+50x60",
                                'distrib_worker_seconds_total{worker="1",phase="wait"}': "0+10x20 200+1x60"},
                               "20m", "60m", 'severity="warning"'),
    "DistribLossIsNoNumber": ({f"distrib_worker_loss{{{WORKER}}}": "0.5x10" + " NaN" * 10}, "9m", "15m", f'{WORKER},severity="critical"'),
    "DistribCertificateExpires": ({'distrib_tls_certificate_expires_seconds{instance="i"}': "6000x60"},
                                  "30m", "50m", 'instance="i",severity="critical"'),
}


def check_alarms(work):
    rules = json.dumps(str(MONITORING / "alerts.yaml"))
    tests = []
    for alarm, (series, calm, loud, labels) in ALARMS.items():
        tests.append({"interval": "1m", "input_series": [{"series": name, "values": values} for name, values in series.items()],
                      "promql_expr_test": [
                          {"expr": f'ALERTS{{alertname="{alarm}",alertstate="firing"}}', "eval_time": at,
                           "exp_samples": [{"labels": f'ALERTS{{alertname="{alarm}",alertstate="firing",{labels}}}', "value": 1}]
                           if at == loud else []} for at in (calm, loud)]})
    # JSON is YAML.
    (work / "test.yaml").write_text(json.dumps({"rule_files": [json.loads(rules)], "evaluation_interval": "1m", "tests": tests}))
    subprocess.run(["promtool", "check", "rules", MONITORING / "alerts.yaml"], check=True, timeout=60)
    subprocess.run(["promtool", "test", "rules", work / "test.yaml"], check=True, timeout=60)
    defined = {line.split(":")[1].strip() for line in (MONITORING / "alerts.yaml").read_text().splitlines() if "- alert:" in line}
    assert defined == set(ALARMS), f"without a test, or without a rule: {defined ^ set(ALARMS)}"


def main():
    if not shutil.which("prometheus") or not shutil.which("promtool"):
        print("skipped: there is no prometheus: install prometheus")
        sys.exit(77)
    build = pathlib.Path(sys.argv[1]).resolve()
    with tempfile.TemporaryDirectory() as folder:
        work = pathlib.Path(folder)
        check_alarms(work)
        subprocess.run([build / "examples/fashion_mnist_convert", RAW, work / "data"], check=True, stdout=subprocess.DEVNULL)
        port, own = free_ports_in_a_row(TASKS), free_ports_in_a_row(1)
        targets = [f"127.0.0.1:{port + task}" for task in range(TASKS)]
        (work / "prometheus.yml").write_text(json.dumps({
            "global": {"scrape_interval": "1s", "evaluation_interval": "1s"},
            "rule_files": [str(MONITORING / "alerts.yaml")],
            "scrape_configs": [{"job_name": "distrib", "static_configs": [{"targets": targets, "labels": {"namespace": "here"}}]}]}))
        log = (work / "log").open("w+")
        job = subprocess.Popen([build / "tools/distrib", "launch", "--ps", "2", "--workers", "3", "--", build / "examples/fashion_mnist_train",
                                "--data", work / "data", "--out", work / "out", "--steps", "100000", "--save_every", "100",
                                "--metrics", targets[0]], env=ENVIRONMENT, stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT)
        prometheus = subprocess.Popen(["prometheus", f"--config.file={work}/prometheus.yml", f"--storage.tsdb.path={work}/series",
                                       f"--web.listen-address=127.0.0.1:{own}"], stdin=subprocess.DEVNULL,
                                      stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

        def ask(what, **parameters):
            address = f"http://127.0.0.1:{own}/api/v1/{what}?{urllib.parse.urlencode(parameters)}"
            with urllib.request.urlopen(address, timeout=20) as answer:
                return json.load(answer)["data"]

        def until(what, condition):
            end, why = time.monotonic() + 90, ""
            while time.monotonic() < end:
                try:
                    if found := condition():
                        return found
                except OSError as error:
                    why = f": {error}"
                time.sleep(0.5)
            log.seek(0)
            sys.exit(f"waited 90 s for {what}{why}\n{log.read()[-3000:]}")

        try:
            until("all targets to be up", lambda: [one["health"] for one in ask("targets")["activeTargets"]] == ["up"] * TASKS)
            print(f"{TASKS} targets are up")
            queries = [target["expr"].replace("$namespace", "here")
                       for panel in json.loads((MONITORING / "dashboard.json").read_text())["panels"] for target in panel["targets"]]
            for query in queries:
                until(f"an answer to {query}", lambda query=query: ask("query", query=query)["result"])
            print(f"{len(queries)} queries of the dashboard have an answer")
            rules = [rule for group in ask("rules")["groups"] for rule in group["rules"]]
            assert len(rules) == len(ALARMS) and all(rule["health"] == "ok" for rule in rules), rules
            firing = [one["labels"]["alertname"] for one in ask("alerts")["alerts"] if one["state"] == "firing"]
            assert not firing, f"a good job has alarms: {firing}"
            print(f"{len(rules)} rules are good, none fires")
        finally:
            for process in prometheus, job:
                process.terminate()
            for process in prometheus, job:
                process.wait(60)


if __name__ == "__main__":
    main()
