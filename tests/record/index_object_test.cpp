// SPDX-License-Identifier: Apache-2.0
#include <distrib/record/index_object.hpp>

#include "support/catch.hpp"

using distrib::decode_index_object;
using distrib::encode_index_object;
using distrib::index_object_name;

TEST_CASE("index_object_name: beside the file, hidden from patterns", "[record]") {
  CHECK(index_object_name("s3://b/d/train-0") == "s3://b/d/.train-0.index");
  CHECK(index_object_name("s3://b/d/a?b#c") == "s3://b/d/.a?b#c.index"); // a key may contain them
  CHECK(index_object_name("https://h/d/a.rec?sig=x/y") == "https://h/d/.a.rec.index?sig=x/y");
  CHECK(index_object_name("hdfs:///d/a") == "hdfs:///d/.a.index");
  CHECK(index_object_name("key") == ".key.index");
}

TEST_CASE("index object: fits one content; whatever else it is counts as none", "[record]") {
  using Offsets = std::vector<std::uint64_t>;
  const Offsets offsets{0, 16, 50, 1000};
  const std::vector<std::byte> index = encode_index_object("\"etag\"", offsets);
  CHECK(index.size() == 40 + 3 * 8 + 4);
  CHECK(decode_index_object(index, 1000, "\"etag\"") == offsets);
  CHECK(decode_index_object(index, 1001, "\"etag\"").empty());
  CHECK(decode_index_object(index, 1000, "\"other\"").empty());
  CHECK(decode_index_object(index, 1000, "").empty());
  CHECK(decode_index_object(encode_index_object("v", Offsets{0}), 0, "v") == Offsets{0});
  for (std::size_t i = 0; i < index.size(); ++i) {
    std::vector<std::byte> damaged = index;
    damaged[i] ^= std::byte{1};
    CHECK(decode_index_object(damaged, 1000, "\"etag\"").empty());
    CHECK(decode_index_object(distrib::ByteView{index}.first(i), 1000, "\"etag\"").empty());
  }
  CHECK(distrib::index_object_bytes(index, 1000, "\"etag\"") == index.size());
  CHECK(distrib::index_object_bytes(index, 1000, "\"other\"") == 0);
  CHECK(distrib::index_object_bytes(index, 32, "\"etag\"") == 0);
  for (const Offsets& wrong : {Offsets{0, 16, 20, 1000}, Offsets{0, 500, 400, 1000}})
    CHECK(decode_index_object(encode_index_object("v", wrong), 1000, "v").empty());
}
