# SPDX-License-Identifier: Apache-2.0
# Sourced after tools/setup.sh by the scripts that build for aarch64 on another machine. Defines
#   ensure_aarch64   gets Debian's arm64 packages of the libraries into a cache directory; sets and exports
#                    $DISTRIB_AARCH64_ROOT, which cmake/aarch64-linux.cmake searches. Needs no root, and changes nothing
#                    in the system: no architecture is added to dpkg

# Debian has no package of its C library here: the cross compiler brings its own.
aarch64_packages=(zlib1g zlib1g-dev libssl3 libssl-dev libprotobuf32 libprotobuf-lite32 libprotobuf-dev libisal2 libisal-dev
  libcpp-httplib0.11 libcpp-httplib-dev libbrotli1 libbrotli-dev
  libasio-dev libxtensor-dev xtl-dev catch2 nlohmann-json3-dev libcli11-dev)

aarch64_apt() {  # DIRECTORY ARGUMENT...   apt-get as if on an aarch64 machine without a package, with lists of its own
  apt-get -q -o APT::Architecture=arm64 -o APT::Architectures=arm64 -o APT::Sandbox::User=root -o Acquire::Retries=3 \
    -o Dir::State="$1/state" -o Dir::State::status="$1/state/status" -o Dir::Cache="$1/cache" "${@:2}"
}

get_aarch64_packages() {  # DIRECTORY
  rm -rf "$1" && mkdir -p "$1/root" "$1/debs" "$1/state/lists/partial" "$1/cache/archives/partial" &&
    : >"$1/state/status" && aarch64_apt "$1" update || return
  (cd "$1/debs" && aarch64_apt "$1" download "${aarch64_packages[@]}") || return
  local deb
  for deb in "$1"/debs/*.deb; do dpkg-deb -x "$deb" "$1/root" || return; done
  # As on an installed system: /lib is /usr/lib.
  (cd "$1/root" && cp -a lib/. usr/lib/ && rm -rf lib && ln -s usr/lib lib) || return
  rm -rf "$1/debs" "$1/state" "$1/cache"
}

ensure_aarch64() {
  local directory=${XDG_CACHE_HOME:-$HOME/.cache}/distrib/aarch64 contents="${aarch64_packages[*]}, merged"
  export DISTRIB_AARCH64_ROOT=$directory/root
  [ "$(cat "$directory/installed" 2>/dev/null)" != "$contents" ] || return 0
  phase "get Debian's arm64 packages" get_aarch64_packages "$directory" && echo "$contents" >"$directory/installed"
}
