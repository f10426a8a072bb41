// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fcntl.h>
#include <malloc.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

// What the programs of this folder share: the command line, the load that a client puts on a server, the line of JSON
// that reports it, and the counting of allocations. Each process is one server or one client: ROLE [--OPTION VALUE]...

/// The command line, the same for every program. A program ignores the options that it does not need.
struct Options {
  std::string role;             ///< serve, load, or idle (connect and stay silent); some programs have more roles.
  std::string style;            ///< Of the gRPC programs: cq, callback or generic.
  /// echo: request and reply have `bytes` bytes; push: the reply has only 16; pull: the request has only 16; make: as
  /// pull (ours only).
  std::string method = "echo";
  /// A file of 16 bytes, mapped by both ends, for counting allocations. Empty: not counted.
  std::string counters;
  std::string tls;  ///< A directory with tls.crt, tls.key and ca.crt: both ends use mutual TLS. Empty: plain.
  std::uint16_t port = 0;
  std::uint32_t bytes = 16;
  std::size_t keys = 0;  ///< Keys of each request to a table; 0: no table. For programs that have tables.
  bool numbered = false;  ///< True if the keys are 0, 1, 2 ...; false: any 64 bits.
  std::size_t connections = 1;
  std::size_t in_flight = 1;  ///< Calls in flight on each connection.
  std::size_t threads = 1;  ///< Threads of the server.
  /// Most calls in flight on a connection that the server allows, if it has such a limit.
  std::size_t max_calls = 1024;
  std::size_t chunks = 0;  ///< 1: the server handles the body of a push chunk by chunk.
  std::size_t budget = 0;  ///< Memory in MiB of what a worker keeps to send again; 0: its last contribution only.
  /// In MiB: measuring begins when the workers have pushed twice as much each (on average).
  std::size_t warm_budget = 0;
  std::size_t apply = 0;  ///< 1: the server adds the floats of each push to an array of its own.
  int server = 0;  ///< The server's process id, for its CPU time; 0: the CPU time of this process is used.
  double warm = 0.1;  ///< Seconds of load before measuring begins.
  double seconds = 0.35;  ///< Seconds that are measured.
  bool latency = false;  ///< Report percentiles; only with one call in flight on one connection.
  bool used = false;  ///< For idle: each connection makes `in_flight` calls first.
  bool metrics = false;  ///< Both ends count their calls.

  Options(int argc, char** argv) {
    if (argc < 2) usage("a role is missing");
    role = argv[1];
    for (int i = 2; i < argc; ++i) {
      const std::string_view name = argv[i];
      if (name == "--latency" || name == "--used" || name == "--metrics" || name == "--numbered") {
        (name == "--latency" ? latency : name == "--used" ? used : name == "--metrics" ? metrics : numbered) = true;
        continue;
      }
      if (i + 1 == argc) usage("a value is missing");
      const char* const value = argv[++i];
      bool known = false;
      const auto take = [&](std::string_view option, auto& to) {
        if (name != option) return;
        known = true;
        if constexpr (std::is_same_v<decltype(to), std::string&>) to = value;
        else to = static_cast<std::remove_reference_t<decltype(to)>>(std::atof(value));
      };
      take("--style", style);
      take("--method", method);
      take("--chunks", chunks);
      take("--apply", apply);
      take("--budget", budget);
      take("--warm_budget", warm_budget);
      take("--counters", counters);
      take("--tls", tls);
      take("--port", port);
      take("--bytes", bytes);
      take("--keys", keys);
      take("--connections", connections);
      take("--in_flight", in_flight);
      take("--threads", threads);
      take("--max_calls", max_calls);
      take("--server", server);
      take("--warm", warm);
      take("--seconds", seconds);
      if (!known) usage(argv[i - 1]);
    }
    ::rlimit files{};
    ::getrlimit(RLIMIT_NOFILE, &files);
    files.rlim_cur = files.rlim_max;
    ::setrlimit(RLIMIT_NOFILE, &files);
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);  // the process ends with the script that started it
    ::signal(SIGPIPE, SIG_IGN);
  }

 private:
  [[noreturn]] static void usage(const char* what) {
    std::fprintf(stderr, "error: %s\nusage: ROLE [--OPTION VALUE]...; see benchmarks/rpc/load.hpp\n", what);
    std::exit(64);
  }
};

