// SPDX-License-Identifier: Apache-2.0
#include <distrib/data/order/data_state.hpp>
#include <distrib/data/order/error.hpp>

#include "support/catch.hpp"

using distrib::data_errc;
using distrib::DataState;
using distrib::parse_data_state;

TEST_CASE("DataState: text (at most 100 characters) and bytes are parsed back to the same state", "[data]") {
  const DataState states[] = {{}, {1, 2, 3}, {UINT64_MAX, UINT64_MAX, UINT64_MAX}};
  for (const DataState& state : states) {
    CHECK(to_string(state).size() <= 100);
    CHECK(parse_data_state(to_string(state)) == state);
    std::error_code ec;
    CHECK(parse_data_state(distrib::ByteView{state.to_bytes()}, ec) == state);
    CHECK(!ec);
  }
  CHECK(to_string(DataState{1, 2, 3}) == "distrib-data-1 1 2 3");
}

TEST_CASE("DataState: refuses any other text and any other number of bytes", "[data]") {
  const char* texts[] = {
      "",        "distrib-data-1",         "distrib-data-2 1 2 3",  "distrib-data-1 1 2",
      "1 2 3",   "distrib-data-1 1 2 3 ",  "distrib-data-1 1 2 x",  "distrib-data-1 1 2 3 4",
      " 1 2 3 ", "distrib-data-1  1 2 3 ", "distrib-data-1 1 2 -3", "distrib-data-1 1 2 18446744073709551616"};
  for (const char* text : texts) {
    CAPTURE(text);
    std::error_code ec;
    (void)parse_data_state(text, ec);
    CHECK(ec == data_errc::bad_state);
    CHECK_THROWS_WITH(parse_data_state(text), ContainsSubstring("not the state of a pipeline"));
  }
  const std::array<std::byte, 25> bytes{};
  for (const std::size_t size : {0U, 23U, 25U}) {
    std::error_code ec;
    (void)parse_data_state(distrib::ByteView{bytes}.first(size), ec);
    CHECK(ec == data_errc::bad_state);
  }
}
