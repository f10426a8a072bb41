// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/ps/cut/cut_object.hpp>

#include <distrib/checkpoint/error.hpp>
#include <distrib/checkpoint/file_names.hpp>
#include <distrib/checkpoint/merge_parts.hpp>
#include <distrib/checkpoint/table_reader.hpp>
#include <distrib/core/crc32c.hpp>
#include <distrib/core/protowire.hpp>
#include <distrib/core/sha256.hpp>

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

namespace distrib {
inline namespace v0 {
namespace detail {

inline constexpr std::uint64_t cut_object_magic = 0x7475'6362'7274'7364;  // "dstrbcut"
inline constexpr std::size_t most_claim_line = 256;
inline constexpr std::uint32_t cuts_field = 1000;

// The names in an index do not depend on the directory, so that a directory may be copied.
DISTRIB_DECL auto names_in_index() -> const CutObjectNames& {
  static const CutObjectNames names{""};
  return names;
}

}  // namespace detail

DISTRIB_DECL auto encode_claim(const ClaimOwner& owner) -> std::vector<std::byte> {
  std::string text;
  for (const std::string* line : {&owner.task, &owner.host, &owner.process, &owner.address}) {
    for (const char c : std::string_view{*line}.substr(0, detail::most_claim_line))
      if (c != '\n') text += c;
    text += '\n';
  }
  const ByteView bytes = as_bytes(text);
  return {bytes.begin(), bytes.end()};
}

DISTRIB_DECL auto parse_claim(ByteView object) -> std::optional<ClaimOwner> {
  std::string_view rest = as_text(object);
  ClaimOwner owner;
  for (std::string* line : {&owner.task, &owner.host, &owner.process, &owner.address}) {
    const std::size_t end = rest.find('\n');
    if (end == std::string_view::npos || end > detail::most_claim_line) return std::nullopt;
    *line = rest.substr(0, end);
    rest.remove_prefix(end + 1);
  }
  if (!rest.empty()) return std::nullopt;
  return owner;
}

namespace detail {

DISTRIB_DECL void end_cut_object(std::vector<std::byte>& object, ByteView table) {
  std::array<std::byte, CutTail::footer_bytes> footer{};
  store_le<std::uint64_t>(footer.data(), object.size());
  store_le<std::uint32_t>(footer.data() + 8, mask_crc(crc32c(table)));
  store_le<std::uint64_t>(footer.data() + 16, cut_object_magic);
  object.insert(object.end(), table.begin(), table.end());
  object.insert(object.end(), footer.begin(), footer.end());
}

// Encodes the parts of shards `shard`, `shard` + 1 and so on.
DISTRIB_DECL auto encode_cut_parts(std::span<const BundlePart> parts, std::uint32_t shard, std::uint32_t shards,
                                   Error& error) -> std::vector<std::byte> {
  error = {};
  if (shard >= shards || parts.size() > shards - shard || shards > max_data_files) {
    refuse(error, checkpoint_errc::mismatch, "part " + std::to_string(shard) + " of " + std::to_string(shards));
    return {};
  }
  BundleEntries entries;
  std::vector<FileAction> files;
  std::uint64_t bytes = 0;
  for (const BundlePart& part : parts) {
    FilePlan plan;
    if (!plan_data(part, "cut", shard + files.size(), shards, entries, plan, error, bytes)) return {};
    files.push_back(std::move(plan.front()));
    bytes += files.back().size();
  }
  if (!entries.check(parts.size() > 1 ? BundleEntries::Parts::all : BundleEntries::Parts::some, error)) return {};
  const std::vector<std::byte> table = entries.encode(shards);
  std::vector<std::byte> object;
  object.reserve(static_cast<std::size_t>(bytes) + table.size() + CutTail::footer_bytes);
  for (const FileAction& data : files) {
    for (const ByteView view : data.views) object.insert(object.end(), view.begin(), view.end());
    object.insert(object.end(), data.owned.begin(), data.owned.end());
  }
  end_cut_object(object, table);
  return object;
}

}  // namespace detail

DISTRIB_DECL auto encode_cut_object(const BundlePart& part, std::uint32_t shard, std::uint32_t shards, Error& error)
    -> std::vector<std::byte> {
  return detail::encode_cut_parts({&part, 1}, shard, shards, error);
}

DISTRIB_DECL auto encode_cut_object(std::span<const BundlePart> parts, Error& error) -> std::vector<std::byte> {
  return detail::encode_cut_parts(parts, 0, static_cast<std::uint32_t>(parts.size()), error);
}

DISTRIB_DECL auto parse_cut_footer(ByteView end, std::uint64_t object_bytes, Error& error) -> CutTail {
  error = {};
  const auto damaged = [&error](const char* what) {
    detail::refuse(error, checkpoint_errc::corrupt_data, what);
    return CutTail{};
  };
  if (end.size() < CutTail::footer_bytes || end.size() > object_bytes) return damaged("too short for a cut");
  const std::byte* const footer = end.data() + end.size() - CutTail::footer_bytes;
  if (load_le<std::uint64_t>(footer + 16) != detail::cut_object_magic || load_le<std::uint32_t>(footer + 12) != 0)
    return damaged("not a cut: bad magic number");
  CutTail tail{load_le<std::uint64_t>(footer), 0, load_le<std::uint32_t>(footer + 8)};
  if (tail.table_offset > object_bytes - CutTail::footer_bytes) return damaged("its table is outside the object");
  tail.table_bytes = object_bytes - CutTail::footer_bytes - tail.table_offset;
  return tail;
}

DISTRIB_DECL auto parse_cut_table(ByteView end, const CutTail& tail, std::uint32_t shard, std::uint32_t shards,
                                  Error& error) -> BundleIndex {
  error = {};
  const auto damaged = [&error](const std::string& what) {
    detail::refuse(error, checkpoint_errc::corrupt_data, what);
    return BundleIndex{};
  };
  if (end.size() < CutTail::footer_bytes || tail.table_bytes > end.size() - CutTail::footer_bytes)
    return damaged("its table is cut off");
  const std::size_t bytes = static_cast<std::size_t>(tail.table_bytes);
  const ByteView table = end.subspan(end.size() - CutTail::footer_bytes - bytes, bytes);
  if (mask_crc(crc32c(table)) != tail.table_crc) return damaged("the sum of its table");
  BundleIndex index;
  if (!parse_bundle_index(table, index, error)) return {};
  const bool all = shards == 1;  // of a job in one process
  if (index.shards != shards && !all) return damaged("it is of " + std::to_string(index.shards) + " shards");
  for (const StoredTensor& tensor : index.tensors)
    for (const StoredTensor::Piece& piece : tensor.pieces)
      if ((!all && piece.shard != shard) || piece.offset > tail.table_offset ||
          piece.size_bytes > tail.table_offset - piece.offset)
        return damaged("tensor " + tensor.name + ": its place");
  return index;
}

DISTRIB_DECL auto encode_checkpoint_index(std::span<const CheckpointCut> cuts, std::span<const BundleIndex> parts,
                                          Error& error) -> std::vector<std::byte> {
  WireWriter more;
  for (const CheckpointCut& cut : cuts)
    more.message(detail::cuts_field, [&cut](WireWriter& out) {
      out.text(1, detail::names_in_index().cut(cut.key));
      out.varint(2, cut.bytes);
      out.fixed32(3, cut.table_crc);
    });
  return detail::merge_parts(parts, error, more.view());
}

DISTRIB_DECL auto parse_checkpoint_index(ByteView object, Error& error) -> std::vector<CheckpointCut> {
  std::vector<CheckpointCut> cuts;
  const auto damaged = [&error](const char* what) {
    return detail::refuse(error, checkpoint_errc::corrupt_index, what);
  };
  const auto header = [&](ByteView value) {
    WireReader reader{value};
    while (reader.next()) {
      if (reader.tag() != wire_tag(detail::cuts_field, WireType::bytes)) continue;
      CheckpointCut cut;
      std::optional<CutKey> key;
      WireReader fields{reader.bytes()};
      while (fields.next()) {
        if (fields.tag() == wire_tag(1, WireType::bytes)) key = detail::names_in_index().cut_of(fields.text());
        if (fields.tag() == wire_tag(2, WireType::varint)) cut.bytes = fields.uint64();
        if (fields.tag() == wire_tag(3, WireType::fixed32)) cut.table_crc = fields.uint32();
      }
      if (!fields.ok() || !key || !key->is_whole()) return damaged("the name of a cut");
      cut.key = *key;
      const bool fits =
          cut.key.shard == cuts.size() &&
          (cuts.empty() || (cut.key.step == cuts.front().key.step && cut.key.shards == cuts.front().key.shards));
      if (!fits) return damaged("its cuts do not belong together");
      cuts.push_back(cut);
    }
    return reader.ok() || damaged("header");
  };
  const auto visit = [&](std::string_view key, ByteView value) { return !key.empty() || header(value); };
  BlockKind kind{};
  if (!read_table(object, visit, kind, error)) return {};
  if (cuts.empty() || cuts.size() != cuts.front().key.shards) {
    damaged("it does not name one cut of each shard");
    return {};
  }
  return cuts;
}

DISTRIB_DECL auto checkpoint_hash(ByteView index) -> std::uint64_t {
  return load_le<std::uint64_t>(sha256(index).data());
}

}  // namespace v0
}  // namespace distrib
