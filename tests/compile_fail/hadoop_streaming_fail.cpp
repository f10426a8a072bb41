// error: a task of Streaming is a Mapper, .* and nothing else
// SPDX-License-Identifier: Apache-2.0
#include <distrib/hadoop/run_streaming.hpp>

struct Words {
#ifdef DISTRIB_COMPILE_FAIL
  auto partition(distrib::ByteView, std::uint32_t) -> std::uint32_t { return 0; }
#else
  void map(distrib::ByteView, distrib::ByteView, distrib::hadoop::TaskContext&) {}
#endif
};

auto task() -> int { return distrib::hadoop::run_streaming(Words{}); }
