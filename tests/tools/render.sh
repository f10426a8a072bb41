#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# `distrib render`: which values it accepts, what it refuses and how; then every template of examples/, see
# render_templates.py.
set -uo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/../support/command.sh"

gives() {  # TEXT ARGUMENT...      prints exactly TEXT on stdout, and nothing on stderr
  local text=$1 said status=0
  shift
  said=$("$distrib" render "$@" 2>errors </dev/null) || status=$?
  [ $status -eq 0 ] || fail "render $*: exit code $status: $(cat errors)"
  [ "$said" = "$text" ] || fail "render $*: gives '$said', not '$text'"
}
refuses() {  # CODE TEXT ARGUMENT...      ends with CODE; its errors contain TEXT; prints nothing on stdout
  local code=$1 text=$2 said status=0
  shift 2
  said=$("$distrib" render "$@" 2>&1 >out </dev/null) || status=$?
  [ $status -eq "$code" ] || fail "render $*: exit code $status, not $code"
  [[ $said == *"$text"* ]] || fail "render $*: '$said' has no '$text'"
  [ ! -s out ] || fail "render $*: says on stdout: $(head -c 200 out)"
}

echo '{% set n = n | default(3) -%}
{{ n | tojson }} {{ text | tojson }}' >a.jinja
gives '3 "x"' a.jinja -D text=x
gives '4 "x"' a.jinja -D n=4 -D text=x
gives '[1, {"a": true}] "007"' a.jinja -D 'n=[1, {"a": true}]' -D text=007
gives '"true story" "a=b"' a.jinja -D 'n=true story' -D text=a=b
gives '3 "null"' a.jinja -D text=null
gives '3 "\"q\""' a.jinja -Dtext='"q"'
echo '{"text": "of JSON", "n": 1, "of another template": 2}' >values.json
echo 'text: of YAML' >values.yaml
gives '1 "of JSON"' a.jinja --values values.json
gives '1 "of YAML"' a.jinja --values values.json --values values.yaml
gives '1 "told"' --values values.json a.jinja -D text=told
refuses 65 "a.jinja:2: 'text' is undefined" a.jinja
refuses 64 '-D txt: a.jinja has no such value; its values: n, text' a.jinja -D txt=1
refuses 64 'write -D name=value' a.jinja -D text
refuses 64 'TEMPLATE' -D text=1
refuses 64 '--nothing' a.jinja --nothing
refuses 66 'b.jinja: No such file' b.jinja
refuses 66 'no.json: No such file' a.jinja --values no.json
echo '[1]' >list.json
refuses 65 'list.json: not a mapping' a.jinja --values list.json
echo '{"text": }' >bad.json
refuses 65 'bad.json: ' a.jinja --values bad.json
echo 'a: b: c' >bad.yaml
refuses 65 'bad.yaml: ' a.jinja --values bad.yaml
echo '{{ text }' >b.jinja
refuses 65 'b.jinja:1: ' b.jinja -D text=1
printf '{{ text | tojson }}\n{{ text.a.b }}\n' >c.jinja
refuses 65 "c.jinja:2: 'str object' has no attribute 'a'" c.jinja -D text=1x
echo 'a: {{ text }}' >d.yaml.jinja
refuses 65 'd.yaml.jinja: the result is not valid (YAML)' d.yaml.jinja -D text='b: c' --check
gives 'a: b: c' d.yaml.jinja -D text='b: c'
"$distrib" render a.jinja -D text=x >/dev/full 2>errors
[ $? -eq 74 ] || fail "stdout cannot be written, but the exit code is not 74"
[[ $("$distrib" render --help) = *'--values FILE'* ]] || fail '--help names no --values'
[[ $("$distrib" --help) = *render* ]] || fail 'the list of commands has no render'
mkdir bin
ln -s "$(command -v true)" bin/true
said=$(PATH=$PWD/bin "$distrib" render a.jinja 2>&1)
[ $? -eq 69 ] && [[ $said == *'apt-get install python3 '* ]] || fail "without Python it says: $said"
python=$(python3 -c 'import sys; print(sys.executable)')
printf '#!/bin/sh\nexec %s -S -I "$@"\n' "$python" >bin/python3  # -S: without its packages
chmod +x bin/python3
said=$(PATH=$PWD/bin "$distrib" render a.jinja 2>&1)
[ $? -eq 69 ] && [[ $said == *'apt-get install python3-jinja2'* ]] || fail "without Jinja2 it says: $said"

python3 -B "$tests/tools/render_templates.py" "$distrib" || fail 'a template'
[ $failures -eq 0 ] && echo 'all passed'
exit $((failures != 0))
