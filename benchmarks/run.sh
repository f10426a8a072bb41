#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# usage: benchmarks/run.sh [--compiled] [NAME...]
# Installs missing packages, builds the benchmarks and runs them. Without a NAME it runs all but the last six.
# --compiled: the programs link to distrib::compiled, in build/benchmarks_compiled, instead of being header-only. NAMEs:
#   cuts       the work of a shard's thread while 512 MiB are saved under load, compared with a cut in one piece; and
#              how long pushes to such a parameter server take meanwhile; bytes of cuts that have only what changed
#   evaluator  the time of a chief with 10 evaluations by itself and by a task `evaluator`, compared with none
#   fan        a contribution at a parameter server and at a worker, by the number of workers and of servers; sums in a
#              tree and in rank order; memory of a worker; a simulated cluster of 64 servers and 1024 workers
#   files      reading files of safetensors and PyTorch, compared with pread
#   formats    gradients as bfloat16 and as int8 numbers, compared with a copy
#   guarantees pushes, pulls and the main job with and without names of contributions, buffers for sending them again,
#              and checksums; not with --compiled
#   kernels    update rules, compared with plain loops and memcpy
#   main-job   CPU time of the main job (2 parameter servers, 3 workers) outside of its model, compared with plain
#              sockets that move the same bytes and with the whole job
#   main-job-tls  the main job over mutual TLS, compared with the plain one
#   onlookers  the time of a job with 1 and 8 onlookers, compared with none; memory of its parameter server
#   parameters pushes and pulls of dense values and of rows of a table, compared with gRPC, and with ps-lite if PS_LITE
#              names a checkout of it; tables in one process, compared with maps and locks; and kernels
#   products   matrix products, compared with OpenBLAS
#   records    reading, writing, parsing, shuffling and compressing records, compared with memory, protobuf and zlib
#   rpc        calls, compared with Asio, epoll and gRPC: latency, rate, CPU, memory, allocations, cost of compiling; and
#              over TLS
#   rpc-abuse  a server under garbage, half frames, slow readers, resets, deadlines, overload and its own end
#   serving    lookups in a replica; updates of a table that is full; steps of the click job that exports
#   objects    records in an object store (versitygw), compared with local files, a stream and a limit of memory; whole
#              objects and uploads, compared with boto3, s5cmd and bare sockets; builds versitygw and s5cmd, Go modules,
#              and installs boto3 from PyPI. OBJECTS_MIB: of data (2048)
#   records-tensorflow   reading, writing and parsing records, compared with TensorFlow
#   main-job-tensorflow  the main job, asynchronous, compared with TensorFlow in as many processes and in one; gathering
#              and scattering rows of a table, compared with TensorFlow's parameter server
#   torch      modules of LibTorch, compared with a plain loop, and with three processes that add up gradients by Gloo
#   fan-cores  8, 64 and 512 workers with 4 parameter servers on 16 cores, compared with bare sockets; with a worker that
#              is stopped, and a server that is killed. With fewer cores it says so and exits with 77, before anything is
#              installed or built. FAN_CORES=N, below 16: a small form for N cores (at least 2), which shows that the
#              programs run; its figures mean nothing
# The last six run only if they are named. Those with TensorFlow install it into a cache directory; torch installs
# libtorch-dev and libgloo-dev.
# Prints a table and writes results.jsonl into the build folder. Exit code 0: all targets are met; 1: a target is
# missed; 70: a benchmark could not be measured; 77: too few cores. Do not use the machine for anything else meanwhile.
set -euo pipefail
started=$PWD
cd "$(dirname "${BASH_SOURCE[0]}")/.."
usage=$(sed -n '3,42s/^# //p' benchmarks/run.sh)

names=() build=build/benchmarks compiled=OFF
for name in "$@"; do
  case $name in
    --compiled) build=build/benchmarks_compiled compiled=ON ;;
    cuts | evaluator | fan | fan-cores | files | formats | guarantees | kernels | main-job | main-job-tensorflow | main-job-tls | \
      onlookers | parameters | objects | products | records | records-tensorflow | rpc | rpc-abuse | serving | torch)
      names+=("$name") ;;
    -h | --help) echo "$usage"; exit 0 ;;
    *) echo "error: no benchmark '$name'" >&2; echo "$usage" >&2; exit 64 ;;
  esac
done
if [ ${#names[@]} -eq 0 ]; then
  names=(cuts evaluator fan files formats kernels main-job main-job-tls onlookers parameters products records rpc rpc-abuse)
  [ $compiled = ON ] || names+=(guarantees)
fi
if [ $compiled = ON ]; then
  for name in "${names[@]}"; do
    # Its programs replace parts of the library by headers of their own, so they cannot use the compiled library.
    [ "$name" != guarantees ] || { echo "error: guarantees is header-only: leave out --compiled" >&2; exit 64; }
  done
fi
case " ${names[*]} " in *' fan-cores '*)
  cores=${FAN_CORES:-16} usable=$(nproc)
  [[ $cores =~ ^[0-9]+$ && $cores -ge 2 ]] || { echo "error: FAN_CORES must be a number of at least 2" >&2; exit 64; }
  if [ "$usable" -lt "$cores" ]; then
    echo "fan-cores needs $cores cores, and this machine has $usable that can be used: it was not measured" >&2
    exit 77
  fi
  ;;
esac
case " ${names[*]} " in
  *' kernels '*) ;;
  *' parameters '*) names+=(kernels) ;;  # row 12 of parameters
esac

