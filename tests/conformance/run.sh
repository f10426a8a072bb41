#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# usage: tests/conformance/run.sh <QUESTIONS >ANSWERS
# Builds, if necessary, the program that answers questions about what TensorFlow and its relatives do, and runs it. A
# question is a line {"id", "group", "input"}; its answer is a line {"id", "output"}.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
logs=build/logs
. tools/setup.sh
{
  ensure_packages build tests
  prepare() {
    { [ -e build/release/build.ninja ] || cmake --preset release; } &&
      cmake --build build/release -j "$(nproc)" --target distrib_conformance
  }
  phase 'build the conformance program' prepare
} >&2
exec build/release/tests/conformance/answer_lines
