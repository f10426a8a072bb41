#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# usage: kafka.sh BUILD
# A real broker of Kafka: parameter servers and workers add up the messages of a topic by their keys while messages
# arrive. Workers, parameter servers and the broker are killed in turn; each message must be counted once. What the
# topic has dropped must be named. The job reads with a password over TLS; one process also with a password alone, with a
# certificate, and with SCRAM-SHA-512. A wrong password and a certificate of another authority must be named.
# DISTRIB_KAFKA_SECONDS: for how long messages are sent and processes are killed, 40 s unless told. DISTRIB_KAFKA_VERSION:
# of the broker, 4.1.1 unless told.
set -uo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/support/engine.sh"
need java openjdk-17-jdk-headless
need mvn maven
need openssl openssl
[ -x "$1/tests/kafka_counting" ] || skip 'there is no tests/kafka_counting: install librdkafka-dev'
seconds=${DISTRIB_KAFKA_SECONDS:-40}
limit=$((seconds + 600))
version=${DISTRIB_KAFKA_VERSION:-4.1.1}
cache=${XDG_CACHE_HOME:-$HOME/.cache}/distrib/kafka-$version
pom=$root/tests/engines/support/kafka.xml
outside() {
  cmp -s "$pom" "$cache/pom.xml" && return
  mkdir -p "$cache"
  mvn -q -B -f "$pom" "-Dkafka=$version" dependency:build-classpath "-Dmdep.outputFile=$cache/class_path.txt" >&2 && cp "$pom" "$cache/pom.xml" ||
    skip 'Kafka could not be fetched from Maven Central'
}
counting=$(realpath "$1/tests/kafka_counting") launch=$(realpath "$1/tools/distrib")
alone "$@"
unset TF_CONFIG
cd "$work" || exit
show_logs() { tail -n 30 "$work"/*.log; }

# --- the broker ---

brokers=127.0.0.1:19092 with_password=127.0.0.1:19094 with_certificate=127.0.0.1:19095 with_both=127.0.0.1:19096
with_scram=$with_both
password=$(openssl rand -hex 12) scram_password=$(openssl rand -hex 12)
authority() {  # NAME
  openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj "/CN=$1" -keyout "$1.key" -out "$1.pem" 2>>openssl.out
}
certificate() {  # NAME
  openssl req -x509 -CA authority.pem -CAkey authority.key -newkey rsa:2048 -nodes -days 2 -subj "/CN=$1" \
    -addext 'basicConstraints=CA:FALSE' -addext 'subjectAltName=IP:127.0.0.1,DNS:localhost' \
    -keyout "$1.key" -out "$1.pem" 2>>openssl.out
}
authority authority && authority other && certificate broker && certificate reader || fail 'openssl made no certificates'
cat broker.key broker.pem >broker_store.pem
java=(java -Xmx512m -cp "$(cat "$cache/class_path.txt")")
cat >broker.properties <<EOF
process.roles=broker,controller
node.id=1
controller.quorum.voters=1@127.0.0.1:19093
listeners=PLAINTEXT://$brokers,CONTROLLER://127.0.0.1:19093,SASL_PLAINTEXT://$with_password,SSL://$with_certificate,SASL_SSL://$with_both
advertised.listeners=PLAINTEXT://$brokers,SASL_PLAINTEXT://$with_password,SSL://$with_certificate,SASL_SSL://$with_both
controller.listener.names=CONTROLLER
listener.security.protocol.map=PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT,SASL_PLAINTEXT:SASL_PLAINTEXT,SSL:SSL,SASL_SSL:SASL_SSL
listener.name.sasl_plaintext.sasl.enabled.mechanisms=PLAIN
listener.name.sasl_plaintext.plain.sasl.jaas.config=org.apache.kafka.common.security.plain.PlainLoginModule required user_reader="$password";
listener.name.sasl_ssl.sasl.enabled.mechanisms=PLAIN,SCRAM-SHA-512
listener.name.sasl_ssl.plain.sasl.jaas.config=org.apache.kafka.common.security.plain.PlainLoginModule required user_reader="$password";
listener.name.sasl_ssl.scram-sha-512.sasl.jaas.config=org.apache.kafka.common.security.scram.ScramLoginModule required;
listener.name.ssl.ssl.client.auth=required
ssl.keystore.type=PEM
ssl.keystore.location=$work/broker_store.pem
ssl.truststore.type=PEM
ssl.truststore.location=$work/authority.pem
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
# Names and passwords of SCRAM are in the metadata of the broker, not in its properties.
must 'format the disk of the broker' \
  "${java[@]}" kafka.tools.StorageTool format -t MkU3OEVBNTcwNTJENDM2Qg -c broker.properties \
  --add-scram "SCRAM-SHA-512=[name=reader,password=$scram_password]"
start_broker
until_true 180 'the topic' topics --create --if-not-exists --topic sums --partitions 3 --replication-factor 1
echo "Kafka is ready after $SECONDS s"

# --- one process ---

must 'send 160 messages' "$counting" send $brokers sums 0 160
must 'one process' "$counting" train $brokers sums first_log first 10
must 'each message was counted once' "$counting" check first 160

# --- passwords and certificates ---

cat >password.properties <<EOF
security.protocol = sasl_plaintext
sasl.mechanism = PLAIN
sasl.username = reader
sasl.password = $password
EOF
cat >certificate.properties <<EOF
security.protocol = ssl
ssl.ca.location = $work/authority.pem
ssl.certificate.location = $work/reader.pem
ssl.key.location = $work/reader.key
EOF
cat >both.properties <<EOF
security.protocol = sasl_ssl
sasl.mechanism = PLAIN
sasl.username = reader
sasl.password = $password
ssl.ca.location = $work/authority.pem
EOF
cat >scram.properties <<EOF
security.protocol = sasl_ssl
sasl.mechanism = SCRAM-SHA-512
sasl.username = reader
sasl.password = $scram_password
ssl.ca.location = $work/authority.pem
EOF
# librdkafka before 2.6.1 sends its nonce twice in SCRAM. Kafka 3.8.1 to 3.9 let that pass; Kafka 4 refuses it.
scram_works=yes
older() { [ "$1" != "$2" ] && [ "$(printf '%s\n' "$1" "$2" | sort -V | head -n 1)" = "$1" ]; }
if older "$(pkg-config --modversion rdkafka)" 2.6.1 && ! older "$version" 4; then scram_works=; fi
for way in password certificate both ${scram_works:+scram}; do
  at=with_$way
  must "one process, with $way" "$counting" train "${!at}" sums "${way}_log" "$way" 10 $way.properties
  must 'each message was counted once' "$counting" check $way 160
done
refused() {  # WAY NAME FROM TO TEXT: with a property that is another one
  local at=with_$1
  sed "s|$3|$4|" "$1.properties" >"$2.properties"
  timeout 60 "$counting" train "${!at}" sums "$2_log" "$2" 10 "$2.properties" >"$2.log" 2>&1 && fail "$2: nobody has noticed"
  [ -n "$(grep -F "$5" "$2.log" | grep -F "topic sums at ${!at}")" ] || fail "$2: it is not named"
  echo "$2: $(tail -n 1 "$2.log")"
}
not_you='the brokers refuse this client: correct its name, password or rights' no_tls='no TLS with this broker'
refused password wrong_password "$password" wrong-word "$not_you"
refused both wrong_word "$password" wrong-word "$not_you"
refused both wrong_mechanism PLAIN SCRAM-SHA-256 "$not_you"
[ -n "$scram_works" ] || refused scram old_librdkafka reader reader "$not_you"
refused scram wrong_scram_password "$scram_password" wrong-word "$not_you"
refused scram wrong_name 'username = reader' 'username = stranger' "$not_you"
refused both wrong_authority authority.pem other.pem "$no_tls"

# --- a job whose processes are killed, and the broker too ---

begin() {  # STEPS
  "$launch" launch --ps 2 --workers 2 --restart --max-restarts 1000 -- \
    "$counting" train $with_both sums log job "$1" both.properties >job.log 2>&1 &
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
[ -z "$(grep -rlF -e "$password" -e "$scram_password" -e wrong-word job log job.log wrong_*.log ./*_log)" ] || fail 'a password was written'
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
