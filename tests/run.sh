#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# usage: tests/run.sh           installs what is missing, builds (g++, release), runs every test
#        tests/run.sh all       the same, then with clang: wrong programs, each header alone, under sanitizers; and budgets
#        tests/run.sh fuzz [SECONDS]   lets libFuzzer loose on each target of tests/fuzz, 60 seconds unless told
#        tests/run.sh soak [SECONDS]   a server under storms of resets, a parameter server under all that workers make, a
#                               job of processes killed in turn, 60 seconds each unless told; 1000 orders of stops; kills
#                               before whatever a process does; tables with a limit of rows; serving; local steps; wire
#                               formats
#        tests/run.sh soak kills [OPTION...]   of these what kills processes, or some of it, as long and as often as told:
#                               tests/soak/kills.py names the options
#        tests/run.sh soak tables [OPTION...]   of these tables with a limit of rows: bits, quality and memory, some minutes;
#                               tests/soak/tables.py names the options
#        tests/run.sh soak serving [OPTION...]   of these training, export and serving at once, 30 minutes without kills and
#                               30 with them unless told; until 1000 positions were compared (kills --positions 1000); with
#                               a million rows (fresh); from a stream (stream); tests/soak/serving.py names the options
#        tests/run.sh soak local_steps [OPTION...]   of these local steps: bytes and accuracy, some minutes;
#                               tests/soak/local_steps.py names the options
#        tests/run.sh soak wire_format [OPTION...]   of these rounded numbers on the wire: bytes and accuracy, some minutes;
#                               tests/soak/wire_format.py names the options
#        tests/run.sh simulation [--from A] [--count N]   whole jobs under faults drawn from seeds: of each kind of job 10000
#                               seeds of its cores alone and 1000 of trainers by sim::run, or N of both, from A or 0 on;
#                               a seed that fails is named, and runs again by --from SEED --count 1
#        tests/run.sh mutations [NAME...]   one-line mistakes planted in headers: those that no test noticed once, and 40 drawn
#                               in each core, or in each header or folder of headers that is named, as sim/disk and sim;
#                               tests/mutations.py names the options
#        tests/run.sh packages  all ways to consume the library, our guide typed on a bare Debian, clang, Conan (from PyPI),
#                               newer Debians, aarch64, older processors; as root
#        tests/run.sh packages aarch64 [KIND...]   of these only aarch64, under qemu: tests of all rooms, jobs of processes, or
#                               what is named: values, bits, pages, rooms, job (tests/consumer/aarch64.sh says what they are)
#        tests/run.sh interop [NAME...]   our files against real TensorFlow, TensorBoard, Spark, Hadoop, SeaweedFS and versitygw (from
#                               PyPI and Maven, in a cache directory), or those of tests/interop whose names begin so; torch
#                               (PyTorch, 6 GB) only if it is named
#        tests/run.sh torch [units]   the door to LibTorch, with Debian's libtorch-dev: its tests, then jobs of processes that
#                               are killed; units: its tests alone
#        tests/run.sh torch jobs [OPTION...]   of these the jobs, or some of them, as long and as often as told:
#                               tests/libtorch/jobs.py names the options, as --only kills --kills 10 --steps 300
#        tests/run.sh site      builds the documentation (docs/site.sh), then in headless Chromium: what the search finds,
#                               and that each page fits on a phone; and the page that shows a running job
#        tests/run.sh engines [NAME...]   jobs on real cluster managers, all of them or those of tests/engines that are
#                               named, as slurm and mpi: a parameter server and a worker are killed; as root
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.." || exit
logs=build/logs
. tools/setup.sh
. tools/tensorflow.sh
. tools/spark.sh
. tools/torch.sh
. tools/s3.sh
jobs=$(nproc)

configure_and_build() {  # PRESET [TARGET...]
  cmake --preset "$1" && cmake --build "build/$1" -j "$jobs" ${2:+--target "${@:2}"}
}

build() { phase "build $1" configure_and_build "$@"; }  # PRESET [TARGET...]

