# SPDX-License-Identifier: Apache-2.0
# Sourced by the scripts of all engines. A script ends at the first failure.
#   need PROGRAM PACKAGE   skips the script if there is no PROGRAM; PACKAGE is the Debian package to install
#   alone "$@"           runs the script again in private namespaces: processes, network, mounts, /run and host name are
#                        its own, so that its daemons end with it in any case. Returns only in there, with a directory
#                        $work that is removed at the end unless DISTRIB_KEEP is set. Before that, the script's function
#                        `outside` does what needs the machine's network, or much time. Control groups below $groups
#                        are removed too
#   must WHAT COMMAND...   runs the command and prints how long it took; fails if the command fails
#   until_true S WHAT COMMAND...   repeats the command until it succeeds; fails after S seconds
#   render TEMPLATE FILE OPTION...   renders a template of examples/ into FILE
#   last_step            prints the last step in a task's log, which is read from standard input
#   field DIR FIELD      prints a field of the summary that the job has written to DIR
#   check_result DIR     fails unless the job in DIR is complete and has the same parameters as an undisturbed job,
#                        whose hash is $expected
# Exit codes: 0 passed, 77 skipped, with a line "skipped: REASON"; 1 failed.

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../../.." && pwd)
script=$(realpath "$0")
logs=$root/build/logs
. "$root/tools/setup.sh"
PATH=$PATH:/usr/sbin:/sbin

skip() { echo "skipped: $*"; exit 77; }
fail() { echo "FAILED: $*"; show_logs; exit 1; }
show_logs() { :; }
must() { phase "$@" || fail "$1"; }
need() { command -v "$1" >/dev/null || skip "there is no $1: install $2"; }

until_true() {  # SECONDS WHAT COMMAND...
  local end=$((SECONDS + $1))
  until "${@:3}"; do
    [ $SECONDS -lt "$end" ] || fail "waited $1 s for $2, without success"
    sleep 0.2
  done
}

# --- alone ---

limit=420  # seconds
outside() { :; }
alone() {  # ARGUMENT...
  work=${DISTRIB_ALONE:-}
  if [ -n "$work" ]; then
    groups=distrib-engines-${work##*.}
    mount -t tmpfs -o mode=755 run /run  # hides the sockets of the machine's own daemons
    ip link set lo up
    return
  fi
  [ "$(id -u)" -eq 0 ] || skip "not root: only root can make private network and process namespaces"
  need ip iproute2
  python3 -c 'import jinja2' 2>/dev/null || skip "there is no Jinja2: install python3-jinja2"
  local own=(unshare --mount --pid --net --uts --fork --kill-child --mount-proc) code=0
  "${own[@]}" true 2>/dev/null || skip 'this machine does not allow private network and process namespaces (unshare)'
  work=$(mktemp -d)
  waited=
  trap end_alone EXIT
  trap 'exit 130' INT
  trap 'exit 143' TERM HUP
  outside
  # SIGKILL, because unshare ignores SIGTERM. When unshare ends, every process in its namespaces ends too.
  DISTRIB_ALONE=$work timeout -s KILL "$limit" "${own[@]}" bash "$script" "$@" &
  waited=$!
  wait "$waited" || code=$?
  [ "$code" -ne 137 ] || echo "FAILED: not finished after $limit s, or killed"
  exit "$code"
}

end_alone() {
  if [ -n "$waited" ]; then
    kill -KILL $(cat "/proc/$waited/task/$waited/children" 2>/dev/null) 2>/dev/null
    wait "$waited"
  fi
  local end=$((SECONDS + 20))
  until no_groups "distrib-engines-${work##*.}" || [ $SECONDS -ge $end ]; do sleep 0.2; done
  if [ -n "${DISTRIB_KEEP:-}" ]; then echo "kept: $work"; else rm -rf --one-file-system "$work"; fi
}
# Removes the control groups NAME. Fails if one is left: a group becomes empty only a moment after its last process was
# killed, so the caller repeats this.
no_groups() {  # NAME
  local group left=0
  for group in /sys/fs/cgroup/"$1" /sys/fs/cgroup/*/"$1"; do
    [ ! -d "$group" ] || find "$group" -depth -type d -exec rmdir {} + 2>/dev/null || left=1
  done
  return $left
}

# --- the job ---

render() {  # TEMPLATE FILE OPTION...
  python3 -B "$root/tools/render.py" "$root/examples/$1" "${@:3}" >"$2" || fail "rendering $1 failed"
}
json_list() { python3 -c 'import json, sys; print(json.dumps(sys.argv[1:]))' "$@"; }
last_step() { sed -nE 's|.*step ([0-9]+)/.*|\1|p' | sort -n | tail -n 1; }
field() {  # DIRECTORY FIELD
  python3 -c 'import json, sys; print(json.load(open(sys.argv[1] + "/summary.json"))[sys.argv[2]])' "$@"
}
check_result() {  # DIRECTORY
  local hash
  hash=$(field "$1" parameters_sha256) || fail 'the chief wrote no summary'
  [ "$(field "$1" complete)" = True ] || fail 'the job is not complete'
  [ "$hash" = "$expected" ] || fail "the parameters differ from those of the undisturbed job: $hash"
  [ -e "$1/checkpoint/model.ckpt-$steps.index" ] || fail 'there is no checkpoint of the last step'
  echo "same parameters as undisturbed, $hash, at step $(field "$1" steps), accuracy $(field "$1" test_accuracy)"
}
