#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# A job exports its model while it is trained, and click_serve answers from it, both as real processes: parameter
# servers, workers and the server are killed. Each position that is served has the digests of the trainer at that step;
# the rows are those of its checkpoints. ctest calls it in build/PRESET/tests, where the programs are
# ../examples/click_* and ../tools/distrib.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/../support/command.sh"
unset TF_CONFIG

"$programs/click_convert" data --generate 4000 400 >convert.txt
train=("$programs/click_train" --data data --steps 240 --save_every 60 --evaluate_every 240 --batch 48 --max_rows 20000)
launch() {  # NAME LAUNCH_OPTION... -- TRAIN_OPTION...
  local name=$1 options=()
  shift
  while [ "$1" != -- ]; do options+=("$1"); shift; done
  timeout -k 5 200 "$distrib" launch --ps 2 --workers 2 "${options[@]}" -- "${train[@]}" --out "$name" \
    --export "$name/log" "${@:2}" >"$name.log" 2>&1
}

# --- without kills: what each step has; the values of the job do not depend on it ---

"${train[@]}" --out plain --workers 2 >plain.log
launch whole -- --export_every 20 || { fail "whole: exit code $?"; tail -n 40 whole.log >&2; }
launch timed -- --export_ms 100 &
timed=$!
for _ in $(seq 1200); do  # a pause, in which the files come up with the steps
  [[ $(cat timed.log 2>/dev/null) != *'worker0 | step 60/'* ]] && kill -0 $timed 2>/dev/null || break
  sleep 0.02
done
slow=$(sed -nE 's/^launch \| worker1 is process ([0-9]+)$/\1/p' timed.log)
kill -STOP $slow
sleep 1.5
kill -CONT $slow
wait $timed || { fail "timed: exit code $?"; tail -n 40 timed.log >&2; }
field() { python3 -c 'import json,sys; print(json.load(open(sys.argv[1] + "/summary.json")).get(sys.argv[2]))' "$@"; }
for name in whole timed; do
  [ "$(field $name parameters_sha256)" = "$(field plain parameters_sha256)" ] || fail "$name: other bits than without an export"
  "$distrib" export verify $name/log >verify.txt 2>&1 || { fail "$name: the log is not right"; cat verify.txt >&2; }
done

# --- with kills of everything, and a server that follows ---

cat >watch.py <<'EOP'
# usage: watch.py LOG PORT_FILE OUT    asks the server again and again what it serves, until OUT.stop exists
import json, os, sys, time, urllib.error, urllib.request

log, port_file, out = sys.argv[1:]
seen, failures, newest = {}, 0, 0
while not os.path.exists(out + ".stop"):
    time.sleep(0.05)
    try:
        port = open(port_file).read().strip()
        status = json.load(urllib.request.urlopen(f"http://127.0.0.1:{port}/status.json", timeout=2))
    except (OSError, ValueError, urllib.error.URLError):
        continue
    if not status["ready"]:
        continue
    digests = {name: table["digest"] for name, table in status["tables"].items()}
    if seen.setdefault(status["position"], [status["step"], digests]) != [status["step"], digests]:
        failures += 1
    failures += status["wrong_digests"] != 0
json.dump({"seen": seen, "failures": failures}, open(out, "w"))
EOP
serve() {  # starts the server; $server is its process
  : >serve.txt  # the server makes it later than this looks
  "$programs/click_serve" killed/log 127.0.0.1:0 >serve.txt 2>&1 &
  server=$!
  for _ in $(seq 200); do
    port=$(sed -nE 's/^serving .*:([0-9]+)$/\1/p' serve.txt)
    [ -z "$port" ] || { echo "$port" >port.new; mv port.new port; return 0; }
    sleep 0.05
  done
  fail 'click_serve does not start'; cat serve.txt >&2
}
mkdir killed
serve
python3 watch.py killed/log port watched.json &
watcher=$!
launch killed --restart -- --export_every 10 &
job=$!
pid_of() { sed -nE "s/^launch \| $1 is process ([0-9]+)\$/\1/p" killed.log | tail -n 1; }
for victim in ps1 server worker1 ps0 server worker0; do
  # some steps between two kills
  last=$(sed -nE 's/.*worker0 \| step ([0-9]+).*/\1/p' killed.log 2>/dev/null | tail -n 1) || true
  for _ in $(seq 400); do
    kill -0 $job 2>/dev/null || break
    now=$(sed -nE 's/.*worker0 \| step ([0-9]+).*/\1/p' killed.log 2>/dev/null | tail -n 1) || true
    [ "${now:-0}" -lt $((${last:-0} + 25)) ] || break
    sleep 0.05
  done
  if [ $victim = server ]; then kill -9 $server; wait $server 2>/dev/null || true; serve
  else kill -9 "$(pid_of $victim)" 2>/dev/null || true; fi
