// SPDX-License-Identifier: Apache-2.0
#include <distrib/data/schema_calls.hpp>

#include <distrib/example/error.hpp>

#include "support/catch.hpp"

#include <cstdint>
#include <system_error>

namespace {

struct CalledItem {
  std::int64_t id;
  float x;
};

struct CalledFiles : distrib::SchemaCalls<CalledFiles> {
  using distrib::SchemaCalls<CalledFiles>::schema;
  template <class E, distrib::FeatureMember... Ms>
  auto schema(const distrib::Schema<E, Ms...>&) const -> std::size_t {
    return sizeof...(Ms);
  }
};

}  // namespace

TEST_CASE("SchemaCalls: features make the schema, which may also be given", "[data]") {
  const CalledFiles files;
  const auto id = distrib::feature("id", &CalledItem::id);
  const auto x = distrib::feature("x", &CalledItem::x);
  CHECK(files.schema(id) == 1);
  CHECK(files.schema(id, x) == 2);
  CHECK(files.schema(distrib::schema<CalledItem>(id, x)) == 2);
  CHECK_THROWS_AS(files.schema(id, distrib::feature("id", &CalledItem::x)), std::system_error);
}
