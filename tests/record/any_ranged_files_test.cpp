// SPDX-License-Identifier: Apache-2.0
#include <distrib/record/any_ranged_files.hpp>

#include <distrib/record/error.hpp>

#include "support/catch.hpp"

#include <array>

using distrib::AnyRangedFiles;
using distrib::Error;

namespace {

struct SevenBytes {
  auto read(std::span<std::byte> to, Error&) -> std::size_t {
    to[0] = std::byte{7};
    return 1;
  }
};
struct ErasedFiles {
  auto name() const -> std::string { return "some"; }
  auto find(Error& error) const -> std::vector<std::string> {
    error = {};
    return {"a", "b"};
  }
  auto open(const std::string&) const -> SevenBytes { return {}; }
  auto ranged(const std::string& name, Error& error) const -> std::optional<distrib::RangedFile> {
    error = {};
    distrib::RangedFile file;
    file.bytes = 5;
    if (name == "a") return file;
    error = {distrib::record_errc::not_regular, name};
    return std::nullopt;
  }
};

}  // namespace

TEST_CASE("AnyRangedFiles: says what the files say that it holds", "[record]") {
  STATIC_REQUIRE(distrib::RangedFiles<AnyRangedFiles>);
  const AnyRangedFiles files{ErasedFiles{}};
  const AnyRangedFiles copy = files;
  Error error{distrib::record_errc::closed, "before"};
  CHECK(copy.name() == "some");
  CHECK(copy.find(error) == std::vector<std::string>{"a", "b"});
  CHECK_FALSE(error);
  distrib::AnyByteSource source = copy.open("a");
  std::array<std::byte, 1> to{};
  CHECK(source.read(to, error) == 1);
  CHECK(to[0] == std::byte{7});
  CHECK(copy.ranged("a", error)->bytes == 5);
  CHECK_FALSE(copy.ranged("b", error));
  CHECK(error.code == distrib::record_errc::not_regular);
  CHECK(error.where == "b");
  const AnyRangedFiles again{AnyRangedFiles{files}};  // a copy, not files in files
  CHECK(again.name() == "some");
}
