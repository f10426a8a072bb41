#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Keys that are erased: a job with tables of embeddings exports its model, `distrib erase` is asked for keys twice, both
# parameter servers are killed, and one process that is given what the command printed has the same bits. The next
# position of the export does not have the keys. Also what is refused. ctest calls it in build/PRESET/tests, where the
# programs are ../examples/click_* and ../tools/distrib.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/../support/command.sh"
unset TF_CONFIG NO_COLOR DISTRIB_TLS_DIRECTORY DISTRIB_SECRET DISTRIB_SECRET_FILE

"$programs/click_convert" data --generate 4000 400 >convert.txt
train=("$programs/click_train" --data data --batch 16 --steps 400 --save_every 20 --evaluate_every 400)
hash_of() { python3 -c 'import json,sys; print(json.load(open(sys.argv[1] + "/summary.json"))["parameters_sha256"])' "$1"; }

head -c 32 /dev/urandom >secret
chmod 600 secret
python3 - "$tests" "$distrib" "${train[@]}" <<'END' || fail 'erased'
import pathlib, sys

tests, command, *train = sys.argv[1:]
sys.path[:0] = [tests + "/support", tests + "/../tools"]
from export_log import Log  # noqa: E402
from processes import Job  # noqa: E402

table = "deep/embeddings"
job = Job(command, "erased", [*train, "--out=erased", "--export=erased/log", "--export_every=1", "--erasable",
                              "--steps_ahead=8"], 2, 2, 250, "secret")


def erase(*arguments, servers=None, secret=True):
    return job.ask("erase", "--within", "60", "--ps", ",".join(servers or job.servers),
                   *(["--secret", "secret"] if secret else []), *arguments)


def refused(asked, code, sentence):
    if asked.returncode != code or sentence not in asked.stderr:
        sys.exit(f"ended with {asked.returncode}, not {code}: {asked.stderr}: not '{sentence}'")


def newest_step():
    try:
        log = Log("erased/log")
        newest = log.head()["manifest"]
        return log.manifest(newest)["step"] if newest else 0
    except (OSError, KeyError):
        return 0


def loaded(position=None):
    """Returns the tables of a position, the newest one by default. What is read may be removed meanwhile."""
    for _ in range(20):
        try:
            return Log("erased/log").load(position)[1]
        except FileNotFoundError:
            pass
    sys.exit(f"position {position} cannot be read")


def erased(number):
    """Erases keys, which were exported, while no step is done. Then the next position must be without them, but for
    those that were trained again until then. Returns the keys, and what was printed."""
    job.hold("worker", 1)
    keys = sorted(loaded()[table])[:number]
    pathlib.Path("keys").write_text("".join(f"{key}\n" for key in keys[1:]))
    asked = erase("--table", table, "--keys-from", "keys", str(keys[0]))
    if asked.returncode != 0:
        sys.exit(f"erase ended with {asked.returncode}: {asked.stderr}")
    entries = [line.split(" ") for line in asked.stdout.splitlines()]
    if sorted(int(key) for entry in entries for key in entry[5].split(",")) != sorted(keys):
        sys.exit(f"other keys than were asked for: {asked.stdout}")
    last = max(int(entry[1]) for entry in entries)
    job.go_on("worker", 1)
    job.until("the step after which the keys go is exported", lambda: newest_step() >= last)
    job.hold("worker", 1)
    log, found = Log("erased/log"), None
    name = log.head()["manifest"]
    try:
        while name and (manifest := log.manifest(name))["step"] >= last:  # steps may be left out
            found, name = manifest, manifest["before"]
    except FileNotFoundError:  # it is removed, and all that are older
        pass
    state = loaded(found["position"])
    if all(key in state[table] for key in keys):
        sys.exit(f"keys went after step {last}, and at step {found['step']} all are there")
    job.go_on("worker", 1)
    return keys, asked.stdout


refused(erase("--table", table, "5"), 69, "127.0.0.1")
for task in [("ps", 0), ("ps", 1), ("worker", 0), ("worker", 1)]:
    job.start(*task)
job.until("some steps are exported", lambda: newest_step() >= 20)
first, log = erased(100)
refused(erase("--table", "deep", "5"), 64, "the job has no such table")
refused(erase("--table", table), 64, "name at least one")
refused(erase("--table", table, "x"), 64, "give keys as whole numbers")
some = erase("--table", table, *(str(key) for key in first), servers=job.servers[:1])
refused(some, 64, "name all parameter servers")
log += some.stdout  # what the server that was asked has taken
refused(erase("--table", table, "5", secret=False), 64, "secret")
job.end("ps", 0, 1)
job.start("ps", 0)
job.start("ps", 1)
before = newest_step()
job.until("the job goes on", lambda: newest_step() > before)
log += erased(100)[1]
job.end("ps", 0)
job.start("ps", 0)
job.join()
said = job.log_of("ps", 0) + job.log_of("ps", 1)
if f"asks to erase 100 keys of table {table}: " not in said or str(first[0]) in said:
    sys.exit("the parameter servers do not say who has asked, or name keys")
pathlib.Path("log").write_text(log)
END

"$distrib" export verify erased/log >verify.txt 2>&1 || { fail 'the export log is not right'; cat verify.txt >&2; }
"${train[@]}" --workers 2 --erasable --erased log --out local >local.log
[ "$(hash_of erased 2>&1)" = "$(hash_of local)" ] || fail 'erased: other bits than one process'
"${train[@]}" --workers 2 --out plain >plain.log
[ "$(hash_of plain)" != "$(hash_of local)" ] || fail 'what was erased has changed nothing'
"${train[@]}" --workers 2 --erasable --out none >none.log
[ "$(hash_of plain)" = "$(hash_of none)" ] || fail 'a job whose keys may be erased has other bits, although none is'

status=0
timeout -k 5 60 "$distrib" launch --ps 1 --workers 1 -- "${train[@]}" --mode async --erasable --out refused >refused.log 2>&1 || status=$?
[ $status -eq 65 ] || fail "an asynchronous job with --erasable ended with $status"
case $(cat refused.log) in *'the keys of this job cannot be erased'*) ;; *) fail 'it does not say why'; cat refused.log >&2 ;; esac

[ $failures -eq 0 ] && echo 'all passed'
exit $((failures > 0))