[[noreturn]] inline void fail(const std::string& what) {
  std::fprintf(stderr, "error: %s\n", what.c_str());
  std::_Exit(70);
}

/// Prints the line that tells the script that the server is ready.
inline void tell_port(int port) {
  std::printf("{\"port\":%d,\"pid\":%d}\n", port, static_cast<int>(::getpid()));
  std::fflush(stdout);
}

/// Prints the line that tells the script that a client of the role idle is ready.
inline void tell_connected(std::size_t connections) {
  std::printf("{\"connections\":%zu}\n", connections);
  std::fflush(stdout);
}

inline constexpr std::uint32_t small_bytes = 16;  ///< Size of a push's answer and of a pull's request.
inline constexpr std::size_t block_bytes = std::size_t{16} << 20;

/// The bytes that are pushed and pulled: one block that lives until the process ends.
inline auto block() -> std::span<const char> {
  static const std::vector<char> bytes = [] {
    std::vector<char> filled(block_bytes);
    for (std::size_t i = 0; i < filled.size(); ++i) filled[i] = static_cast<char>(i * 31 >> 3);
    return filled;
  }();
  return bytes;
}

/// Returns the body of a request of these options. A pull and a make begin with the size that they ask for.
inline auto request_bytes(const Options& options) -> std::vector<char> {
  const bool pulls = options.method == "pull" || options.method == "make";
  const std::uint32_t size = pulls ? small_bytes : options.bytes;
  std::vector<char> bytes(block().begin(), block().begin() + size);
  if (pulls) std::memcpy(bytes.data(), &options.bytes, sizeof options.bytes);
  return bytes;
}

/// Returns the size of the answer to such a request, in bytes.
inline auto reply_size(const Options& options) -> std::uint32_t {
  return options.method == "push" ? small_bytes : options.bytes;
}

// --- allocations ---

/// The contents of the file `--counters`.
struct Counters {
  std::atomic<std::uint64_t> server, client;
};
inline std::atomic<std::uint64_t>* allocations = nullptr;  ///< The counter of this process. Null: nothing is counted.