done
wait $job || { fail "killed: exit code $?"; tail -n 40 killed.log >&2; }
log=$(cat killed.log)
[[ $log == *'was ended by SIGKILL'* ]] || fail 'no task was killed'
[ "$(field killed parameters_sha256)" = "$(field plain parameters_sha256)" ] || fail 'killed: other bits than without kills'
python3 - <<'EOP' || fail 'the server does not come to the last step'
import json, time, urllib.request
deadline, status = time.time() + 30, {"step": None}
while status["step"] != 240:
    assert time.time() < deadline, status
    time.sleep(0.05)
    status = json.load(urllib.request.urlopen("http://127.0.0.1:" + open("port").read().strip() + "/status.json", timeout=10))
EOP

# --- an answer, a hold, and the way back ---

"$programs/click_convert" --criteo lines.txt 20
python3 - <<'EOP' || fail 'the server does not answer as it should'
import json, time, urllib.request
base = "http://127.0.0.1:" + open("port").read().strip()
ask = lambda path, data=None: urllib.request.urlopen(urllib.request.Request(base + path, data=data, method="POST" if data is not None else "GET"), timeout=5).read().decode()
reply = json.loads(ask("/predict", open("lines.txt", "rb").read()))
assert reply["step"] == 240 and len(reply["probabilities"]) == 20 and all(0 < p < 1 for p in reply["probabilities"]), reply
assert "click_serve_ready 1" in ask("/metrics")
ask("/ready")
old = reply["position"] - 1
ask(f"/hold/{old}", b"")
deadline = time.time() + 30
while json.loads(ask("/status.json"))["position"] != old and time.time() < deadline:
    time.sleep(0.05)
held = json.loads(ask("/status.json"))
assert held["position"] == old and held["held"] == old and held["lag"] == 1, held
ask("/release", b"")
while json.loads(ask("/status.json"))["position"] != old + 1 and time.time() < deadline:
    time.sleep(0.05)
assert json.loads(ask("/predict", open("lines.txt", "rb").read())) == reply
EOP
touch watched.json.stop
wait $watcher
kill $server
wait $server || true

# --- what was served, and what is in the log, is what the trainer had ---

for step in 60 120 180 240; do
  "$distrib" checkpoint export "whole/checkpoint/model.ckpt-$step" "at-$step.safetensors" >export.txt 2>&1 ||
    { fail "cannot export the checkpoint of step $step"; cat export.txt >&2; }
done
python3 - "$tests/../tools" <<'EOP' || fail 'the log is not what the trainer had'
import json, struct, sys
sys.path.insert(0, sys.argv[1])
from export_log import Log

def manifests(directory):  # all positions that are still there, by step
    log, found = Log(directory), {}
    name = log.head()["manifest"]
    while name:
        try:
            manifest = log.manifest(name)
        except FileNotFoundError:
            break
        found[manifest["position"]] = manifest
        name = manifest["before"]
    return found

digests = lambda manifest: {table["name"]: table["digest"] for table in manifest["tables"]}
whole = {m["step"]: digests(m) for m in manifests("whole/log").values()}
assert set(whole) <= set(range(20, 241, 20)) and 240 in whole, sorted(whole)  # a slow disk leaves some out
killed = manifests("killed/log")
compared = 0
for manifest in killed.values():
    if manifest["step"] in whole:
        assert digests(manifest) == whole[manifest["step"]], manifest["step"]
        compared += 1
watched = json.load(open("watched.json"))
assert watched["failures"] == 0
served = 0
for position, (step, seen) in watched["seen"].items():
    if int(position) in killed:
        there = [killed[int(position)]["step"], digests(killed[int(position)])]
        assert [step, seen] == there, (position, step, seen, there)
        served += 1
timed = manifests("timed/log")
for manifest in timed.values():
    if manifest["step"] in whole:
        assert digests(manifest) == whole[manifest["step"]]
assert max(m["step"] for m in timed.values()) == 240 and len(timed) > 1, len(timed)

def tensors(path):
    data = open(path, "rb").read()
    size = struct.unpack_from("<Q", data)[0]
    header = json.loads(data[8:8 + size])
    header.pop("__metadata__", None)
    return {name: data[8 + size + t["data_offsets"][0]:8 + size + t["data_offsets"][1]] for name, t in header.items()}