logs=build/logs
. tools/setup.sh
ensure_packages build example benchmarks
targets=() components=
for name in "${names[@]}"; do
  case $name in
    cuts) targets+=(benchmark_ps_cuts_benchmark benchmark_ps_saves_benchmark benchmark_ps_links_benchmark) ;;
    evaluator) targets+=(benchmark_main_job_evaluated distrib_command fashion_mnist_convert) ;;
    onlookers) targets+=(benchmark_main_job_looked_at fashion_mnist_convert) ;;
    fan) targets+=(benchmark_ps_fan_benchmark benchmark_ps_simulate_benchmark) ;;
    fan-cores) targets+=(benchmark_ps_fan_cores_benchmark) ;;
    files) targets+=(benchmark_files_tensors_benchmark) ;;
    formats) targets+=(benchmark_ps_formats_benchmark) ;;
    objects)
      ensure_packages http
      targets+=(benchmark_objects_read_benchmark benchmark_objects_sockets_benchmark)
      components+=';http'
      ;;
    main-job-tls) targets+=(fashion_mnist_train distrib_command fashion_mnist_convert) ;;
    guarantees) targets+=(distrib_guarantees_benchmarks distrib_command fashion_mnist_convert) ;;
    kernels) targets+=(benchmark_optimizer_kernels_benchmark) ;;
    parameters)
      ensure_packages grpc ${PS_LITE:+ps_lite}
      targets+=(distrib_parameters_benchmarks benchmark_ps_embedding_table_benchmark benchmark_ps_owners_benchmark)
      ;;
    products)
      targets+=(benchmark_products_matmul_benchmark benchmark_products_openblas_train fashion_mnist_train fashion_mnist_convert)
      ;;
    rpc) ensure_packages grpc; targets+=(distrib_rpc_benchmarks) ;;
    rpc-abuse) targets+=(distrib_rpc_benchmarks) ;;
    serving)
      targets+=(benchmark_serve_lookups_benchmark benchmark_ps_row_quota_benchmark click_convert click_train distrib_command)
      ;;
    torch)
      ensure_packages torch gloo
      targets+=(distrib_torch_benchmarks distrib_command fashion_mnist_convert)
      components+=";libtorch"
      ;;
    main-job-tensorflow)
      targets+=(benchmark_main_job_train benchmark_parameters_ours distrib_command fashion_mnist_convert)
      ;;
    *) targets+=(distrib_benchmarks distrib_command fashion_mnist_convert) ;;
  esac
done

ps_lite=${PS_LITE:-}
case $ps_lite in '' | /*) ;; *) ps_lite=$started/$ps_lite ;; esac
compile() {
  cmake -S . -B $build -G Ninja -DCMAKE_BUILD_TYPE=Release -DDISTRIB_BUILD_TESTS=OFF -DDISTRIB_BUILD_DOCS=OFF \
    -DDISTRIB_INSTALL=OFF -DDISTRIB_BENCHMARKS_COMPILED=$compiled -DPS_LITE="$ps_lite" \
    "-DDISTRIB_COMPONENTS=distrib$components" &&
    cmake --build $build --target "${targets[@]}"
}
phase 'build the benchmarks' compile
case "${names[*]}" in *-tensorflow*)
  ensure_packages interop
  . tools/tensorflow.sh
  ensure_tensorflow || exit 69
  ;;
esac

case " ${names[*]} " in *' objects '*)
  . tools/s3.sh
  ensure_s3 && ensure_s5cmd || exit 69
  ;;
esac

results=$build/results.jsonl
rm -f $results
records=$build/fashion_mnist
convert() {  # converts Fashion-MNIST, if that was not done before
  local raw=${FASHION_MNIST_DIR:-/usr/share/datasets/fashion-mnist}
  case $raw in /*) ;; *) raw=$started/$raw ;; esac
  [ -e $records/complete ] || { $build/examples/fashion_mnist_convert "$raw" $records >&2 && touch $records/complete; }
}
measure() {  # NAME
  case $1 in
    cuts) python3 -B benchmarks/cuts.py $build ;;
    evaluator) convert && python3 -B benchmarks/evaluator.py $build $records ;;
    onlookers) convert && python3 -B benchmarks/onlookers.py $build $records ;;
    fan) python3 -B benchmarks/fan.py $build ;;
    fan-cores) python3 -B benchmarks/fan_cores.py --cores "$cores" $build ;;
    files) python3 -B benchmarks/files.py $build ;;
    serving) python3 -B benchmarks/serving.py $build ;;
    formats) python3 -B benchmarks/formats.py $build ;;
    objects) "$s3_python" -B benchmarks/objects.py $build "${OBJECTS_MIB:-2048}" ;;
    guarantees) convert && python3 -B benchmarks/guarantees.py $build $records ;;
    kernels) python3 -B benchmarks/kernels.py $build ;;
    products) convert && python3 -B benchmarks/products.py $build $records ;;
    records) python3 -B benchmarks/records.py $build ;;
    records-tensorflow)
      convert && "$tensorflow_python" -B benchmarks/records_tensorflow.py $build $records ;;
    parameters) python3 -B benchmarks/parameters.py $build ;;
    rpc) python3 -B benchmarks/rpc.py $build ;;
    rpc-abuse) python3 -B benchmarks/rpc_abuse.py $build ;;
    main-job) convert && python3 -B benchmarks/main_job.py $build $records ;;
    main-job-tls) convert && python3 -B benchmarks/main_job_tls.py $build $records ;;
    torch) convert && python3 -B benchmarks/torch.py $build $records ;;
    main-job-tensorflow)
      convert && "$tensorflow_python" -B benchmarks/main_job_tensorflow.py $build $records ;;
  esac
}
for name in "${names[@]}"; do
  echo "measure $name ..."
  measure "$name" >>$results || exit 70
done

echo
python3 -B benchmarks/result.py $results
