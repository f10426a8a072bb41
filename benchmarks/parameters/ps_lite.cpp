// SPDX-License-Identifier: Apache-2.0
// dmlc's ps-lite over its ZeroMQ transport. The handler of its server changes its floats with a plain loop compiled
// with -O3 -march=native, and answers pulls with the live buffer, which ps-lite sends without a copy. A push with a
// pull is one request. Rows are in one array, and a std::unordered_map has their positions. A worker cannot join a
// ps-lite cluster after its start, so each `load` starts its own cluster, and another one if the first hangs (3 at
// most); `serve` only prints its line and waits.
#include "values.hpp"

#include <ps/ps.h>

#include <sys/types.h>
#include <sys/wait.h>

#include <netinet/in.h>
#include <sys/socket.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <semaphore>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

namespace {

using Floats = ps::SArray<float>;

void join_cluster(const char* role, int root_port) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  ::setenv("DMLC_ROLE", role, 1);
  ::setenv("DMLC_NUM_SERVER", "1", 1);
  ::setenv("DMLC_NUM_WORKER", "1", 1);
  ::setenv("DMLC_PS_ROOT_URI", "127.0.0.1", 1);
  ::setenv("DMLC_PS_ROOT_PORT", std::to_string(root_port).c_str(), 1);
  ::setenv("DMLC_NODE_HOST", "127.0.0.1", 1);
  ps::Start(0);
}

[[noreturn]] void wait_for_ever() {
  while (true) ::pause();
}

void apply(float* __restrict to, const float* __restrict gradient, std::size_t elements) {
  for (std::size_t i = 0; i < elements; ++i) to[i] -= learning_rate * gradient[i];
}

/// Handles the requests for dense variables.
class Store {
 public:
  explicit Store(std::size_t bytes) : elements_{bytes / sizeof(float)} {}

  void operator()(const ps::KVMeta& meta, const ps::KVPairs<float>& request, ps::KVServer<float>* server) {
    Floats& values = values_.try_emplace(request.keys[0], elements_).first->second;
    if (meta.push) {
      if (request.vals.size() != elements_) fail("a gradient has the wrong size");
      apply(values.data(), request.vals.data(), elements_);
    }
    ps::KVPairs<float> reply;
    if (meta.pull) {
      reply.keys = request.keys;
      reply.vals = values;
    }
    server->Response(meta, reply);
  }

 private:
  std::size_t elements_;
  std::unordered_map<ps::Key, Floats> values_;
};

/// Handles the requests for rows. A new row is zeros.
class RowStore {
 public:
  void operator()(const ps::KVMeta& meta, const ps::KVPairs<float>& request, ps::KVServer<float>* server) {
    const std::size_t count = request.keys.size();
    if (meta.push) {
      if (request.vals.size() != count * row_floats) fail("the gradients have the wrong size");
      for (std::size_t n = 0; n < count; ++n) {
        const auto [found, is_new] =
            numbers_.try_emplace(request.keys.data()[n], static_cast<std::uint32_t>(numbers_.size()));
        if (is_new) floats_.resize(floats_.size() + row_floats);
        apply(&floats_[found->second * row_floats], request.vals.data() + n * row_floats, row_floats);
      }
    }
    ps::KVPairs<float> reply;
    if (meta.pull) {
      reply.keys = request.keys;
      reply.vals = Floats(count * row_floats);
      for (std::size_t n = 0; n < count; ++n)
        if (const auto found = numbers_.find(request.keys.data()[n]); found != numbers_.end())
          std::memcpy(reply.vals.data() + n * row_floats, &floats_[found->second * row_floats], row_bytes);
    }
    server->Response(meta, reply);
  }

 private:
  std::unordered_map<ps::Key, std::uint32_t> numbers_;
  std::vector<float> floats_;
};

