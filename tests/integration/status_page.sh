#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The status page of a running job, from `distrib launch --status` and from a parameter server itself, and as a file.
# ctest calls it in build/PRESET/tests, where the programs are ../examples/fashion_mnist_* and ../tools/distrib.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/../support/command.sh"
unset TF_CONFIG NO_COLOR DISTRIB_TLS_DIRECTORY DISTRIB_SECRET DISTRIB_SECRET_FILE

"$programs/fashion_mnist_convert" /usr/share/datasets/fashion-mnist data >convert.txt
port=$(python3 -c 'import socket; s = socket.create_server(("127.0.0.1", 0)); print(s.getsockname()[1])')
timeout -k 5 120 "$distrib" launch --ps 2 --workers 3 --restart --status 0 -- "$programs/fashion_mnist_train" --data data --out out \
  --steps 400 --metrics "127.0.0.1:$port" >job.log 2>&1 &
launch=$!

python3 - "$port" "$distrib" <<'END' || { fail 'the page'; tail -n 30 job.log >&2; }
import json, os, pathlib, re, signal, subprocess, sys, time, urllib.error, urllib.request

port, command = sys.argv[1:]
log = pathlib.Path("job.log")
end = time.monotonic() + 60


def until(what, condition):
    while not (found := condition()):
        if time.monotonic() > end:
            sys.exit(f"still not true after 60 s: {what}")
        time.sleep(0.05)
    return found


def said(pattern):
    return re.findall(pattern, log.read_text(), re.MULTILINE)


def get(address):
    with urllib.request.urlopen(address, timeout=20) as answer:
        return answer.headers["Content-Type"], answer.read().decode()


def data(address):
    kind, text = get(address + "status.json")
    assert kind == "application/json", kind
    return json.loads(text)


page = until("the page's address", lambda: said(r"^launch \| status page: (http://127\.0\.0\.1:\d+/)$"))[0]
kind, text = get(page)
assert kind == "text/html; charset=utf-8" and text.startswith("<!doctype html>"), kind
until("a step", lambda: said(r"^worker0 \| step [1-9]"))
worker = int(said(r"^launch \| worker2 is process (\d+)$")[0])
os.kill(worker, signal.SIGSTOP)  # the job waits, so that the page can be looked at

whole = until("both parameter servers on the page", lambda: (now := data(page)) and len(now["shards"]) == 2 and now)
assert [shard["task"] for shard in whole["shards"]] == [0, 1], whole["shards"]
assert all(shard["open"] and shard["step"] > 0 and shard["total_steps"] == 400 for shard in whole["shards"]), whole["shards"]
assert whole["shards"][0]["rank_columns"]["here"] == [1] * 3, whole["shards"][0]["rank_columns"]
assert "rank_columns" not in whole["shards"][1] and "ranks" not in whole["shards"][1], whole["shards"][1]
# The other two have pushed, or will soon: then the step waits for worker 2.
stands = until("a step that waits", lambda: (first := data(page)["shards"][0])["waits_for_seconds"] > 0.5 and first)
late = stands["rank_columns"]
assert late["last"][2] < max(late["last"]) and stands["waiting_bytes"] > 0, stands
assert [one["task"] for one in whole["processes"]] == ["ps0", "ps1", "worker0", "worker1", "worker2"], whole["processes"]
assert whole["processes"][4] == {"task": "worker2", "state": f"process {worker}", "restarts": 0}, whole["processes"]

# A parameter server shows its own shards, at the port of its metrics.
for task in 0, 1:
    own = f"http://127.0.0.1:{int(port) + task}/"
    assert get(own)[1] == text
    assert [shard["task"] for shard in data(own)["shards"]] == [task], data(own)
    assert "distrib_ps_step" in get(own + "metrics")[1]
# The workers show what they do at the ports that follow. (Worker 2 stands still.)
for rank in 0, 1:
    kind, text = get(f"http://127.0.0.1:{int(port) + 2 + rank}/metrics")
    assert kind.startswith("text/plain; version=0.0.4"), kind
    values = dict(line.rsplit(" ", 1) for line in text.splitlines() if not line.startswith("#"))
    assert float(values[f'distrib_worker_contributions_total{{worker="{rank}",rank="{rank}"}}']) > 0, text
    assert float(values[f'distrib_worker_seconds_total{{worker="{rank}",rank="{rank}",phase="compute"}}']) > 0, text
    assert float(values[f'distrib_worker_reading_seconds_total{{worker="{rank}",rank="{rank}"}}']) > 0, text
    assert float(values[f'distrib_worker_replay_bytes{{worker="{rank}",rank="{rank}"}}']) > 0, text
try:
    get(page + "metrics")
    sys.exit("the page of the launcher has metrics")
except urllib.error.HTTPError as error:
    assert error.code == 404, error
try:
    urllib.request.urlopen(page + "status.json", data=b"stop", timeout=20)
    sys.exit("the page accepts a POST")
except urllib.error.HTTPError as error:
    assert error.code == 405, error

# As a file, with the data of that moment in it.
server = said(r"^launch \| --ps_hosts=([^,]*),")[0]
subprocess.run([command, "status", server, "--html", "kept.html"], check=True, timeout=60)
kept = pathlib.Path("kept.html").read_text()
held = json.loads(re.search(r'<script id="data" type="application/json">(.*?)</script>', kept, re.DOTALL)[1])
assert [shard["task"] for shard in held["shards"]] == [0], held

os.kill(worker, signal.SIGKILL)
until("the restart of worker 2", lambda: data(page)["processes"][4]["restarts"] == 1)
assert any("worker2 was ended by SIGKILL" in event["text"] for event in data(page)["events"]), data(page)["events"]
END
status=0
wait "$launch" || status=$?
[ $status -eq 0 ] || { fail "the job: exit code $status"; tail -n 30 job.log >&2; }

[ $failures -eq 0 ] && echo 'all passed'
exit $((failures > 0))
