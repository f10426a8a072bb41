// SPDX-License-Identifier: Apache-2.0
// Two processes that run the same local job in one directory: the second process gets an error and ends, the first one
// is not disturbed. After the first process was killed, the next one can use the directory at once.
#include <distrib/checkpoint/bundle_reader.hpp>
#include <distrib/checkpoint/latest_checkpoint.hpp>
#include <distrib/ps/job/error.hpp>
#include <distrib/train/hooks/write_summaries.hpp>

#include "support/catch.hpp"
#include "support/temp_directory.hpp"
#include "train/line_job.hpp"

#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <set>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

using namespace distrib;

namespace {

constexpr Step second_job_steps = 60;

// Writes a byte to `tell` in step 5, then waits until it can read a byte from `go_on`.
struct WaitsInStep {
  int tell;
  int go_on;
  void on_step(const StepDone& event) const {
    char byte = '!';
    if (event.step == 5 && (::write(tell, &byte, 1) != 1 || ::read(go_on, &byte, 1) != 1)) ::_exit(98);
  }
};

// A job in a process of its own. When the constructor returns, the job is in the middle of training. The process is
// killed when this object is destroyed, or when the test program ends.
class LocalProcess {
 public:
  template <class Builder> explicit LocalProcess(const Builder& builder) {
    std::array<int, 2> told{};
    std::array<int, 2> go_on{};
    if (::pipe(told.data()) != 0 || ::pipe(go_on.data()) != 0)
      throw std::system_error{errno, std::generic_category(), "pipe"};
    std::fflush(stdout);  // otherwise both processes would write what is buffered
    id_ = ::fork();
    if (id_ == 0) {
      ::prctl(PR_SET_PDEATHSIG, SIGKILL);
      int code = 99;
      try {
        auto trainer = builder.with_hooks(WaitsInStep{told[1], go_on[0]}).build();
        code = trainer.run();
      } catch (const std::system_error&) {
      }
      ::_exit(code);
    }
    go_on_ = go_on[1];
    ::close(told[1]);
    ::close(go_on[0]);
    char said = 0;
    const bool is_there = ::read(told[0], &said, 1) == 1;
    ::close(told[0]);
    REQUIRE(is_there);
  }
  LocalProcess(const LocalProcess&) = delete;
  ~LocalProcess() {
    kill();
    ::close(go_on_);
  }

  /// Lets it train to the end; returns its exit code.
  auto join() -> int {
    int status = 0;
    REQUIRE(::write(go_on_, "!", 1) == 1);
    ::waitpid(std::exchange(id_, 0), &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }
  void kill() {
    if (id_ > 0) ::kill(id_, SIGKILL);
    if (id_ > 0) ::waitpid(std::exchange(id_, 0), nullptr, 0);
  }
  [[nodiscard]] auto id() const -> ::pid_t { return id_; }

 private:
  ::pid_t id_ = 0;
  int go_on_ = -1;
};

auto file_names(const std::filesystem::path& directory) -> std::set<std::string> {
  std::set<std::string> names;
  for (const auto& file : std::filesystem::directory_iterator{directory}) names.insert(file.path().filename().string());
  return names;
}

}  // namespace

TEST_CASE("Local job: a second process is refused with the holder of the directory, and disturbs nothing",
          "[integration]") {
  const support::TempDirectory folder;
  const std::string checkpoints = folder / "checkpoint";
  const std::string events = folder / "events";
  const auto builder =
      line_job::builder(line_model::write(folder.path()), {.steps = second_job_steps})
          .with_hooks(SaveCheckpoint{.directory = checkpoints, .every_steps = 2}, WriteSummaries{events, 1});
  auto undisturbed = line_job::builder(line_model::write(folder.path()), {.steps = second_job_steps}).build();
  REQUIRE(undisturbed.run() == 0);

  LocalProcess first{builder};
  const auto before = file_names(events);
  auto second = builder.with_seed(2).build();
  try {
    static_cast<void>(second.run());
    FAIL("two jobs in one directory");
  } catch (const std::system_error& error) {
    CHECK(error.code() == ps_errc::directory_in_use);
    CHECK_THAT(error.what(), ContainsSubstring("local job in " + checkpoints + ", held by process " +
                                               std::to_string(first.id()) + " on "));
    CHECK_THAT(error.what(), ContainsSubstring("end that process, or use another directory"));
  }
  CHECK(file_names(events) == before);
  CHECK(first.join() == 0);
  std::vector<Error> refused;
  const auto newest = newest_complete(checkpoints, refused);
  REQUIRE(newest);
  CHECK(refused.empty());
  CHECK(newest->prefix() == checkpoints + "/model.ckpt-" + std::to_string(second_job_steps));
  for (const std::string& name : file_names(checkpoints))
    if (name.ends_with(".index")) BundleReader::open(checkpoints + "/" + name.substr(0, name.size() - 6)).verify();

  auto again = builder.build();  // the file of the lock exists, but its holder has ended
  CHECK(again.run() == 0);
  CHECK(again.result().parameters_sha256 == undisturbed.result().parameters_sha256);
}

TEST_CASE("Local job: continues in the directory of a process that was killed", "[integration]") {
  const support::TempDirectory folder;
  const std::string checkpoints = folder / "checkpoint";
  const auto builder = line_job::builder(line_model::write(folder.path()), {.steps = second_job_steps})
                           .with_hooks(SaveCheckpoint{.directory = checkpoints, .every_steps = 2});
  auto undisturbed = line_job::builder(line_model::write(folder.path()), {.steps = second_job_steps}).build();
  REQUIRE(undisturbed.run() == 0);
  LocalProcess first{builder};
  first.kill();
  auto second = builder.build();
  CHECK(second.run() == 0);
  CHECK(second.result().parameters_sha256 == undisturbed.result().parameters_sha256);
}
