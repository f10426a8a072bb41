#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Releases the committed state: sets the version and the changelog's date, runs all checks, makes a commit and a tag.
# usage: tools/release.sh MAJOR.MINOR.PATCH
#
# The changelog must have a section "## [MAJOR.MINOR.PATCH] - unreleased". Nothing is pushed. If a check fails, all
# changes are undone. DISTRIB_RELEASE_CHECKS: a command to run instead of `.ci/run` and `tests/run.sh packages`.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

refuse() { echo "release.sh: $*" >&2; exit 1; }

version=${1:-}
[[ $version =~ ^(0|[1-9][0-9]*)\.(0|[1-9][0-9]?)\.(0|[1-9][0-9]?)$ ]] || { sed -n '4p' "$0" | cut -c3- >&2; exit 64; }
number=$((10000 * BASH_REMATCH[1] + 100 * BASH_REMATCH[2] + BASH_REMATCH[3]))
header=include/distrib/version.hpp manifest=packaging/vcpkg/ports/distrib/vcpkg.json
released=$(git tag --list 'v*' | sed 's/^v//' | sort -V | tail -n 1)

[ -z "$(git status --porcelain)" ] || refuse "there are changes that are not committed"
[ "$(printf '%s\n' "$released" "$version" | sort -V | tail -n 1)" = "$version" ] && [ "$released" != "$version" ] ||
  refuse "$version does not come after $released, the last release"
[ "$(sed -n '/^## \[/{p;q}' CHANGELOG.md)" = "## [$version] - unreleased" ] ||
  refuse "CHANGELOG.md does not begin with a section '## [$version] - unreleased'"

trap 'git checkout -q -- . && refuse "nothing was released"' ERR
sed -i "s/^#define DISTRIB_VERSION .*/#define DISTRIB_VERSION $number/
        s/\(std::string_view version_text = \)\".*\"/\1\"$version\"/" $header
sed -i "s/\"version\": \".*\"/\"version\": \"$version\"/" $manifest
sed -i "s/^## \[$version\] - unreleased/## [$version] - $(date +%F)/" CHANGELOG.md
python3 -B tests/architecture/check.py versions
if [ -n "${DISTRIB_RELEASE_CHECKS:-}" ]; then
  eval "$DISTRIB_RELEASE_CHECKS"
else
  .ci/run
  tests/run.sh packages
fi
git commit -q --allow-empty -a -m "Release $version"
git tag -a "v$version" -m "distrib $version"
trap - ERR
echo "released $version: git push --follow-tags"
