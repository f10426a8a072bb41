#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# usage: yarn.sh BUILD
# YARN, in Hadoop's mini cluster, runs examples/hadoop/yarn: parameter servers and workers are map tasks of one job. One
# of each is killed during the training, and the job must end by itself with the parameters of an undisturbed job. If a
# program fails, the job must end with its exit code. YARN's own checks must accept the service file. The functions are
# in tests/engines/support.
set -uo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/support/job.sh"
need java openjdk-17-jdk-headless
need mvn maven
outside() { python3 -B "$root/tests/interop/hadoop/jars.py" >/dev/null || skip 'Hadoop could not be fetched from Maven Central'; }
alone "$@"
class_path=$(python3 -B "$root/tests/interop/hadoop/jars.py") || fail 'no Hadoop in the cache'
prepare "$1"
hosts
cd "$work" || exit

show_logs() {
  tail -n 20 "$work"/*.log "$work"/*.txt
  find "$work" -path '*logDir*' \( -name stderr -o -name syslog \) -size +0 -exec tail -n 5 {} + | tail -n 60
}

# --- the cluster ---

java=(java -Xmx512m --add-opens java.base/java.lang=ALL-UNNAMED -cp "$class_path")
"${java[@]}" -Xmx1g "-Dtest.build.data=$work/data" "-Dhadoop.log.dir=$work/logs" \
  org.apache.hadoop.mapreduce.MiniHadoopClusterManager -format -datanodes 1 -nodemanagers 1 -nnport 19000 -rmport 18032 \
  -D dfs.replication=1 -D yarn.nodemanager.disk-health-checker.max-disk-utilization-per-disk-percentage=99.5 \
  -D yarn.nodemanager.resource.memory-mb=8192 -D yarn.nodemanager.resource.cpu-vcores=16 \
  -D yarn.scheduler.minimum-allocation-mb=256 -D yarn.nodemanager.vmem-check-enabled=false \
  -writeConfig "$work/site.xml" -writeDetails "$work/details.json" >cluster.log 2>&1 &
# Commands and a configuration, as a Hadoop installation has them.
mkdir bin conf
shim() {  # COMMAND SUBCOMMAND CLASS
  printf '#!/bin/sh\n[ "$1" = %s ] || exit 64\nshift\nexec %s -cp "%s" %s "$@"\n' "$2" "${java[*]:0:4}" \
    "$work/conf:$class_path" "$3" >"bin/$1"
  chmod +x "bin/$1"
}
shim hdfs dfs org.apache.hadoop.fs.FsShell
shim mapred streaming org.apache.hadoop.streaming.HadoopStreaming
export PATH=$work/bin:$PATH
written() { test -s details.json && tail -c 100 site.xml | grep -q '</configuration>'; }
until_true 90 'the mini cluster' written
# The mini cluster does not write these settings into its configuration.
{
  sed 's|</configuration>$||' site.xml
  for setting in mapreduce.framework.name=yarn yarn.is.minicluster=true yarn.app.mapreduce.am.resource.mb=512 \
    yarn.resourcemanager.address=localhost:18032; do
    echo "<property><name>${setting%%=*}</name><value>${setting#*=}</value></property>"
  done
  echo '</configuration>'
} >conf/core-site.xml
for name in hdfs mapred yarn; do cp conf/core-site.xml conf/$name-site.xml; done  # each file overrides its own defaults
echo "YARN is ready after $SECONDS s"

# --- the job ---

launch() {  # WORD...
  python3 -B "$root/examples/hadoop/yarn/launch.py" -D mapreduce.map.memory.mb=512 -D mapreduce.map.java.opts=-Xmx200m "$@"
}
program_of() {  # ps|worker INDEX
  local process
  for process in /proc/[0-9]*; do
    if [ "$(cat "$process/comm" 2>/dev/null)" = fashion_mnist_t ] &&
      cat "$process/environ" 2>/dev/null | tr '\0' '\n' | grep -q "^TF_CONFIG=.*\"type\": \"$1\", \"index\": $2"; then
      echo "${process#/proc/}"
      return
    fi
  done
}
kill_task() {  # ps|worker INDEX
  local before now
  before=$(program_of "$1" "$2")
  [ -n "$before" ] || fail "$1$2 does not run, so it cannot be killed"
  kill -KILL "$before"
  again() { now=$(program_of "$1" "$2"); [ -n "$now" ] && [ "$now" != "$before" ]; }
  until_true 60 "the restart of $1$2" again "$1" "$2"
  echo "killed $1$2, process $before: now it is process $now"
}
saved() { [ -e "main/checkpoint/model.ckpt-$1.index" ]; }

launch --ps 2 --workers 3 "$programs/fashion_mnist_train" "--data=$work/data" "--out=$work/main" "${options[@]}" \
  >main.txt 2>main.log &
job=$!
until_true 120 'step 40' saved 40
kill_task ps 1
until_true 90 'step 120' saved 120
kill_task worker 1
code=0
wait $job || code=$?
grep "exit code" main.txt
[ $code -eq 0 ] || fail "the job has exit code $code"
check_result main

code=0
launch --ps 1 --workers 1 sh -c 'case $TF_CONFIG in *\"ps\",*) exec sleep 600;; esac; exit 65' >failing.txt 2>failing.log ||
  code=$?
[ $code -eq 65 ] || fail "a job whose worker fails with 65 has exit code $code"
left() { ! pgrep -f '^sleep 600' >/dev/null; }
until_true 30 'the end of the parameter server of the failed job' left
echo 'a worker that fails with 65 ends the job with 65'

# --- the service file ---

render hadoop/yarn/service.json.jinja service.json "${values[@]}" --check -D name=mnist -D user=ann -D train_dir=/out
"${java[@]}" "$root/tests/engines/support/CheckService.java" service.json >service.txt 2>service.log ||
  fail 'YARN does not accept the service file'
hosts=ps-0.mnist.ann.hadoop.local:2222,ps-1.mnist.ann.hadoop.local:2222
[ "$(tail -n 2 service.txt)" = "ps 2 ON_FAILURE $hosts
worker 3 ON_FAILURE $hosts" ] || fail 'YARN reads a different service from the file'
echo 'YARN accepts the service file'