# Counts into `passed` and `failed`; keeps ctest's summary.
passed=0 failed=0 summary= run_under=()
run_ctest() {  # PRESET [OPTION...]
  local log=$logs/ctest-$1.txt status=0 counts
  rm -f "$log"
  phase "test $1" "${run_under[@]}" ctest --preset "$1" -j "$jobs" --output-log "$log" "${@:2}" || status=$?
  summary=$(grep -aE 'tests passed, |^Total Test time' "$log")
  counts=$(sed -nE 's/.*, ([0-9]+) tests? failed out of ([0-9]+).*/\1 \2/p' "$log")
  [ -n "$counts" ] || return 1
  failed=$((failed + ${counts% *}))
  passed=$((passed + ${counts#* } - ${counts% *}))
  return $status
}

release() { build release && run_ctest release; }
headers() { phase "compile each header alone" configure_and_build headers all_verify_interface_header_sets; }
wrong_programs() { run_ctest clang-words; }
address() { build asan-ubsan && run_ctest asan-ubsan; }
thread() {  # the rooms with threads, and whole jobs: tests/CMakeLists.txt names them
  # Thread sanitizer needs the address space where it expects it, which some kernels randomise too far.
  ! setarch -R true 2>/dev/null || run_under=(setarch -R)
  build tsan distrib_thread_tests && run_ctest tsan -L '^threads$'
  local status=$?
  run_under=()
  return $status
}
budgets() { run_ctest budget; }

part_names=() part_seconds=() part_results=()
part() {  # NAME COMMAND...
  local began=$EPOCHREALTIME failed_before=$failed result=ok
  skipped=
  if ! "${@:2}"; then
    result=FAILED
    [ "$failed" -ne "$failed_before" ] || failed=$((failed + 1))  # no test ran: the part itself counts
  fi
  [ -z "$skipped" ] || result=$skipped
  part_names+=("$1") part_seconds+=("$(seconds_since "$began")") part_results+=("$result")
}

table() {
  local i
  printf '\n%-40s %9s\n' part seconds
  for i in "${!part_names[@]}"; do printf '%-40s %9s  %s\n' "${part_names[i]}" "${part_seconds[i]}" "${part_results[i]}"; done
}

counted() {  # NAME COMMAND...   a phase that counts as one test
  if phase "$@"; then passed=$((passed + 1)); else failed=$((failed + 1)); return 1; fi
}

# Real TensorFlow reads what our programs wrote, and our programs what it wrote; PyTorch computes what our updaters do.
interop() {  # SCRIPT...
  local script python
  for script in "$@"; do
    case $script in */torch_*) ensure_torch ;; */s3*.py) ensure_s3 ;; *) ensure_tensorflow ;; esac || return
  done
  if [[ $* == *spark* ]]; then
    ensure_spark || return
    export DISTRIB_SPARK_PYTHON=$spark_python DISTRIB_SPARK_JARS=$spark_jars DISTRIB_SPARK_CONNECTOR=$spark_connector
  fi
  build release distrib_interop || return
  if [[ $* == */s3_job.py* ]]; then
    build release click_convert click_train fashion_mnist_convert fashion_mnist_train distrib_soak_counting || return
  fi
  for script in "$@"; do
    case $script in */torch_*) python=$torch_python ;; */s3*.py) python=$s3_python ;; *) python=$tensorflow_python ;; esac
    counted "$script" env TF_CPP_MIN_LOG_LEVEL=3 "$python" -B "$script" build/release/tests/interop
  done
  [ "$failed" -eq 0 ]
}

# Exit code 77: skipped, and why. Says itself how it goes.
engine() {  # SCRIPT
  local log=$logs/engine-$(basename "$1").log code
  mkdir -p "$logs"
  echo "$1"
  "$1" build/release </dev/null 2>&1 | tee "$log" | sed -u 's/^/  /'
  code=${PIPESTATUS[0]}
  case $code in
    0) passed=$((passed + 1)) ;;
    77) skipped=$(grep -aE '(^|: )skipped: ' "$log" | tail -n 1); skipped=${skipped:-skipped, without a reason} ;;
    *) failed=$((failed + 1)); return 1 ;;
  esac
}

conan() {
  local venv=${XDG_CACHE_HOME:-$HOME/.cache}/distrib/conan
  if [ ! -x "$venv/bin/conan" ]; then
    phase "create a Python environment" python3 -m venv --clear "$venv" &&
      phase "install conan" "$venv/bin/pip" install --quiet --disable-pip-version-check 'conan>=2,<3' || return
  fi
  counted "Conan recipe" tests/consumer/conan.sh "$venv/bin/conan" "$PWD/build/conan"
}

# The default tests build two of them.
consumers() { phase "configure release" cmake --preset release && run_ctest packages; }

# The default tests build consumers with g++.
# Real jobs on emulated processors, and the products and functions that they compute with.
older_processors() {
  build release click_convert click_train fashion_mnist_convert fashion_mnist_train distrib_command || return
  local processor failed_before=$failed
  for processor in Nehalem Haswell; do
    counted "same bits on $processor" tests/tensor/same_bits.sh g++ --run "qemu-x86_64 -cpu $processor" || :
  done
  counted "same bits: jobs" env -C build/release/tests "$PWD/tests/integration/same_bits.sh" --emulated || :
  [ "$failed" -eq "$failed_before" ]
}

