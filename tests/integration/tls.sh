#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The main job as real processes over mutual TLS: the bits of one process, also after kills; a task without TLS is
# refused; certificate and authority are replaced while it runs; nothing readable passes on the wire. ctest calls it in
# build/PRESET/tests, where the programs are ../examples/fashion_mnist_* and ../tools/distrib.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/../support/command.sh"
unset TF_CONFIG NO_COLOR DISTRIB_TLS_DIRECTORY DISTRIB_TLS_PEERS DISTRIB_TLS_REFRESH DISTRIB_SECRET DISTRIB_SECRET_FILE
command -v openssl >/dev/null || { echo 'the program openssl is missing'; exit 77; }

train=("$programs/fashion_mnist_train" --data data)
program=("${train[@]}")
show() { tail -n 40 "$1" | sed 's/^/    /' >&2; }
begin() {  # NAME LAUNCH_OPTION... -- TRAIN_OPTION...      $launch is the process
  name=$1
  shift
  local options=()
  while [ "$1" != -- ]; do options+=("$1"); shift; done
  timeout -k 5 120 "$distrib" launch --ps 2 --workers 3 "${options[@]}" -- "${program[@]}" --out "$name" "${@:2}" >"$name.log" 2>&1 &
  launch=$!
}
ends_with() {  # CODE
  local status=0
  wait "$launch" || status=$?
  [ "$status" -eq "$1" ] || { fail "$name: exit code $status, not $1"; show "$name.log"; }
}
pid_of() { sed -nE "s/^launch \| $1 is process ([0-9]+)\$/\1/p" "$name.log" | tail -n 1; }  # TASK
says() { grep -qE -e "$1" "${2:-$name.log}" || { fail "$name: no '$1' in the log"; show "${2:-$name.log}"; }; }
says_not() { ! grep -E -e "$1" "$name.log" >&2 || fail "$name: '$1' in the log"; }
until_true() {  # COMMAND...      waits until it succeeds, for at most 60 s
  local tries=0
  until "$@"; do
    [ $((tries += 1)) -le 3000 ] || { fail "$name: still not true after 60 s: $*"; return 0; }
    sleep 0.02
  done
}
hash_of() { python3 -c 'import json,sys; print(json.load(open(sys.argv[1] + "/summary.json"))["parameters_sha256"])' "$1"; }
same_bits() { [ "$(hash_of "$1" 2>&1)" = "$expected" ] || fail "$1: the hash differs from that of one process"; }
# Waits until the job has done some steps, then holds it in a step.
hold() { until_true grep -qs 'worker0 | step [1-9][0-9]' "$name.log"; kill -STOP "$(pid_of worker2)"; }
go_on() { kill -CONT "$(pid_of worker2)"; }
ps0() { sed -nE 's/^launch \| --ps_hosts=([^,]*),.*/\1/p' "$name.log"; }

steps=400
"$programs/fashion_mnist_convert" /usr/share/datasets/fashion-mnist data >convert.txt
DISTRIB_TLS_DIRECTORY=/nowhere "${train[@]}" --out none --steps 1 --job_name=ps --task_index=0 --ps_hosts=127.0.0.1:1 \
  --worker_hosts=127.0.0.1:2 >none.log 2>&1 && fail 'a task without its certificates runs'
if grep -q 'this program speaks no TLS' none.log; then echo 'the example is built without TLS'; exit 77; fi
"${train[@]}" --out local --steps $steps >local.log
expected=$(hash_of local)

# --- distrib launch --tls ---

begin secure --tls -- --steps $steps
hold
made=$(sed -n 's/^launch | certificates: //p' secure.log)
[ "$(cd "$made" && stat -c '%n %a' -- * | grep -v '^log ' | sort | paste -sd ' ')" = 'ca.crt 600 tls.crt 600 tls.key 600' ] ||
  fail "the directory of certificates has: $(ls -l "$made")"
[ "$(stat -c %a "$made")" = 700 ] || fail 'others can look into the directory of certificates'
! grep -l 'PRIVATE KEY' "$made"/ca.crt "$made"/tls.crt || fail 'a key is where a certificate should be'
"$distrib" status "$(ps0)" --tls "$made" --json >status.log 2>&1 || { fail 'status --tls'; show status.log; }
grep -q '"step"' status.log || { fail 'status --tls shows no step'; show status.log; }
"$distrib" status "$(ps0)" --json >status.log 2>&1 && fail 'status without --tls succeeds'
says 'this server speaks TLS only' status.log
go_on
ends_with 0
same_bits secure
[ ! -e "$made" ] || fail "$made is left"

# --- one task without TLS: both sides say why, in one try ---

