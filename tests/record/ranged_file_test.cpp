// SPDX-License-Identifier: Apache-2.0
#include <distrib/record/ranged_file.hpp>

#include "support/catch.hpp"

namespace {

struct NoBytes {
  auto read(std::span<std::byte>, distrib::Error&) -> std::size_t { return 0; }
};
struct OnlyWhole {
  auto name() const -> std::string { return "x"; }
  auto find(distrib::Error&) const -> std::vector<std::string> { return {}; }
  auto open(const std::string&) const -> NoBytes { return {}; }
};
/// The least model.
struct LeastRanged : OnlyWhole {
  auto ranged(const std::string&, distrib::Error&) const -> std::optional<distrib::RangedFile> { return {}; }
};

}  // namespace

TEST_CASE("RangedFiles: remote files that can also be opened for any part", "[record]") {
  STATIC_REQUIRE(distrib::RemoteFiles<OnlyWhole>);
  STATIC_REQUIRE_FALSE(distrib::RangedFiles<OnlyWhole>);
  STATIC_REQUIRE(distrib::RangedFiles<LeastRanged>);
  const distrib::RangedFile file;
  CHECK(file.bytes == 0);
  CHECK_FALSE(file.check);
  CHECK_FALSE(file.post);
  CHECK(file.piece_bytes == 8 << 20);
}
