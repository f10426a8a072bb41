// SPDX-License-Identifier: Apache-2.0
#include "tools/distrib/tensor_stream.hpp"

#include <distrib/checkpoint/bundle_writer.hpp>
#include <distrib/checkpoint/perform.hpp>

#include "support/catch.hpp"
#include "support/temp_directory.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

using distrib::Slice;

TEST_CASE("TensorStream: a tensor in any slices is read in order, in any portions", "[tools]") {
  const support::TempDirectory directory;
  const distrib::Shape shape{6, 4};
  std::vector<std::uint16_t> values(24);
  std::iota(values.begin(), values.end(), std::uint16_t{0x3C00});
  const std::vector<std::vector<Slice>> cuts{
      {Slice::whole(shape)},
      {Slice::along(shape, 0, 3, 3), Slice::along(shape, 0, 0, 1), Slice::along(shape, 0, 1, 2)},
      {Slice::along(shape, 1, 2, 2), Slice::along(shape, 1, 0, 2)}};
  for (const auto& slices : cuts) {
    std::vector<std::vector<std::byte>> kept;
    distrib::BundlePart part;
    for (const Slice& slice : slices) {
      auto& bytes = kept.emplace_back(static_cast<std::size_t>(slice.extents.elements()) * 2);
      distrib::detail::copy_overlap(Slice::whole(shape), std::as_bytes(std::span{values}).data(), slice, bytes.data(),
                                    2);
    }
    for (std::size_t i = 0; i < slices.size(); ++i)
      part.tensors.push_back({"w", distrib::DType::float16, shape, slices[i], kept[i]});
    distrib::perform(distrib::plan_bundle((directory / "c").string(), std::vector{part}));
    const auto reader = distrib::BundleReader::open(directory / "c");
    for (const std::size_t portion : {1U, 6U, 48U}) {
      tools::TensorStream stream{reader, *reader.find("w")};
      CHECK(stream.size() == 48);
      std::vector<std::byte> all;
      distrib::Error error;
      while (all.size() < 48) {
        std::vector<std::byte> some(std::min<std::size_t>(portion, 48 - all.size()));
        REQUIRE(stream.read(some, error));
        all.insert(all.end(), some.begin(), some.end());
      }
      CHECK(std::ranges::equal(all, std::as_bytes(std::span{values})));
    }
    distrib::StoredTensor wide = *reader.find("w");
    wide.stored_as = std::exchange(wide.dtype, distrib::DType::float32);
    tools::TensorStream stream{reader, wide};
    CHECK(stream.size() == 96);
    std::vector<float> floats(24);
    distrib::Error error;
    REQUIRE(stream.read(std::as_writable_bytes(std::span{floats}.first(7)), error));
    REQUIRE(stream.read(std::as_writable_bytes(std::span{floats}.subspan(7)), error));
    for (std::size_t i = 0; i < 24; ++i) CHECK(floats[i] == 1 + static_cast<float>(i) / 1024);
  }
}