/// Keeps one request in flight in each slot. This thread sends the requests; a thread of ps-lite receives the answers.
class Worker {
 public:
  explicit Worker(const Options& options)
      : options_{options},
        load_{options},
        elements_{options.keys == 0 ? options.bytes / sizeof(float) : options.keys * row_floats},
        pulled_(options.in_flight, Floats(elements_)) {
    if (options.keys == 0) keys_.emplace_back(1);  // one request with one key, 0
    else
      for (const std::vector<std::uint64_t>& keys : request_keys(options.keys)) {
        keys_.emplace_back();
        keys_.back().CopyFrom(keys.data(), keys.size());
      }
    const Floats before(elements_), after(elements_);
    pull_into(before);
    const auto made = gradient(elements_ * sizeof(float), view(before));
    gradient_.CopyFrom(made.data(), made.size());
    for (const Keys& keys : keys_) worker_.Wait(worker_.ZPush(keys, gradient_));  // after this the server has all rows
    keys_.resize(std::min(keys_.size(), request_count));
    pull_into(before);
    worker_.Wait(worker_.ZPush(keys_.front(), gradient_));
    pull_into(after);
    check_applied(view(before), made, view(after));
  }

  [[noreturn]] void run() {
    load_.start();
    for (std::size_t slot = 0;; slot = (slot + 1) % pulled_.size()) {
      free_.acquire();
      next_ = (next_ + 1) % keys_.size();
      begin(keys_[next_], pulled_[slot]);
    }
  }

 private:
  using Keys = ps::SArray<ps::Key>;

  static auto view(const Floats& floats) -> std::span<const float> { return {floats.data(), floats.size()}; }

  void pull_into(Floats to) { worker_.Wait(worker_.ZPull(keys_.front(), &to)); }

  void begin(const Keys& keys, Floats& values) {
    const auto ended = [this] {
      load_.completed();
      free_.release();
    };
    if (options_.method == "push") worker_.ZPush(keys, gradient_, {}, 0, ended);
    else if (options_.method == "pull") worker_.ZPull(keys, &values, nullptr, 0, ended);
    else worker_.ZPushPull(keys, gradient_, &values, nullptr, 0, ended);
  }

  const Options& options_;
  Load load_;
  std::size_t elements_;
  std::vector<Keys> keys_;  // the keys of each request
  std::size_t next_ = 0;
  Floats gradient_;
  std::vector<Floats> pulled_;
  std::counting_semaphore<> free_{static_cast<std::ptrdiff_t>(options_.in_flight)};
  ps::KVWorker<float> worker_{0, 0};
};

auto free_port() -> int {
  ::sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  ::socklen_t size = sizeof address;
  const int socket = ::socket(AF_INET, SOCK_STREAM, 0);
  if (::bind(socket, reinterpret_cast<::sockaddr*>(&address), size) != 0 ||
      ::getsockname(socket, reinterpret_cast<::sockaddr*>(&address), &size) != 0)
    fail("no free port");
  ::close(socket);
  return ntohs(address.sin_port);
}

auto start_child(auto body) -> ::pid_t {
  const ::pid_t child = ::fork();
  if (child == 0) body();
  if (child < 0) fail("cannot start a process");
  return child;
}

/// Starts scheduler, server and worker, and waits for the worker. True if the worker has measured and printed its line.
auto run_cluster(Options options) -> bool {
  const int port = free_port();
  const ::pid_t scheduler = start_child([port] {
    join_cluster("scheduler", port);
    wait_for_ever();
  });
  options.server = start_child([port, &options] {
    join_cluster("server", port);
    ps::KVServer<float> server{0};
    if (options.keys == 0) server.set_request_handle(Store{options.bytes});
    else server.set_request_handle(RowStore{});
    wait_for_ever();
  });
  const ::pid_t worker = start_child([port, &options] {
    join_cluster("worker", port);
    Worker{options}.run();
  });
  int status = 0;
  ::alarm(static_cast<unsigned>(10 + options.warm + options.seconds));
  const bool ended = ::waitpid(worker, &status, 0) == worker;  // false: the alarm has interrupted the wait
  ::alarm(0);
  for (const ::pid_t child : std::array{worker, options.server, scheduler}) {
    if (child == worker && ended) continue;
    ::kill(child, SIGKILL);
    ::waitpid(child, nullptr, 0);
  }
  return ended && status == 0;
}

}  // namespace

auto main(int argc, char** argv) -> int {
  const Options options{argc, argv};
  if (options.role == "serve") {
    tell_port(0);
    wait_for_ever();
  }
  struct ::sigaction interrupt{};
  interrupt.sa_handler = [](int) {};
  ::sigaction(SIGALRM, &interrupt, nullptr);
  for (int i = 0; i < 3; ++i)
    if (run_cluster(options)) return 0;
  fail("three clusters in a row have hung");
}