clang_consumers() {
  phase "configure release" cmake --preset release || return
  local way
  for way in find_package plugins; do
    counted "consumer $way" tests/consumer/run.sh $way clang++-19 "$PWD/build/clang_consumers/$way" "$PWD/build/release" || return
  done
}

# As root.
packages() {
  part "all ways to consume the library" consumers
  part "the guide, typed on a bare Debian 12" counted "docs/guide/use.md" tests/consumer/debian.sh bookworm \
    tests/consumer/typed.sh /typed
  part "clang" clang_consumers
  part "Conan" conan
  part "Debian 13" counted "consumers on Debian 13" tests/consumer/debian.sh trixie tests/consumer/suite.sh
  part "Debian's newest" counted "consumers on Debian sid" tests/consumer/debian.sh sid tests/consumer/suite.sh
  part "older processors" older_processors
}

# Inputs that end a target stay in build/fuzz/findings, those that reach something new in build/fuzz/corpus.
fuzz() {  # TARGET SECONDS
  local new=build/fuzz/corpus/$1 findings=build/fuzz/findings/$1
  mkdir -p "$new" "$findings"
  # The system's protobuf is not instrumented, so its containers look damaged to the sanitizer.
  if counted "fuzz $1 for $2 s" env ASAN_OPTIONS=detect_container_overflow=0 "build/fuzz/tests/fuzz/distrib_fuzz_$1" \
      -max_total_time="$2" -timeout=10 -rss_limit_mb=2048 -max_len=4096 -print_final_stats=1 \
      -artifact_prefix="$findings/" "$new" "tests/fuzz/corpus/$1"; then
    return 0
  fi
  echo "  findings: $findings"
  return 1
}

# Says every few seconds how it stands.
soak() {  # SECONDS
  build release distrib_soak_tests || return
  if ! DISTRIB_SOAK_SECONDS=$1 build/release/tests/distrib_soak_tests "[soak]"; then
    failed=$((failed + 1))
    return 1
  fi
  passed=$((passed + 1))
}

# Says of each job how it ended.
jobs_of() {  # kills|tables|serving|local_steps|wire_format OPTION...
  build release click_convert click_train click_serve fashion_mnist_convert fashion_mnist_train \
    distrib_soak_counting distrib_command || return
  if ! python3 -B "tests/soak/$1.py" build/release "${@:2}"; then
    failed=$((failed + 1))
    return 1
  fi
  passed=$((passed + 1))
}

torch_units() { build torch distrib_libtorch_tests && run_ctest torch; }

# Says of each job which hash it has.
torch_jobs() {  # OPTION...
  build torch distrib_torch || return
  if ! tests/libtorch/jobs.py build/torch "$@"; then
    failed=$((failed + 1))
    return 1
  fi
  passed=$((passed + 1))
}

# Says every 1000 seeds how it stands.
simulation() {  # FROM COUNT PROGRAM TAG
  build release "$3" || return
  if ! DISTRIB_SEED_FROM=$1 DISTRIB_SEED_COUNT=$2 "build/release/tests/$3" "$4"; then
    failed=$((failed + 1))
    return 1
  fi
  passed=$((passed + 1))
}

status_page() {
  build release distrib_command fashion_mnist_convert fashion_mnist_train &&
    counted "tests/site/status_page.py" tests/site/status_page.py build/release
}

# Says of each mistake which test noticed it.
mutations() {  # OPTION... NAME...
  if ! python3 -B tests/mutations.py build "$@"; then
    failed=$((failed + 1))
    return 1
  fi
  passed=$((passed + 1))
}

whole_number() {  # WHO VALUE OF-WHAT
  case $2 in '' | *[!0-9]*) echo "error: $1 takes a number of $3, not '$2'" >&2; exit 64 ;; esac
}

