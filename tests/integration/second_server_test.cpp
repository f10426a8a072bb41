// SPDX-License-Identifier: Apache-2.0
// Two processes of one ps task and the directory of its cuts: the second process gets an error; after a kill -9 of the
// first one it can use the directory at once.
#include <distrib/net/io_pool.hpp>
#include <distrib/ps/server/server.hpp>

#include "support/catch.hpp"
#include "support/temp_directory.hpp"

#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <string>
#include <system_error>

using namespace distrib;
using namespace std::chrono_literals;

namespace {

auto options_of(const std::string& directory, std::chrono::milliseconds within) -> ServerOptions {
  ServerOptions options;
  options.directory = directory;
  options.lock_within = within;
  return options;
}

// Makes a server; returns an empty text if that worked, otherwise the error. If `told` is a descriptor, reports to it
// and then waits for ever.
auto serve(const std::string& directory, std::chrono::milliseconds within, int told = -1) -> std::string try {
  IoPool pool{2};
  const ClusterSpec cluster{{"ps", {"127.0.0.1:0"}}, {"worker", {"127.0.0.1:1"}}};
  const Server server{pool, cluster, "ps", 0, StandardUpdaters{}, options_of(directory, within)};
  if (told < 0) return {};
  static_cast<void>(::write(told, "!", 1));
  while (true) ::pause();
} catch (const std::system_error& error) {
  CHECK(error.code() == ps_errc::directory_in_use);
  return error.what();
}

// A server in a process of its own. When the constructor returns, the server exists. The process is killed when this
// object is destroyed, or when the test program ends.
class Process {
 public:
  explicit Process(const std::string& directory) {
    std::array<int, 2> pipe{};
    if (::pipe(pipe.data()) != 0) throw std::system_error{errno, std::generic_category(), "pipe"};
    std::fflush(stdout);  // otherwise both processes would write what is buffered
    id_ = ::fork();
    if (id_ == 0) {
      ::prctl(PR_SET_PDEATHSIG, SIGKILL);
      serve(directory, 0ms, pipe[1]);
      ::_exit(1);
    }
    ::close(pipe[1]);
    char said = 0;
    const bool is_there = ::read(pipe[0], &said, 1) == 1;
    ::close(pipe[0]);
    REQUIRE(is_there);
  }
  Process(const Process&) = delete;
  ~Process() { kill(); }

  void kill() {
    if (id_ > 0) ::kill(id_, SIGKILL);
    if (id_ > 0) ::waitpid(id_, nullptr, 0);
    id_ = 0;
  }
  [[nodiscard]] auto id() const -> ::pid_t { return id_; }

 private:
  ::pid_t id_ = 0;
};

}  // namespace

TEST_CASE("Server: a second process is refused with the holder of the directory, until that process is killed",
          "[integration]") {
  const support::TempDirectory folder;
  const std::string directory = folder / "checkpoint";
  for (int times = 0; times < 3; ++times) {
    Process first{directory};
    const std::string why = serve(directory, 100ms);
    CHECK_THAT(why, ContainsSubstring("/job:ps/task:0 in " + directory + ", held by process " +
                                      std::to_string(first.id()) + " on "));
    CHECK_THAT(why, ContainsSubstring("end that process, or use another directory"));
    first.kill();
    CHECK(serve(directory, 0ms).empty());  // without waiting
  }
}
