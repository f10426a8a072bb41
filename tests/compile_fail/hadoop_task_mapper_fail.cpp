// error: a task needs a Mapper, which has map\(ByteView key, ByteView value, TaskContext&\)
// SPDX-License-Identifier: Apache-2.0
#include <distrib/hadoop/run_task.hpp>

struct Last {
#ifndef DISTRIB_COMPILE_FAIL
  void map(distrib::ByteView, distrib::ByteView, distrib::hadoop::TaskContext&) {}
#endif
  void reduce(distrib::ByteView, distrib::hadoop::Values&, distrib::hadoop::TaskContext&) {}
};

auto task() -> int { return distrib::hadoop::run_task(Last{}); }
