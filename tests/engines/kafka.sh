#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# usage: kafka.sh BUILD
# A real broker of Kafka: parameter servers and workers add up the messages of a topic by their keys while messages
# arrive. Workers, parameter servers and the broker are killed in turn; each message must be counted once. What the
# topic has dropped must be named. DISTRIB_KAFKA_SECONDS: for how long messages are sent and processes are killed, 40 s
# unless told.
set -uo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/support/engine.sh"
need java openjdk-17-jdk-headless
need mvn maven
[ -x "$1/tests/kafka_counting" ] || skip 'there is no tests/kafka_counting: install librdkafka-dev'
seconds=${DISTRIB_KAFKA_SECONDS:-40}
limit=$((seconds + 600))
cache=${XDG_CACHE_HOME:-$HOME/.cache}/distrib/kafka
pom=$root/tests/engines/support/kafka.xml
outside() {
  cmp -s "$pom" "$cache/pom.xml" && return
  mkdir -p "$cache"
  mvn -q -B -f "$pom" dependency:build-classpath "-Dmdep.outputFile=$cache/class_path.txt" >&2 && cp "$pom" "$cache/pom.xml" ||
    skip 'Kafka could not be fetched from Maven Central'
}
counting=$(realpath "$1/tests/kafka_counting") launch=$(realpath "$1/tools/distrib")
alone "$@"
unset TF_CONFIG
cd "$work" || exit
show_logs() { tail -n 30 "$work"/*.log; }

# --- the broker ---

brokers=127.0.0.1:19092
java=(java -Xmx512m -cp "$(cat "$cache/class_path.txt")")
cat >broker.properties <<EOF
process.roles=broker,controller
node.id=1
controller.quorum.voters=1@127.0.0.1:19093
listeners=PLAINTEXT://$brokers,CONTROLLER://127.0.0.1:19093
advertised.listeners=PLAINTEXT://$brokers
controller.listener.names=CONTROLLER
listener.security.protocol.map=PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT
log.dirs=$work/broker
offsets.topic.replication.factor=1
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
auto.create.topics.enable=false
EOF
start_broker() {
  "${java[@]}" kafka.Kafka broker.properties >>broker.log 2>&1 &
  broker=$!
}
topics() { "${java[@]}" org.apache.kafka.tools.TopicCommand --bootstrap-server $brokers "$@" >>topics.log 2>&1; }
must 'format the disk of the broker' \
  "${java[@]}" kafka.tools.StorageTool format -t MkU3OEVBNTcwNTJENDM2Qg -c broker.properties
start_broker
until_true 180 'the topic' topics --create --if-not-exists --topic sums --partitions 3 --replication-factor 1
echo "Kafka is ready after $SECONDS s"

# --- one process ---

must 'send 160 messages' "$counting" send $brokers sums 0 160
must 'one process' "$counting" train $brokers sums first_log first 10
must 'each message was counted once' "$counting" check first 160

# --- a job whose processes are killed, and the broker too ---

begin() {  # STEPS
  "$launch" launch --ps 2 --workers 2 --restart --max-restarts 1000 -- \
    "$counting" train $brokers sums log job "$1" >job.log 2>&1 &
  launcher=$!
}
pid_of() { sed -nE "s/^launch \| $1 is process ([0-9]+)\$/\1/p" job.log | tail -n 1; }  # TASK
is_there() { [ -n "$(pid_of "$1")" ] && kill -0 "$(pid_of "$1")" 2>/dev/null; }
newest() {  # step of the newest checkpoint
  local step
  step=$(ls job 2>/dev/null | sed -nE 's/^model\.ckpt-([0-9]+)\.index$/\1/p' | sort -n | tail -n 1)
  echo "${step:-0}"
}
progressed() { [ "$(newest)" -gt "$at" ]; }
begin 1000000000
sent=160 kills=0 end=$((SECONDS + seconds))
while [ $SECONDS -lt $end ]; do
  for victim in worker0 broker ps0 worker1 ps1; do
    at=$(newest)
    "$counting" send $brokers sums $sent 1600 2>>send.log &  # also while the broker is away
    sender=$!
    sent=$((sent + 1600))
    if [ $victim = broker ]; then
      sleep 1
      kill -9 $broker
      wait $broker 2>/dev/null
      sleep 2
      start_broker
    else
      until_true 120 "the restart of $victim" is_there $victim
      kill -9 "$(pid_of $victim)" || fail "$victim is not there"
    fi
    kills=$((kills + 1))
    wait $sender || fail "messages up to $sent could not be sent"
    until_true 120 "a checkpoint after the kill of $victim" progressed
  done
done
kill -TERM $launcher
wait $launcher
# All messages that were sent, and no more.
steps=$((sent / 16))
begin $steps
wait $launcher || fail "the job ends with $?"
offsets() { "${java[@]}" org.apache.kafka.tools.GetOffsetShell --bootstrap-server $brokers --topic sums 2>>topics.log; }
there=$(offsets | awk -F: '{sum += $3} END {print sum}')
[ "$there" -eq $sent ] || fail "the topic has $there messages, and $sent were sent"
must 'each message was counted once' "$counting" check job $sent
echo "$sent messages, $kills kills, 3 partitions"

# --- what the topic has dropped ---

mkdir old_log
cp first_log/log-00000000000000000001 old_log/  # which has let go of nothing
echo '{"version": 1, "partitions": [{"topic": "sums", "partition": 0, "offset": 20}]}' >delete.json
must 'drop messages' "${java[@]}" org.apache.kafka.tools.DeleteRecordsCommand --bootstrap-server $brokers \
  --offset-json-file delete.json
timeout 60 "$counting" train $brokers sums old_log gone 10 >gone.log 2>&1 && fail 'messages are gone, and nobody has noticed'
gone='sums/0: the log has its records 0 to [0-9]+, with the offsets 0 to [0-9]+, and it begins with the offset 20'
[ -n "$(grep -E "$gone" gone.log)" ] || fail 'the messages that are gone are not named'
kill -TERM $broker
wait $broker || true
echo 'all passed'
