// SPDX-License-Identifier: Apache-2.0
#include <distrib/ps/rows/combiner.hpp>

#include <distrib/ps/job/error.hpp>

#include "support/catch.hpp"

using distrib::Combiner;
using distrib::ps_errc;
using distrib::detail::parse_combiner;

TEST_CASE("Combiner: has TensorFlow's names and default", "[ps]") {
  CHECK(Combiner{} == Combiner::mean);
  CHECK(to_text(Combiner::sum) == "sum");
  for (const Combiner combiner : {Combiner::mean, Combiner::sqrtn, Combiner::sum}) {
    std::error_code ec = ps_errc::unknown_combiner;
    CHECK(parse_combiner(to_text(combiner), ec) == combiner);
    CHECK_FALSE(ec);
    CHECK(parse_combiner(to_text(combiner)) == combiner);
  }
}

TEST_CASE("Combiner: refuses other names", "[ps]") {
  for (const char* text : {"max", "", "Mean", "mean "}) {
    std::error_code ec;
    static_cast<void>(parse_combiner(text, ec));
    CHECK(ec == ps_errc::unknown_combiner);
    CHECK_THROWS_WITH(parse_combiner(text),
                      Equals('"' + std::string{text} + "\": combiner must be one of mean, sqrtn, sum"));
  }
}
