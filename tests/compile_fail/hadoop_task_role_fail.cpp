// error: an argument plays no role in a task\. A Mapper has map\(ByteView key, ByteView value, TaskContext&\)
// SPDX-License-Identifier: Apache-2.0
#include <distrib/hadoop/run_task.hpp>

struct Words {
  void map(distrib::ByteView key, distrib::ByteView value, distrib::hadoop::TaskContext& context) {
    context.emit(key, value);
  }
};

struct Last {
#ifdef DISTRIB_COMPILE_FAIL
  void reduce(distrib::ByteView, distrib::ByteView, distrib::hadoop::TaskContext&) {}
#else
  void reduce(distrib::ByteView, distrib::hadoop::Values&, distrib::hadoop::TaskContext&) {}
#endif
};

auto task() -> int { return distrib::hadoop::run_task(Words{}, Last{}); }
