// SPDX-License-Identifier: Apache-2.0
#include <distrib/record/byte_sink.hpp>

#include "support/catch.hpp"

namespace {

/// The least model.
struct LeastSink {
  void write(distrib::ByteView, distrib::Error&) {}
  void close(distrib::Error&) {}
};
struct SinkWithoutClose {
  void write(distrib::ByteView, distrib::Error&) {}
};

}  // namespace

TEST_CASE("ByteSink: writes and closes", "[record]") {
  STATIC_REQUIRE(distrib::ByteSink<LeastSink>);
  STATIC_REQUIRE_FALSE(distrib::ByteSink<SinkWithoutClose>);
  STATIC_REQUIRE_FALSE(distrib::ByteSink<int>);
}
