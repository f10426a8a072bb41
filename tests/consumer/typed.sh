#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs the commands of docs/guide/use.md, beside a copy of this checkout.
# usage: typed.sh SCRATCH      (as root, on Debian: the page begins with apt-get)
set -euo pipefail
scratch=$1
source_root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
rm -rf "$scratch" && mkdir -p "$scratch/distrib" && cd "$scratch"
tar -C "$source_root" --exclude=./build --exclude=./.git -c . | tar -C distrib -x
sed -n '/^```sh$/,/^```$/p' "$source_root/docs/guide/use.md" | grep -v '^```' >typed
grep -q '^build/trainer$' typed || { echo "docs/guide/use.md has no commands" >&2; exit 1; }
HOME=$scratch bash -euxo pipefail typed
