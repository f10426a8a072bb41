#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Backup workers: a job of 3 workers whose steps need 2 goes on without a worker that is killed and not started again, and
# ends with 0; if that worker comes back later, it is taken again. A job that loses its chief, or two workers, ends with
# 70. ctest calls it in build/PRESET/tests, where the programs are ../examples/fashion_mnist_* and ../tools/distrib.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/../support/command.sh"
unset TF_CONFIG NO_COLOR DISTRIB_TLS_DIRECTORY DISTRIB_SECRET DISTRIB_SECRET_FILE DISTRIB_RANKS

"$programs/fashion_mnist_convert" /usr/share/datasets/fashion-mnist data >convert.txt
steps=2000
train=("$programs/fashion_mnist_train" --data data --batch 16 --evaluate_every 1000 --save_every 500 --parts 2 --steps $steps
  --replicas_to_aggregate 2 --lost_after 3)
python3 - "$tests/support" "$distrib" "$steps" "${train[@]}" <<'END' || fail 'backup workers'
import json, sys

support, command, steps, *train = sys.argv[1:]
sys.path.insert(0, support)
from processes import Job  # noqa: E402

WITHOUT = "rank 2 is lost permanently: the job goes on without it"


class BackupJob(Job):
    def __init__(self, out):
        super().__init__(command, out, [*train, f"--out={out}"], servers=2, workers=3, within=100)
        for task in [("ps", 0), ("ps", 1), ("worker", 0), ("worker", 1), ("worker", 2)]:
            self.start(*task)
        self.until("the first steps are done", lambda: self.step() > 10)

    def lose(self):
        """Kills worker 2, and waits until both servers count it as lost. The job does no step meanwhile."""
        self.hold("worker", 0)
        self.hold("worker", 1)
        self.end("worker", 2)
        self.until("it counts as lost", lambda: all(WITHOUT in self.log_of("ps", task) for task in (0, 1)))
        if self.step() >= int(steps):
            sys.exit(f"{self.name}: the job was over before: more steps are needed")

    def go_on_all(self):
        self.go_on("worker", 0)
        self.go_on("worker", 1)

    def ends_well(self):
        self.join()
        summary = json.load(open(f"{self.name}/summary.json"))
        if summary["steps"] != int(steps):
            sys.exit(f"{self.name}: ended after {summary['steps']} steps")

    def end_with_70(self, *tasks):
        for task, index in tasks:
            code = self.code_of(f"{task}{index}", self.running.pop((task, index)))
            if code != 70:
                sys.exit(f"{self.name}: {task}{index} ended with {code}, not 70")


# --- a worker is lost for good ---
job = BackupJob("without")
job.lose()
job.go_on_all()
job.ends_well()

# --- it comes back after all: it works again, and is waited for at the end ---
job = BackupJob("back")
job.lose()
job.start("worker", 2)
job.until("rank 2 is there again", lambda: "  2  connected" in job.status())
job.go_on_all()
job.ends_well()

# --- fewer are left than a step needs ---
job = BackupJob("few")
job.lose()
job.end("worker", 1)
job.go_on("worker", 0)
job.end_with_70(("ps", 0), ("ps", 1), ("worker", 0))

# --- the chief is lost ---
job = BackupJob("chief")
job.hold("worker", 1)  # so that the job is not over before
job.end("worker", 0)
job.end_with_70(("ps", 0), ("ps", 1), ("worker", 2))
job.go_on("worker", 1)
job.end_with_70(("worker", 1))
END

[ $failures -eq 0 ] && echo 'all passed'
exit $((failures > 0))
