#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs the consumers, and the tests of the rooms that use third-party libraries, with the packages of this system.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
logs=build/logs
. tools/setup.sh
ensure_packages build tests
rooms=(core message net net/tls record remote remote/s3 rpc tensor)
cmake --preset release
cmake --build build/release -j "$(nproc)" --target $(printf "distrib_%s_tests " "${rooms[@]//\//_}") -- -k 0
ctest --preset release -R "^(consumer|$(IFS='|'; echo "${rooms[*]}"))/"