for plain in worker1 ps0; do
  cat >without <<END
#!/usr/bin/env bash
case " \$* " in *' --job_name=${plain%?} --task_index=${plain: -1} '*) unset DISTRIB_TLS_DIRECTORY ;; esac
exec ${train[*]@Q} "\$@"
END
  chmod +x without
  program=(./without)
  begin "plain_$plain" --tls --restart -- --steps $steps
  program=("${train[@]}")
  ends_with 65
  says_not 'starting it again'
  case $plain in
    worker1)
      says '^worker1 \| .*this server speaks TLS only'
      says '^ps[01] \| .*refused 127\.0\.0\.1:[0-9]+ .*does not use TLS' ;;
    ps0)
      says '^worker[0-2] \| .*the peer speaks no TLS'
      says '^ps0 \| .*refused 127\.0\.0\.1:[0-9]+ .*uses TLS; this server speaks no TLS' ;;
  esac
done

# --- kills, with a secret ---

head -c 32 /dev/urandom | base64 >secret
chmod 600 secret
export DISTRIB_SECRET_FILE=$PWD/secret
for victims in worker1 ps1 'ps0 worker2'; do
  rm -rf killed killed.log
  begin killed --tls --restart -- --steps $steps
  until_true grep -qs 'worker0 | step [1-9][0-9]' killed.log
  for victim in $victims; do kill -9 "$(pid_of "$victim")" 2>/dev/null || true; done
  ends_with 0
  same_bits killed
  for victim in $victims; do says "^launch \| $victim was ended by SIGKILL"; done
done
unset DISTRIB_SECRET_FILE

# --- a new certificate of a new authority while the job runs ---

authority() {  # NAME      makes NAME.key and NAME.pem
  openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj "/CN=$1" -keyout "$1.key" -out "$1.pem" \
    -addext keyUsage=critical,keyCertSign 2>>openssl.log
}
version() {  # NUMBER AUTHORITY CA_FILE...      puts files into certificates/..NUMBER, and makes them those of the tasks
  local at=certificates/..$1
  mkdir -p "$at"
  openssl req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj /CN=task -keyout "$at/tls.key" -out request 2>>openssl.log
  openssl x509 -req -in request -CA "$2.pem" -CAkey "$2.key" -CAcreateserial -days "$1" -out "$at/tls.crt" \
    -extfile <(printf 'subjectAltName=IP:127.0.0.1\nextendedKeyUsage=serverAuth,clientAuth\n') 2>>openssl.log
  chmod 600 "$at/tls.key"
  cat "${@:3}" >"$at/ca.crt"
  ln -s "..$1" certificates/..new
  mv -T certificates/..new certificates/..data
}
authority old
authority new
version 2 old old.pem
version 9 new new.pem  # what only asks: it trusts the new authority alone
cp -r certificates/..9 asker
ln -sfn ..2 certificates/..data
export DISTRIB_TLS_DIRECTORY=$PWD/certificates DISTRIB_TLS_REFRESH=1
port=$(python3 -c 'import socket; s = socket.create_server(("127.0.0.1", 0)); print(s.getsockname()[1])')
begin rotated --restart -- --steps $steps --metrics "127.0.0.1:$port"
hold
expires() { python3 - "$port" <<'END'
import re, ssl, sys, urllib.request
context = ssl.create_default_context()
context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
page = urllib.request.urlopen(f"https://127.0.0.1:{sys.argv[1]}/metrics", context=context, timeout=20).read().decode()
print(re.search(r"^distrib_tls_certificate_expires_seconds (\d+)$", page, re.M)[1])
END
}
asks() { env -u DISTRIB_TLS_DIRECTORY "$distrib" status "$(ps0)" --tls asker >asked.log 2>&1; }
before=$(expires)
! asks || fail 'a server of the old authority is accepted by a client of the new one'
echo 'half a cert' >certificates/..2/tls.crt
for task in ps0 ps1 worker0 worker1; do  # worker2 is held
  until_true grep -qsE "^$task \| .*new certificate files are not used: .*/tls.crt" rotated.log
done
[ "$(expires)" = "$before" ] || fail 'a broken file is used'
version 3 new old.pem new.pem
until_true asks
[ "$(expires)" -gt $((before + 80000)) ] || fail "the metric does not show the new certificate: $before, then $(expires)"
go_on
sleep 3  # three periods, so that all workers use the new certificate
version 4 new new.pem  # and the old authority is gone
until_true grep -qs "worker0 | exit code\|worker0 | step [2-9][0-9]" rotated.log
says_not '(lost|waiting for) /job:'
ends_with 0
same_bits rotated
says_not '(lost|waiting for) /job:'  # no connection was lost
for task in ps0 ps1 worker0 worker1; do
  [ "$(grep -cE "^$task \| .*certificate files" rotated.log)" -eq 1 ] || fail "$task does not tell the refused files once"