case ${1:-} in
  "")
    ensure_packages build tests
    part "g++ release: all tests" release
    [ -z "$summary" ] || echo "$summary"
    echo "left out: the door to LibTorch (tests/run.sh torch)"
    ;;
  all)
    ensure_packages build tests clang
    part "g++ release: all tests" release
    part "clang: wrong programs, same bits" wrong_programs
    part "clang: each header alone" headers
    part "clang, address and undefined: all tests" address
    part "clang, threads" thread
    part "budgets" budgets
    ;;
  fuzz)
    whole_number fuzz "${2:-60}" seconds
    ensure_packages build tests clang
    build fuzz distrib_fuzzers || exit
    for corpus in tests/fuzz/corpus/*/; do
      part "fuzz $(basename "$corpus")" fuzz "$(basename "$corpus")" "${2:-60}"
    done
    ;;
  soak)
    case ${2:-} in kills | tables | serving | local_steps | wire_format) ;; *) whole_number soak "${2:-60}" seconds ;; esac
    ensure_packages build tests soak
    case ${2:-} in
      kills | tables | serving | local_steps | wire_format) part "$2" jobs_of "$2" "${@:3}" ;;
      *)
        part "soak" soak "${2:-60}"
        part "kills" jobs_of kills --seconds "${2:-60}"
        part "tables" jobs_of tables
        part "serving" jobs_of serving --seconds "${2:-60}"
        part "local steps" jobs_of local_steps
        part "wire format" jobs_of wire_format
        ;;
    esac
    ;;
  simulation)
    from=0 count=
    while [ $# -gt 1 ]; do
      case $2 in
        --from) from=${3:-} ;;
        --count) count=${3:-} ;;
        *) echo "error: simulation takes --from A and --count N, not '$2'" >&2; exit 64 ;;
      esac
      whole_number "$2" "${3:-}" seeds
      shift 2
    done
    ensure_packages build tests
    part "simulation: cores" simulation "$from" "${count:-10000}" distrib_simulation_tests "[seeds]"
    part "simulation: trainers" simulation "$from" "${count:-1000}" distrib_sim_tests "[trainers]"
    part "simulation: other trainers" simulation "$from" "${count:-1000}" distrib_simulation_tests "[trainers]"
    ;;
  mutations)
    ensure_packages build tests
    part "mutations" mutations "${@:2}"
    ;;
  packages)
    kinds=(values bits pages rooms job)
    case ${2:-} in
      '') ensure_packages build tests clang packages; packages ;;
      aarch64) ensure_packages build tests clang aarch64; [ $# -eq 2 ] || kinds=("${@:3}") ;;
      *) echo "error: packages takes aarch64 or nothing, not '$2'" >&2; exit 64 ;;
    esac
    for kind in "${kinds[@]}"; do part "aarch64: $kind" counted "aarch64: $kind" tests/consumer/aarch64.sh "$kind"; done
    ;;
  interop)
    scripts=()
    for name in "${@:2}"; do
      found=$(compgen -G "tests/interop/$name*.py") || { echo "error: there is no tests/interop/$name*.py" >&2; exit 64; }
      mapfile -t -O ${#scripts[@]} scripts <<<"$found"
    done
    [ $# -gt 1 ] || mapfile -t scripts < <(compgen -G 'tests/interop/*.py' | grep -v /torch_)  # PyTorch is 6 GB
    ensure_packages build tests interop
    part "interop" interop "${scripts[@]}"
    ;;
  torch)
    case ${2:-} in '' | units | jobs) ;; *) echo "error: torch takes units, jobs or nothing, not '$2'" >&2; exit 64 ;; esac
    ensure_packages build tests torch
    [ "${2:-}" = jobs ] || part "the door to LibTorch: units" torch_units
    [ "${2:-}" = units ] || part "the door to LibTorch: jobs" torch_jobs "${@:3}"
    ;;
  site)
    ensure_packages build example site browser
    part "the site" counted "docs/site.sh" docs/site.sh
    for script in tests/site/search.py tests/site/phrases.py tests/site/pages.py; do part "$script" counted "$script" "$script"; done
    part "the status page" status_page
    ;;
  engines)
    scripts=()
    for name in "${@:2}"; do
      script=$(compgen -G "tests/engines/$name.*") || { echo "error: there is no tests/engines/$name.*" >&2; exit 64; }
      scripts+=("$script")
    done
    [ $# -gt 1 ] || scripts=(tests/engines/*.*)
    ensure_packages build tests engines
    build release fashion_mnist_convert fashion_mnist_train distrib_command || exit
    if [[ ${scripts[*]} == */kubernetes.py* ]]; then
      ensure_versitygw || exit
      export DISTRIB_VERSITYGW=$versitygw
    fi
    if [[ ${scripts[*]} == *kafka* ]]; then build release distrib_kafka_counting || exit; fi
    for script in "${scripts[@]}"; do part "$script" engine "$script"; done
    ;;
  *)
    sed -n '3,40s/^# //p' "$0" >&2
    exit 64
    ;;
esac
table
echo
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