rows = 0
for directory, log in ("whole", manifests("whole/log")), ("killed", killed):
    for manifest in log.values():
        if manifest["step"] % 60:
            continue
        _, state = Log(directory + "/log").load(manifest["position"])
        checkpoint = tensors(f"at-{manifest['step']}.safetensors")
        for name, table in state.items():
            count = len(checkpoint[name + "/keys"]) // 8
            keys = struct.unpack(f"<{count}Q", checkpoint[name + "/keys"])
            values = checkpoint[name + "/values"]
            size = len(values) // count
            assert table == {key: values[i * size:(i + 1) * size] for i, key in enumerate(keys)}, (name, manifest["step"])
            rows += count
print(f"{len(killed)} positions with kills, {compared} compared, {served} of {len(watched['seen'])} watched were still there, "
      f"{rows} rows compared with checkpoints, {len(timed)} positions by time, {sum(all(not p['on'] for p in m['parts']) for m in killed.values())} bases")
assert compared > 0 and served > 0 and rows > 0
EOP

# --- a log in an object store: the same digests after a kill, and while the store is away ---

start_store
url=$bucket/stored
timeout -k 5 200 "$distrib" launch --ps 2 --workers 2 --restart -- "${train[@]}" --out stored --export "$url" \
  --export_every 10 >stored.log 2>&1 &
job=$!
until_step() {  # STEP
  for _ in $(seq 600); do
    [ "$(sed -nE 's/.*worker0 \| step ([0-9]+).*/\1/p' stored.log 2>/dev/null | tail -n 1 || true)0" -lt "${1}0" ] || return 0
    kill -0 $job 2>/dev/null || return 0
    sleep 0.05
  done
}
until_step 5
if [ "$(grep -c 'link distrib::http' stored.log)" -eq 0 ]; then
  kill -9 "$(sed -nE 's/^launch \| ps1 is process ([0-9]+)$/\1/p' stored.log | tail -n 1)"
  until_step 20
  kill -STOP $store
  sleep 1
  kill -CONT $store
  "$programs/click_serve" "$url" 127.0.0.1:0 >serve.txt 2>&1 &
  server=$!
  wait $job || { fail "stored: exit code $?"; tail -n 40 stored.log >&2; }
  [ "$(field stored parameters_sha256)" = "$(field plain parameters_sha256)" ] || fail 'stored: other bits than without an export'
  "$distrib" export verify "$url" >verify.txt 2>&1 || { fail 'stored: the log is not right'; cat verify.txt >&2; }
  "$distrib" export log --last 0 --json "$url" >stored.json
  "$distrib" export log --last 0 --json whole/log >whole.json
  python3 - <<'EOP' || fail 'the log in the store is not what the trainer had, or is not served'
import json, re, time, urllib.request
of = lambda name: {p["step"]: p["digests"] for p in map(json.loads, open(name))}
stored, whole = of("stored.json"), of("whole.json")
both = stored.keys() & whole.keys()
assert 240 in both and all(stored[step] == whole[step] for step in both), (sorted(stored), sorted(whole))
port = re.search(r"^serving .*:(\d+)$", open("serve.txt").read(), re.M).group(1)
deadline, status = time.time() + 30, {"step": None}
while status["step"] != 240:
    assert time.time() < deadline, status
    time.sleep(0.05)
    status = json.load(urllib.request.urlopen(f"http://127.0.0.1:{port}/status.json", timeout=10))
assert {n: t["digest"] for n, t in status["tables"].items()} == stored[240], status
EOP
  kill $server
  wait $server || true
else
  wait $job || true
fi

# --- jobs that cannot export say so ---

refused() {  # EXPECTED ARGUMENTS...
  local status=0
  timeout -k 5 60 "${@:2}" >out.txt 2>&1 || status=$?
  [ $status -ne 0 ] && [ $status -lt 124 ] || fail "exit code $status: ${*:2}"
  local text
  text=$(cat out.txt)
  [[ $text == *$1* ]] || { fail "no '$1' in the output of: ${*:2}"; sed 's/^/    /' out.txt >&2; }
}
refused 'a job in one process: ExportModel needs a cluster' "${train[@]}" --out no --export no/log
refused 'ExportModel needs a cluster, a synchronous job' \
  "$distrib" launch --ps 1 --workers 1 -- "${train[@]}" --out no --export no/log --mode async

[ $failures -eq 0 ] && echo 'all passed'
exit $((failures > 0))
