// SPDX-License-Identifier: Apache-2.0
#include <distrib/spark/spark_schema.hpp>

#include "support/catch.hpp"

#include <string>

using distrib::spark_column;
using distrib::spark_errc;
using distrib::spark_schema;

namespace {
struct Click {
  std::int64_t user = 0;
  std::optional<std::string> text;
  std::vector<std::vector<float>> scores;
};
constexpr auto clicks = spark_schema<Click>(spark_column("user", &Click::user), spark_column("text", &Click::text),
                                            spark_column("scores", &Click::scores));
}  // namespace

TEST_CASE("SparkSchema: names, types, nulls", "[hadoop]") {
  STATIC_REQUIRE(clicks.size == 3);
  const auto columns = clicks.columns();
  REQUIRE(columns.size() == 3);
  CHECK((columns[0].name == "user" && to_text(columns[0].type) == "Long" && !columns[0].nullable));
  CHECK((columns[1].name == "text" && to_text(columns[1].type) == "String" && columns[1].nullable));
  CHECK((columns[2].name == "scores" && to_text(columns[2].type) == "Array<Array<Float>>" && !columns[2].nullable));
  STATIC_REQUIRE(!spark_column("text", &Click::text).not_null().nullable());

  std::string seen;
  clicks.for_each(Click{.user = 7, .text = {}, .scores = {}}, [&](const auto& column, const auto& value) {
    seen += std::string{column.name()} + (std::is_same_v<std::decay_t<decltype(value)>, std::int64_t> ? "=int " : " ");
  });
  CHECK(seen == "user=int text scores ");
}

TEST_CASE("SparkSchema: refuses a name or a member that occurs twice", "[hadoop]") {
  struct Two {
    float a = 0;
    float b = 0;
  };
  try {
    (void)spark_schema<Two>(spark_column("x", &Two::a), spark_column("x", &Two::b));
    FAIL("a name twice");
  } catch (const std::system_error& error) {
    CHECK(error.code() == spark_errc::duplicate_column);
    CHECK(std::string{error.what()}.starts_with("x: "));
  }
  CHECK_THROWS_AS((spark_schema<Two>(spark_column("x", &Two::a), spark_column("y", &Two::a))), std::system_error);
}
