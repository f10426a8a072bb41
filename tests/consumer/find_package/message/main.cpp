// SPDX-License-Identifier: Apache-2.0
#include <distrib/message/protobuf.hpp>

#include "shelf.pb.h"

auto main() -> int {
  consumer::Shelf shelf;
  (*shelf.add_examples()->mutable_features()->mutable_feature())["x"].mutable_float_list()->add_value(0.5F);
  std::vector<std::byte> bytes;
  distrib::ProtobufCodec{}.encode(shelf, bytes);
  consumer::Shelf copy;
  distrib::ProtobufCodec{}.decode(bytes, copy);
  return copy.examples(0).features().feature().at("x").float_list().value(0) == 0.5F ? 0 : 1;
}
