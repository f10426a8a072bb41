// SPDX-License-Identifier: Apache-2.0
#include <distrib/hadoop/task_files.hpp>

#include "support/catch.hpp"

#include <string>

namespace {

using distrib::Error;
using distrib::hadoop::TaskContext;

/// The smallest TaskFiles type: no default constructor, no copy, no assignment.
class LeastFiles {
 public:
  explicit LeastFiles(int) {}
  LeastFiles(LeastFiles&&) = default;
  auto operator=(LeastFiles&&) -> LeastFiles& = delete;
  auto fetch(const std::string&, const TaskContext&, Error&) -> std::string { return {}; }
  auto begin(const std::string&, const TaskContext&, Error&) -> std::string { return {}; }
  void publish(const std::string&, const TaskContext&, Error&) {}
};

struct NoPublish {
  auto fetch(const std::string&, const TaskContext&, Error&) -> std::string { return {}; }
  auto begin(const std::string&, const TaskContext&, Error&) -> std::string { return {}; }
};

}  // namespace

TEST_CASE("TaskFiles: accepts the smallest model, refuses types that lack a part", "[concepts]") {
  STATIC_REQUIRE(distrib::hadoop::TaskFiles<LeastFiles>);
  STATIC_REQUIRE_FALSE(distrib::hadoop::TaskFiles<NoPublish>);
}
