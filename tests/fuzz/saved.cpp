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
#include <distrib/core/protowire.hpp>
#include <distrib/summary/event.hpp>
#include <distrib/summary/parse_event.hpp>

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
  if (!distrib::parse_bundle_index(file, index, error)) return expect(error && !error.where.empty(), "why, and where");
  std::string before;
  for (const distrib::StoredTensor& tensor : index.tensors) {
    expect(tensor.name > before, "names ascend");
    before = tensor.name;
    for (const distrib::StoredTensor::Piece& piece : tensor.pieces) {
      expect(piece.shard < index.shards, "pieces are in data files that there are");
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
    expect(distrib::parse_event(again.view(), second) && second.scalars.size() == 1, "one point");
    const distrib::ScalarEvent& same = second.scalars.front();
    expect(same.step == scalar.step && same.tag == scalar.tag, "the same point");
    expect(static_cast<float>(same.value) == value || value != value, "the same value");
  }
}

void state(ByteView bytes) {
  distrib::Error error;
  const auto parsed = distrib::parse_checkpoint_state(distrib::as_text(bytes), error);
  expect(parsed.has_value() == !error, "a state, or why not");
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

void variants(ByteView bytes) {
  const std::uint64_t elements = bytes.size() / 8;
  distrib::VariantSum at_once{elements};
  at_once.add(bytes);
  distrib::VariantSum one_by_one{elements};
  for (const std::byte& byte : bytes) one_by_one.add({&byte, 1});
  expect(at_once.is_right(0) == one_by_one.is_right(0), "the same, in whatever pieces it comes");
}

}  // namespace

void saved(ByteView input) {
  bundle(input);
  bundle(support::table_around(input, 0));
  bundle(support::table_around(input, 1));
  std::vector<std::byte> unpacked;
  if (distrib::unpack_snappy(input, unpacked))
    expect(unpacked.size() <= 64 * input.size(), "bounded by what was packed");
  objects(input);
  variants(input);
  event(input);
  state(input);

  std::vector<std::string> texts;
  static_cast<void>(distrib::parse_strings(input, input.size() / 4, 0, texts));
  std::error_code ec;
  const distrib::ClusterSpec cluster = distrib::parse_cluster_def(input, ec);
  if (!ec) expect(distrib::parse_cluster_def(write_cluster_def(cluster), ec) == cluster && !ec, "the same cluster");
}

}  // namespace fuzz
