#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Compiles tests for aarch64 with Debian's cross compiler, and runs them under qemu, which runs programs of another
# processor on this one. qemu shows neither the speed nor the weak memory ordering of such a processor.
# usage: aarch64.sh values   the test files of the value rooms whose results a processor could change: 90 s of CPU,
#                            and no library is needed
#        aarch64.sh bits     updaters compute the same bits with g++ and clang, and nothing is fused in the library
#        aarch64.sh pages    memory of parameter servers on systems with pages of 4, 16 and 64 KiB
#        aarch64.sh rooms    all tests of all rooms
#        aarch64.sh job      the main example in one process, as a cluster, as one job with tasks of both processors, and
#                            such a job over TLS with kills: the same hash
#        aarch64.sh          all of these
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
logs=build/logs
. tools/setup.sh
. tools/aarch64.sh
jobs=$(nproc)

# What each processor computes in its own way: checksums, conversions, kernels, parsers of words, layouts of memory.
# Needs no library of the other processor: headers of Catch2, xtensor and nlohmann-json are the same everywhere.
values() {
  local out=build/aarch64_values room
  local files_of_core="half stochastic_rounding int8_blocks crc32c sha256 philox same_math float_codec bytes protowire"
  files_of_core+=" shortest_text"
  local files_of_record="resync frame record_iterator"
  local files_of_tensor="values view matmul detail/fused_multiply_add"
  local files_of_checkpoint="bundle_reader bundle_writer snappy ordered_code table_reader"
  local files_of_cluster="cluster_spec tf_config"
  local files_of_optimizer="adagrad adam momentum ftrl reduce square_sum"
  local files_of_placement="greedy_load_balancing"
  local files_of_sharding="consistent_hash_sharding mod_sharding"
  local files_of_summary="histogram"
  local files_of_example="batch parse_example sequence_example_view"
  rm -rf "$out" && mkdir -p "$out"
  for room in core record tensor checkpoint cluster optimizer placement sharding summary example; do
    local files=files_of_$room file
    for file in ${!files}; do
      [ -e "tests/$room/${file}_test.cpp" ] || continue
      echo "#include \"$room/${file}_test.cpp\""
    done >"$out/$room.cpp"
  done
  echo "compile: $(grep -c . "$out"/*.cpp | wc -l) rooms, $(cat "$out"/*.cpp | wc -l) test files"
  export out
  printf '%s\0' "$out"/*.cpp tests/support/main.cpp tests/support/test_dir.cpp |
    xargs -0 -n 1 -P "$jobs" bash -c 'compile "$1"' compile
  aarch64-linux-gnu-g++ -static "$out"/*.o -o "$out/values" -pthread
  qemu-aarch64 "$out/values"
}

compile() {  # SOURCE
  ccache aarch64-linux-gnu-g++ -std=c++20 -O1 -w -DDISTRIB_TEST_EMULATED=1 -DDISTRIB_TEST_DIR="\"$PWD/tests\"" \
    -Iinclude -Itests -idirafter /usr/include -c "$1" -o "$out/$(basename "$1" .cpp).o"
}
export -f compile

run() {  # PROGRAM ARGUMENT...
  qemu-aarch64 ${page_bytes:+-p "$page_bytes"} -L /usr/aarch64-linux-gnu \
    -E LD_LIBRARY_PATH="$DISTRIB_AARCH64_ROOT/usr/lib/aarch64-linux-gnu:/usr/aarch64-linux-gnu/lib" "$@"
}

build() {  # TARGET...
  ensure_aarch64
  cmake --preset aarch64 >/dev/null && cmake --build --preset aarch64 -j "$jobs" --target "$@"
}

bits() {
  local clang=build/aarch64_clang/clang++ found
  mkdir -p "${clang%/*}"
  printf '#!/bin/sh\nexec clang++-19 --target=aarch64-linux-gnu "$@"\n' >$clang
  chmod +x $clang
  tests/optimizer/same_bits.sh aarch64-linux-gnu-g++
  tests/tensor/same_bits.sh aarch64-linux-gnu-g++ --run qemu-aarch64
  ! command -v clang++-19 >/dev/null || tests/optimizer/same_bits.sh "$PWD/$clang"
  # g++ fuses a product and a sum on aarch64 unless told otherwise. The library is built as users build it: untold.
  build distrib_compiled
  found=$(aarch64-linux-gnu-objdump -dC --no-show-raw-insn build/aarch64/libdistrib_compiled.a |
    awk '/>:$/ { name = $0 } $2 ~ /^(fml[as]|fnml[as]|fn?m(add|sub)|frecpe|frsqrte)$/ && !seen[name]++ { print name }' |
    grep -v "$fused_on_purpose" || true)
  [ -z "$found" ] || { printf 'fused or estimating instructions in\n%s\n' "$found" >&2; return 1; }
  echo "no fused instruction in libdistrib_compiled.a"
}
fused_on_purpose=matmul  # the products of tensor/matmul.hpp: one fused step is their definition

pages() {
  build distrib_ps_rows_tests
  for page_bytes in 4096 16384 65536; do
    echo "pages of $((page_bytes / 1024)) KiB:"
    run build/aarch64/tests/distrib_ps_rows_tests '~[.]'
  done
  unset page_bytes
}

rooms() {
  build distrib_room_tests
  ctest --preset aarch64 -j "$jobs" --output-log build/logs/ctest-aarch64.txt
}

# Jobs of real processes, with all tasks on aarch64 and with some.
job() {
  local out=$PWD/build/aarch64_job
  build fashion_mnist_train
  cmake --preset release >/dev/null
  cmake --build --preset release -j "$jobs" --target fashion_mnist_train fashion_mnist_convert distrib_command
  rm -rf "$out" && mkdir -p "$out"
  task "$out/emulated" "$PWD/build/aarch64/examples/fashion_mnist_train"
  tests/consumer/aarch64_jobs.py build/release "$out/emulated" "$out"
}

task() {  # SCRIPT PROGRAM   writes a script that runs the program under qemu
  cat >"$1" <<TASK
#!/bin/sh
exec qemu-aarch64 -L /usr/aarch64-linux-gnu \\
  -E LD_LIBRARY_PATH='$DISTRIB_AARCH64_ROOT/usr/lib/aarch64-linux-gnu:/usr/aarch64-linux-gnu/lib' '$2' "\$@"
TASK
  chmod +x "$1"
}

case ${1:-} in
  values | bits | pages | rooms | job) "$1" ;;
  '') for part in values bits pages rooms job; do tests/consumer/aarch64.sh $part; done ;;
  *) sed -n '5,13s/^# //p' "$0" >&2; exit 64 ;;
esac
