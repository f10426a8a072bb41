#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# tools/release.sh in a temporary repository: what it changes, and what it refuses.
set -euo pipefail
source_root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cd "$source_root"
tar -c CHANGELOG.md CMakeLists.txt cmake include/distrib packaging tests/architecture tools/release.sh tools/public_headers.py | tar -C "$scratch" -x
cd "$scratch"
export GIT_CONFIG_GLOBAL=/dev/null GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@example.org GIT_COMMITTER_NAME=a
export GIT_COMMITTER_EMAIL=a@example.org DISTRIB_RELEASE_CHECKS=true
commit() { git add -A && git commit -q -m "$1"; }
fail() { echo "$*" >&2; exit 1; }
refuses() {  # WORDS VERSION
  local said
  ! said=$(tools/release.sh "$2" 2>&1) || fail "released $2 although $1"
  [[ $said == *"$1"* ]] || fail "instead of '$1' it says: $said"
  [ -z "$(git status --porcelain)" ] || fail "after '$1' files are changed"
}

git init -q
sed -i '0,/^## \[/s/^## \[.*/## [12.34.5] - unreleased\n\nNews.\n\n&/' CHANGELOG.md
commit begin
refuses "usage" 12.34
refuses "usage" 12.34.08
refuses "does not begin with a section '## [12.34.6] - unreleased'" 12.34.6
DISTRIB_RELEASE_CHECKS=false refuses "nothing was released" 12.34.5

tools/release.sh 12.34.5
[ -z "$(git status --porcelain)" ] || fail "something is not committed"
[ "$(git describe)" = v12.34.5 ] || fail "there is no tag"
grep -q '^#define DISTRIB_VERSION 123405$' include/distrib/version.hpp || fail "version.hpp has another number"
grep -q "^## \[12.34.5\] - $(date +%F)$" CHANGELOG.md || fail "the changelog has no date"
python3 -B tests/architecture/check.py versions

refuses "does not come after 12.34.5" 12.34.4
touch new
! tools/release.sh 12.35.0 2>/dev/null || fail "released what is not committed"
