#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Every C++ source is formatted as clang-format 19 formats it with this project's .clang-format.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
command -v clang-format-19 >/dev/null || { echo "skipped: clang-format-19 is not installed"; exit 77; }

mapfile -t sources < <(git ls-files -co --exclude-standard -- '*.hpp' '*.cpp' '*.inc' '*.ipp')

# First checks that a planted fault is found.
planted=$(mktemp -d)
trap 'rm -rf "$planted"' EXIT
cp .clang-format "$planted"
echo 'auto  planted ( )->int ;' >"$planted/planted.hpp"
! clang-format-19 --dry-run --Werror "$planted/planted.hpp" 2>/dev/null || { echo "a planted fault was not found" >&2; exit 1; }

clang-format-19 --dry-run --Werror "${sources[@]}" ||
  { echo "to correct this: run clang-format-19 -i on the files above" >&2; exit 1; }