done

# The new files are also what the ends use after the loss of a connection.
version 2 old old.pem
begin again --restart -- --steps $steps
hold
version 5 new old.pem new.pem
until_true asks
go_on
sleep 3
until_true grep -qsE 'worker0 \| (step [2-9][0-9]|.*done)' again.log
kill -9 "$(pid_of ps1)" 2>/dev/null || true
ends_with 0
same_bits again

# --- what passes on the wire ---

cat >relay.py <<'END'
"""usage: relay.py CAPTURE HOST:PORT...      passes bytes on, notes all of them, and prints its own addresses"""
import asyncio, sys
async def main(capture, targets):
    async def way(reader, writer):
        try:
            while data := await reader.read(1 << 16):
                capture.write(data)
                writer.write(data)
                await writer.drain()
            writer.write_eof()
        except OSError:
            writer.close()
    def accepted(target):
        async def pass_on(reader, writer):
            try:
                there = await asyncio.open_connection(*target.split(":"))
            except OSError:
                return writer.close()  # the server does not listen yet
            await asyncio.gather(way(reader, there[1]), way(there[0], writer))
        return pass_on
    servers = [await asyncio.start_server(accepted(target), "127.0.0.1", 0) for target in targets]
    print(",".join("127.0.0.1:%d" % server.sockets[0].getsockname()[1] for server in servers), flush=True)
    await asyncio.gather(*(server.serve_forever() for server in servers))
with open(sys.argv[1], "wb", buffering=0) as capture:
    asyncio.run(main(capture, sys.argv[2:]))
END
unset DISTRIB_TLS_REFRESH
version 6 new new.pem
listens() { (exec 3<>"/dev/tcp/127.0.0.1/$1") 2>/dev/null; }
for kind in plain tls; do
  name=wire_$kind
  [ $kind = tls ] || unset DISTRIB_TLS_DIRECTORY
  read -r -a ports <<<"$(python3 -c 'import socket
held = [socket.create_server(("127.0.0.1", 0)) for _ in range(4)]
print(*(s.getsockname()[1] for s in held))')"
  ps=127.0.0.1:${ports[0]},127.0.0.1:${ports[1]} workers=127.0.0.1:${ports[2]},127.0.0.1:${ports[3]}
  python3 relay.py $kind.capture ${ps/,/ } >$kind.hosts &
  relay=$!
  until_true test -s $kind.hosts
  started=()
  for task in ps0 ps1 worker0 worker1; do
    [ $task != worker0 ] || for port in "${ports[@]:0:2}"; do until_true listens "$port"; done
    hosts=$ps
    [ "${task%?}" = ps ] || hosts=$(cat $kind.hosts)
    timeout -k 5 120 "${train[@]}" --out $name --steps 20 --job_name=${task%?} --task_index=${task: -1} --ps_hosts="$hosts" \
      --worker_hosts=$workers >$name.$task.log 2>&1 &
    started+=($!)
  done
  for process in "${started[@]}"; do wait "$process" || { fail "$name: exit code $?"; show $name.worker0.log; }; done
  kill $relay
  wait $relay 2>/dev/null || true
  export DISTRIB_TLS_DIRECTORY=$PWD/certificates
done
[ "$(hash_of wire_plain)" = "$(hash_of wire_tls)" ] || fail 'plain and TLS give other bits'
python3 - <<'END' || fail 'the wire'
import glob, sys
names = [b"hidden/weights", b"distrib.ps.", b"momentum"]
values = open(sorted(glob.glob("wire_tls/checkpoint/*.data-00000-of-*"))[-1], "rb").read()
# Pieces of the trained values, spread over the file; not zeros.
pieces = [piece for at in range(0, len(values) - 64, 64) if len(set(piece := values[at:at + 64])) > 32]
pieces = pieces[::max(1, len(pieces) // 20)]
plain, secure = (open(f"{kind}.capture", "rb").read() for kind in ("plain", "tls"))
print(f"plain: {len(plain)} bytes, TLS: {len(secure)} bytes, {len(pieces)} pieces of values")
known = [text for text in names + pieces if text in plain]
assert len(known) > len(pieces) // 4, f"only {len(known)} of the texts are in the plain capture"
found = [text for text in names + pieces if text in secure]
assert not found, f"readable: {found}"
assert len(secure) > len(plain), "there is less in the capture with TLS"
END

[ $failures -eq 0 ] && echo 'all passed'
exit $((failures > 0))