inline auto map_counters(const Options& options) -> Counters* {
  if (options.counters.empty()) return nullptr;
  const int file = ::open(options.counters.c_str(), O_RDWR | O_CLOEXEC);
  void* const memory = ::mmap(nullptr, sizeof(Counters), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (memory == MAP_FAILED) fail("cannot map " + options.counters);
  ::close(file);
  auto* const counters = static_cast<Counters*>(memory);
  allocations = options.role == "serve" ? &counters->server : &counters->client;
  return counters;
}

// Counts all allocations of the process, also those of operator new and of libraries: glibc lets a program replace
// these functions.
extern "C" {
void* __libc_malloc(std::size_t);
void* __libc_calloc(std::size_t, std::size_t);
void* __libc_realloc(void*, std::size_t);
void* __libc_memalign(std::size_t, std::size_t);

inline void count_allocation() {
  if (allocations != nullptr) allocations->fetch_add(1, std::memory_order_relaxed);
}
void* malloc(std::size_t size) noexcept {
  count_allocation();
  return __libc_malloc(size);
}
void* calloc(std::size_t count, std::size_t size) noexcept {
  count_allocation();
  return __libc_calloc(count, size);
}
void* realloc(void* old, std::size_t size) noexcept {
  count_allocation();
  return __libc_realloc(old, size);
}
void* aligned_alloc(std::size_t alignment, std::size_t size) noexcept {
  count_allocation();
  return __libc_memalign(alignment, size);
}
void* memalign(std::size_t alignment, std::size_t size) noexcept {
  count_allocation();
  return __libc_memalign(alignment, size);
}
int posix_memalign(void** memory, std::size_t alignment, std::size_t size) noexcept {
  count_allocation();
  *memory = __libc_memalign(alignment, size);
  return *memory == nullptr ? ENOMEM : 0;
}
}

// --- load ---

/// Counts the calls of a client, prints the result and ends the process. Call `start` when the client is connected, and
/// `completed` at the end of every call, both on one thread. A timer's signal marks the begin and the end of the
/// measured time, so that no call has to read a clock. CPU times are of all threads of both processes in that time.
class Load {
 public:
  explicit Load(const Options& options)
      : options_{options}, counters_{map_counters(options)}, server_clock_{CLOCK_PROCESS_CPUTIME_ID} {
    if (options.server != 0 && ::clock_getcpuclockid(options.server, &server_clock_) != 0)
      fail("--server is not the id of a process");
    if (options.latency) latencies_.reserve(1U << 20);
  }

  void start() {
    ::signal(SIGALRM, [](int) { alarm_ = 1; });
    const ::itimerval times{to_time(options_.seconds), to_time(options_.warm)};
    ::setitimer(ITIMER_REAL, &times, nullptr);
    last_ = Clock::now();
  }

  void completed() {
    ++calls_;
    if (options_.latency) {
      const auto now = Clock::now();
      latencies_.push_back(std::chrono::duration<float, std::micro>(now - last_).count());
      last_ = now;
    }
    if (alarm_ != 0) [[unlikely]]
      turn();
  }

 private:
  using Clock = std::chrono::steady_clock;

  struct Snapshot {
    std::uint64_t calls = 0, allocations = 0;
    double time = 0, client_cpu = 0, server_cpu = 0;
  };

  static auto to_time(double seconds) -> ::timeval {
    return {static_cast<::time_t>(seconds), static_cast<::suseconds_t>((seconds - std::floor(seconds)) * 1e6)};
  }

  static auto seconds_of(::clockid_t clock) -> double {
    ::timespec time{};
    ::clock_gettime(clock, &time);
    return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
  }

  void turn() {
    alarm_ = 0;
    const Snapshot now{calls_, counters_ != nullptr ? counters_->client + counters_->server : 0,
                       seconds_of(CLOCK_MONOTONIC), seconds_of(CLOCK_PROCESS_CPUTIME_ID), seconds_of(server_clock_)};
    if (begin_.time != 0) finish(now);
    begin_ = now;
    latencies_.clear();
  }

  [[noreturn]] void finish(const Snapshot& end) {
    const auto calls = static_cast<double>(end.calls - begin_.calls);
    const double seconds = end.time - begin_.time;
    std::printf("{\"calls\":%.0f,\"seconds\":%.6f,\"rate\":%.1f,\"client_cpu\":%.6f,\"server_cpu\":%.6f", calls,
                seconds, calls / seconds, end.client_cpu - begin_.client_cpu, end.server_cpu - begin_.server_cpu);
    if (counters_ != nullptr)
      std::printf(",\"allocations\":%.4f", static_cast<double>(end.allocations - begin_.allocations) / calls);
    if (!latencies_.empty()) {
      std::sort(latencies_.begin(), latencies_.end());
      std::printf(",\"p50\":%.2f,\"p99\":%.2f,\"p999\":%.2f", percentile(0.5), percentile(0.99), percentile(0.999));
    }
    std::printf("}\n");
    std::fflush(stdout);
    std::_Exit(0);
  }

  [[nodiscard]] auto percentile(double part) const -> double {
    return static_cast<double>(latencies_[static_cast<std::size_t>(part * static_cast<double>(latencies_.size() - 1))]);
  }

  static inline volatile std::sig_atomic_t alarm_ = 0;

  const Options& options_;
  Counters* counters_;
  ::clockid_t server_clock_;
  std::uint64_t calls_ = 0;
  Snapshot begin_;
  Clock::time_point last_;
  std::vector<float> latencies_;  // microseconds
};
