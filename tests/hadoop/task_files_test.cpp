// SPDX-License-Identifier: Apache-2.0
#include <distrib/hadoop/task_files.hpp>

#include "support/catch.hpp"

using distrib::Error;
using distrib::hadoop_errc;
using distrib::hadoop::TaskContext;
using distrib::hadoop::detail::LocalTaskFiles;

TEST_CASE("LocalTaskFiles: returns the paths of local files, refuses other names", "[hadoop][task_files]") {
  STATIC_REQUIRE(distrib::hadoop::TaskFiles<LocalTaskFiles>);
  STATIC_REQUIRE_FALSE(distrib::hadoop::TaskFiles<int>);
  const LocalTaskFiles files;
  const TaskContext context;
  Error error;
  CHECK(files.fetch("file:/in/a", context, error) == "/in/a");
  CHECK(files.begin("/out/b", context, error) == "/out/b");
  files.publish("/out/b", context, error);
  CHECK(!error);
  CHECK(files.fetch("hdfs://h/a", context, error).empty());
  CHECK(error.code == hadoop_errc::unsupported_path);
  error = {};
  CHECK(files.begin("s3a://h/a", context, error).empty());
  CHECK(error.code == hadoop_errc::unsupported_path);
}
