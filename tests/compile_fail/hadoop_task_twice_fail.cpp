// error: two arguments play the same role in a task; pass only one of each
// SPDX-License-Identifier: Apache-2.0
#include <distrib/hadoop/run_task.hpp>

struct Words {
  void map(distrib::ByteView key, distrib::ByteView value, distrib::hadoop::TaskContext& context) {
    context.emit(key, value);
  }
};

struct ByLength {
  auto partition(distrib::ByteView key, std::uint32_t reduces) const -> std::uint32_t {
    return static_cast<std::uint32_t>(key.size()) % reduces;
  }
};

#ifdef DISTRIB_COMPILE_FAIL
auto task() -> int { return distrib::hadoop::run_task(Words{}, ByLength{}, ByLength{}); }
#else
auto task() -> int { return distrib::hadoop::run_task(Words{}, ByLength{}); }
#endif
