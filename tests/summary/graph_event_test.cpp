// SPDX-License-Identifier: Apache-2.0
#include <distrib/summary/graph_event.hpp>

#include "summary/summary_bytes.hpp"
#include "support/catch.hpp"

#include <string>
#include <vector>

TEST_CASE("graph_event: has the fields of TensorFlow", "[summary][graph_event]") {
  distrib::WireWriter out;
  const std::vector<distrib::GraphVariable> variables{{"w", "/job:ps", distrib::DType::float32, {3}},
                                                      {"b", "", distrib::DType::int64, {}}};
  distrib::write_graph_event(out, 1.5, variables);
  const auto graph = support::field_of(out.view(), 4);
  std::vector<std::string> fields;
  distrib::WireReader reader{graph};
  while (reader.next()) fields.push_back(distrib::to_hex(reader.bytes()));
  REQUIRE(fields.size() == 3);
  CHECK(
      fields[0].starts_with("0a0177"
                            "120b"
                            "56617248616e646c654f70"
                            "2207"
                            "2f6a6f623a7073"
                            "2a"));
  CHECK_THAT(fields[0], ContainsSubstring("0a05"
                                          "6474797065"
                                          "1202"
                                          "3001"));  // dtype: 1
  CHECK_THAT(fields[0], ContainsSubstring("0a05"
                                          "7368617065"
                                          "1206"
                                          "3a0412020803"));  // shape: [3]
  CHECK(
      fields[1].starts_with("0a0162"
                            "120b"
                            "56617248616e646c654f70"
                            "2a"));
  CHECK(fields[2] == "08db07");
}
