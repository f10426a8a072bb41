// SPDX-License-Identifier: Apache-2.0
#include <distrib/record/remote_files.hpp>

#include "support/catch.hpp"

#include <cstddef>
#include <span>

using distrib::Error;
using distrib::RemoteFiles;

namespace {

struct Empty {
  auto read(std::span<std::byte>, Error&) -> std::size_t { return 0; }
};

struct Named {
  auto name() const -> const char* { return "named"; }
  auto find(Error&) const -> std::vector<std::string> { return {"a"}; }
  auto open(const std::string&) const -> Empty { return {}; }
};

struct CannotFind {
  auto name() const -> const char* { return "named"; }
  auto open(const std::string&) const -> Empty { return {}; }
};

struct OpensText : Named {
  auto open(const std::string& name) const -> std::string { return name; }
};

}  // namespace

TEST_CASE("RemoteFiles: requires names, and the bytes of each file", "[record]") {
  STATIC_REQUIRE(RemoteFiles<Named>);
  STATIC_REQUIRE_FALSE(RemoteFiles<CannotFind>);
  STATIC_REQUIRE_FALSE(RemoteFiles<OpensText>);
  STATIC_REQUIRE_FALSE(RemoteFiles<std::string>);
  Error error;
  CHECK(Named{}.find(error) == std::vector<std::string>{"a"});
  CHECK(Named{}.open("a").read({}, error) == 0);
}
