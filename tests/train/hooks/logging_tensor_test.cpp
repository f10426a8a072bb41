// SPDX-License-Identifier: Apache-2.0
#include <distrib/train/hooks/logging_tensor.hpp>

#include "support/catch.hpp"
#include "support/temp_directory.hpp"
#include "train/line_job.hpp"

#include <cstdio>
#include <fstream>
#include <limits>
#include <memory>
#include <string>
#include <vector>

using distrib::LoggingTensor;
using distrib::LoggingTensorOptions;

namespace {

using File = std::unique_ptr<std::FILE, int (*)(std::FILE*)>;

auto open(const std::string& path) -> File { return {std::fopen(path.c_str(), "wb"), std::fclose}; }

auto lines_of(const std::string& path) -> std::vector<std::string> {
  std::ifstream file{path};
  std::vector<std::string> lines;
  for (std::string line; std::getline(file, line);) lines.push_back(line);
  return lines;
}

auto code_of(const LoggingTensorOptions& options) -> std::error_code {
  std::error_code ec;
  options.check(ec);
  return ec;
}

}  // namespace

TEST_CASE("LoggingTensor: prints the first contribution of its process, then every n-th, and at the end", "[train]") {
  const support::TempDirectory directory;
  const std::string path = (directory / "log").string();
  const auto data = line_model::write(directory.path());
  {
    const File file = open(path);
    auto trainer = line_job::builder(data, {.steps = 25})
                       .with_hooks(distrib::Evaluate{data.batch(50), 4},
                                   LoggingTensor{{.tensors = {"step", "bias", "weights", "evaluation/squared_error"},
                                                  .every_n_iter = 10,
                                                  .at_end = true,
                                                  .stream = file.get()}})
                       .build();
    CHECK(trainer.run() == 0);
  }
  const auto lines = lines_of(path);
  REQUIRE(lines.size() == 4);  // of three workers only the first counts
  CHECK_THAT(lines[0], Catch::Matchers::StartsWith("step = 1, bias = 0, weights = ["));
  CHECK_THAT(lines[0], Catch::Matchers::EndsWith("evaluation/squared_error = ?"));
  CHECK_THAT(lines[1], Catch::Matchers::StartsWith("step = 11, bias = 0."));
  CHECK_THAT(lines[1], Catch::Matchers::EndsWith(" sec)"));
  CHECK_THAT(lines[2], Catch::Matchers::StartsWith("step = 21, "));
  CHECK(lines[2].find('?') == std::string::npos);
  CHECK_THAT(lines[3], Catch::Matchers::StartsWith("step = 25, "));
}

TEST_CASE("LoggingTensor: of a long variable the first elements are printed", "[train]") {
  const support::TempDirectory directory;
  const std::string path = (directory / "log").string();
  distrib::RuntimeValues values{distrib::RuntimeVariables{{{"w", distrib::DType::float32, {8}, {}}}}};
  for (int i = 0; i < 8; ++i) reinterpret_cast<float*>(values.data(0))[i] = static_cast<float>(i) / 2;
  const distrib::NamedValues named{values};
  {
    const File file = open(path);
    LoggingTensor hook{{.tensors = {"loss", "w"}, .every_n_secs = 1e6, .stream = file.get()}};
    hook.on_contribution({1, 0, 0.125F, &named});
    hook.on_contribution({2, 0, 7, &named});
  }
  CHECK(lines_of(path) == std::vector<std::string>{"loss = 0.125, w = [0 0.5 1 1.5 2 2.5 ...]"});
}

TEST_CASE("LoggingTensor: a name that the job does not have ends the job", "[train]") {
  const support::TempDirectory directory;
  auto trainer = line_job::builder(line_model::write(directory.path()))
                     .with_hooks(LoggingTensor{{.tensors = {"biass"}, .every_n_iter = 1}})
                     .build();
  CHECK_THROWS_WITH(trainer.run(), ContainsSubstring("'biass' (nearest: bias"));
}

TEST_CASE("LoggingTensor: combinations of options", "[train]") {
  CHECK_FALSE(code_of({.every_n_iter = 1}));
  CHECK_FALSE(code_of({.every_n_secs = 1}));
  CHECK_FALSE(code_of({.at_end = true}));
  CHECK_FALSE(code_of({.every_n_iter = 1, .at_end = true}));
  CHECK(code_of({}) == distrib::train_errc::bad_hook);
  CHECK(code_of({.every_n_iter = 1, .every_n_secs = 1}) == distrib::train_errc::bad_hook);
  CHECK(code_of({.every_n_iter = 1, .every_n_secs = 1, .at_end = true}) == distrib::train_errc::bad_hook);
  CHECK(code_of({.every_n_iter = 0}) == distrib::train_errc::bad_hook);
  CHECK(code_of({.every_n_secs = std::numeric_limits<double>::quiet_NaN()}) == distrib::train_errc::bad_hook);
  CHECK_THROWS_WITH(LoggingTensor{{}}, ContainsSubstring("exactly one of every_n_iter and every_n_secs"));
}
