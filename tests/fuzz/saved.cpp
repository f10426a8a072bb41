// SPDX-License-Identifier: Apache-2.0
#include "expect.hpp"
#include "targets.hpp"

#include "support/table_around.hpp"

#include <distrib/checkpoint/bundle_index.hpp>
#include <distrib/checkpoint/object_names.hpp>
#include <distrib/checkpoint/snappy.hpp>
#include <distrib/checkpoint/state_file.hpp>
#include <distrib/checkpoint/string_tensor.hpp>
#include <distrib/checkpoint/variant_sum.hpp>
#include <distrib/cluster/cluster_def.hpp>
#include <distrib/core/crc32c.hpp>
#include <distrib/core/protowire.hpp>
#include <distrib/summary/event.hpp>
#include <distrib/summary/parse_event.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace fuzz {

namespace {

void bundle(ByteView file) {
  distrib::BundleIndex index;
  distrib::Error error;
  if (!distrib::parse_bundle_index(file, index, error))
    return expect(error && !error.where.empty(), "the error says why and where");
  std::string before;
  for (const distrib::StoredTensor& tensor : index.tensors) {
    expect(tensor.name > before, "names ascend");
    before = tensor.name;
    for (const distrib::StoredTensor::Piece& piece : tensor.pieces) {
      expect(piece.shard < index.shards, "pieces are in data files that exist");
      expect(piece.slice.inside(tensor.shape), "pieces are inside their tensor");
      const std::size_t element = size_bytes(tensor.dtype);
      if (element != 0)
        expect(piece.size_bytes == static_cast<std::uint64_t>(piece.slice.extents.elements()) * element,
               "pieces have the size of their slice");
    }
  }
}

void event(ByteView bytes) {
  distrib::ParsedEvent first;
  if (!distrib::parse_event(bytes, first)) return;
  for (const distrib::ScalarEvent& scalar : first.scalars) {
    const auto value = static_cast<float>(scalar.value);
    distrib::WireWriter again;
    distrib::write_scalar_event(again, scalar.wall_time, scalar.step, scalar.tag, value);
    distrib::ParsedEvent second;
    expect(distrib::parse_event(again.view(), second) && second.scalars.size() == 1, "the event has one point");
    const distrib::ScalarEvent& same = second.scalars.front();
    expect(same.step == scalar.step && same.tag == scalar.tag, "the point is the same");
    expect(static_cast<float>(same.value) == value || value != value, "the value is the same");
  }
}

void state(ByteView bytes) {
  distrib::Error error;
  const auto parsed = distrib::parse_checkpoint_state(distrib::as_text(bytes), error);
  expect(parsed.has_value() == !error, "a state, or an error");
  if (parsed) expect(distrib::parse_checkpoint_state(to_string(*parsed)) == *parsed, "what is written is read back");
}

void objects(ByteView bytes) {
  distrib::detail::ObjectGraph graph;
  static_cast<void>(distrib::detail::parse_object_graph(bytes, graph));
  expect(graph.objects.size() <= bytes.size(), "not more objects than bytes");
  for (const char* path : {"a", "a/b", "a.b/c", "/"})
    expect(graph.find_path(path).size() <= bytes.size(), "not more names than bytes");
  static_cast<void>(graph.find_full_name("a"));
}

// Elements of seven bytes, as TensorFlow saves them: right in pieces of any size, and wrong when a bit is changed.
void variants(ByteView content) {
  distrib::VariantSum of_anything{content.size()};
  of_anything.add(content);
  static_cast<void>(of_anything.is_right(0));
  distrib::WireWriter out;
  std::uint32_t crc = 0;
  std::uint64_t elements = 0;
  for (; !content.empty(); ++elements) {
    const ByteView element = content.first(std::min<std::size_t>(7, content.size()));
    content = content.subspan(element.size());
    std::array<std::byte, 8> length{static_cast<std::byte>(element.size())};
    std::array<std::byte, 4> checksum{};
    crc = distrib::detail::crc32c_extend(distrib::detail::crc32c_extend(crc, length), element);
    distrib::store_le(checksum.data(), distrib::mask_crc(crc));
    crc = distrib::detail::crc32c_extend(crc, checksum);
    out.raw_varint(element.size());
    out.raw(element);
    out.raw(checksum);
  }
  std::vector<std::byte> bytes = out.take();
  const auto is_right = [&](std::size_t most) {
    distrib::VariantSum sum{elements};
    for (ByteView rest{bytes}; !rest.empty(); rest = rest.subspan(std::min(most, rest.size())))
      sum.add(rest.first(std::min(most, rest.size())));
    return sum.is_right(distrib::mask_crc(crc));
  };
  for (const std::size_t most : {1U, 5U, 4096U}) expect(is_right(most), "right in pieces of any size");
  if (bytes.empty()) return;
  bytes[bytes.size() / 2] ^= std::byte{1};
  expect(!is_right(4096), "a wrong bit is found");
}

}  // namespace

void saved(ByteView input) {
  bundle(input);
  bundle(support::table_around(input, 0));
  bundle(support::table_around(input, 1));
  std::vector<std::byte> unpacked;
  if (distrib::unpack_snappy(input, unpacked))
    expect(unpacked.size() <= 64 * input.size(), "the size is bounded by the packed bytes");
  objects(input);
  variants(input);
  event(input);
  state(input);

  std::vector<std::string> texts;
  static_cast<void>(distrib::parse_strings(input, input.size() / 4, 0, texts));
  std::error_code ec;
  const distrib::ClusterSpec cluster = distrib::parse_cluster_def(input, ec);
  if (!ec)
    expect(distrib::parse_cluster_def(write_cluster_def(cluster), ec) == cluster && !ec, "the cluster is the same");
}

}  // namespace fuzz
