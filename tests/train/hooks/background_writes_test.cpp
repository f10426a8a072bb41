// SPDX-License-Identifier: Apache-2.0
#include <distrib/train/hooks/background_writes.hpp>

#include <distrib/core/bytes.hpp>
#include <distrib/net/error.hpp>

#include "support/catch.hpp"

#include <chrono>
#include <cstddef>
#include <future>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

using distrib::BackgroundWrites;

namespace {

auto content_of(std::string_view text) -> std::vector<std::byte> {
  const distrib::ByteView view = distrib::as_bytes(text);
  return {view.begin(), view.end()};
}

/// A place that writes down what it is given. The first write waits until it may go on.
struct SlowPlace {
  auto write() -> BackgroundWrites::Write {
    return [this](const std::string& name, distrib::ByteView content, distrib::Error& error) {
      if (written.empty()) {
        begun.set_value();
        go_on.get_future().wait();
      }
      written.push_back(name + "=" + std::string{distrib::as_text(content)});
      if (failures-- > 0) error = {code, "over there"};
    };
  }
  std::promise<void> begun;
  std::promise<void> go_on;
  std::vector<std::string> written;
  int failures = 0;
  std::error_code code = std::make_error_code(std::errc::io_error);
};

constexpr std::chrono::minutes patience_of_writes{2};

}  // namespace

TEST_CASE("BackgroundWrites: of what waits only the newest content is written", "[train]") {
  SlowPlace place;
  BackgroundWrites writes{"a place", place.write()};
  writes.put("a", content_of("1"));
  place.begun.get_future().wait();
  writes.put("a", content_of("2"));
  writes.put("b", content_of("3"));
  writes.put("a", content_of("4"));
  CHECK_FALSE(writes.finish(std::chrono::milliseconds{20}));
  place.go_on.set_value();
  CHECK(writes.finish(patience_of_writes));
  CHECK(place.written == std::vector<std::string>{"a=1", "a=4", "b=3"});
}

TEST_CASE("BackgroundWrites: what is refused is dropped and reported once; what may pass is tried again", "[train]") {
  SlowPlace place;
  place.go_on.set_value();
  place.failures = 1;
  BackgroundWrites writes{"a place", place.write()};
  writes.put("a", content_of("1"));
  CHECK_FALSE(writes.finish(patience_of_writes));
  const auto told = writes.report();
  REQUIRE(told);
  CHECK_THAT(told->text, ContainsSubstring("a place"));
  CHECK(place.written == std::vector<std::string>{"a=1"});

  place.failures = 2;
  place.code = distrib::net_errc::refused;
  writes.put("a", content_of("2"));
  CHECK(writes.finish(patience_of_writes));
  CHECK(place.written == std::vector<std::string>{"a=1", "a=2", "a=2", "a=2"});
}
