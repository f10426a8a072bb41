// SPDX-License-Identifier: Apache-2.0
#include <distrib/net/connection_core.hpp>

#include "support/catch.hpp"

#include <array>
#include <string>
#include <vector>

using distrib::ByteView;
using distrib::Instant;

namespace {

/// Sends back what it reads. As the concept demands, the output does not change while it is written.
class Echo {
 public:
  auto reads() const -> bool { return !lost_; }
  auto read_space(std::span<std::byte>) -> distrib::ReadSpace { return {reading_}; }
  void keep() {}
  auto ready() const -> bool { return false; }
  void bytes_read(std::size_t count, Instant) { next_ += distrib::as_text(std::span{reading_}.first(count)); }
  auto output() -> std::span<const ByteView> {
    if (now_.empty()) now_.swap(next_);
    view_ = distrib::as_bytes(now_);
    return {&view_, now_.empty() ? std::size_t{0} : std::size_t{1}};
  }
  void written(Instant) { now_.clear(); }
  auto wake() const -> std::optional<Instant> { return std::nullopt; }
  void woken(Instant) {}
  void lost(const std::error_code&) { lost_ = true; }
  auto finished() const -> bool { return lost_; }

 private:
  std::array<std::byte, 4> reading_{};
  std::string now_;
  std::string next_;
  ByteView view_;
  bool lost_ = false;
};
static_assert(distrib::ConnectionCore<Echo>);

template <distrib::ConnectionCore Core>
void give(Core& core, std::string_view text) {
  std::vector<std::byte> lent(distrib::least_read_bytes);
  REQUIRE(core.reads());
  const std::span<std::byte> space = core.read_space(lent).front;
  REQUIRE(text.size() <= space.size());
  std::memcpy(space.data(), text.data(), text.size());
  core.bytes_read(text.size(), Instant{});
  core.keep();
}

}  // namespace

TEST_CASE("ConnectionCore: a core can be driven without a connection", "[net]") {
  Echo core;
  CHECK(core.output().empty());
  give(core, "ab");
  const std::span<const ByteView> output = core.output();
  give(core, "cd");
  REQUIRE(output.size() == 1);
  CHECK(distrib::as_text(output[0]) == "ab");
  CHECK(distrib::as_text(core.output()[0]) == "ab");  // unchanged until it is written
  core.written(Instant{});
  CHECK(distrib::as_text(core.output()[0]) == "cd");
  CHECK(!core.finished());
  core.lost({});
  CHECK(core.finished());
}
