// SPDX-License-Identifier: Apache-2.0
#include <distrib/summary/tensor_event.hpp>

#include <distrib/summary/event.hpp>
#include <distrib/summary/parse_event.hpp>

#include "summary/summary_bytes.hpp"
#include "support/catch.hpp"

#include <array>
#include <cstddef>

using distrib::to_hex;
using support::field_of;

TEST_CASE("tensor_event: tensors and texts have TensorFlow's fields", "[summary][tensor_event]") {
  distrib::WireWriter out;
  const std::array bytes{std::byte{1}, std::byte{2}};
  distrib::write_tensor_event(out, 1.5, 7, "t", distrib::DType::uint8, {2, 1}, bytes, "p");
  CHECK(to_hex(out.view()).starts_with("09000000000000f83f1007"));
  // tag, tensor of dtype 4 and shape [2,1] with its content, metadata with the plugin and the class
  CHECK(to_hex(field_of(field_of(out.view(), 5), 1)) ==
        "0a0174"
        "4210"
        "0804"
        "1208"
        "12020802"
        "12020801"
        "22020102"
        "4a07"
        "0a030a0170"
        "2002");
  distrib::write_text_event(out, 1.5, 7, "t", "hi");
  CHECK(to_hex(field_of(field_of(out.view(), 5), 1)) ==
        "0a0174"
        "4208"
        "0807"
        "1200"
        "42026869"
        "4a0a"
        "0a060a0474657874"
        "2002");
  distrib::write_tensor_event(out, 1.5, 7, "t", distrib::DType::uint8, {0}, {});
  CHECK(to_hex(field_of(field_of(out.view(), 5), 1)) ==
        "0a0174"
        "4206"
        "0804"
        "1202"
        "1200"
        "4a02"
        "2002");
  distrib::ParsedEvent event;
  CHECK(distrib::parse_event(out.view(), event));
  CHECK(event.scalars.empty());
}
