// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/checkpoint/bundle_index.hpp>
#include <distrib/checkpoint/detail/bundle_entry.hpp>
#include <distrib/checkpoint/error.hpp>
#include <distrib/checkpoint/stored_tensor.hpp>
#include <distrib/checkpoint/table_writer.hpp>
#include <distrib/core/bytes.hpp>
#include <distrib/core/decl.hpp>
#include <distrib/core/io_action.hpp>

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace distrib {
inline namespace v0 {

/// What one data file of a checkpoint gets: the share of one shard of the parameters.
struct BundlePart {
  /// A tensor, or one slice of it, that is to be saved. The bytes are not copied: they must stay until the plan was
  /// performed. A slice that covers its tensor is saved as a plain tensor.
  struct TensorPiece {
    std::string name;  ///< Of the whole tensor; not empty, and not beginning with a zero byte.
    DType dtype = DType::float32;
    Shape shape;     ///< Of the whole tensor.
    Slice slice;     ///< Which part `bytes` is; `Slice::whole(shape)` for all of it.
    ByteView bytes;  ///< Row-major; as many as the slice has elements times the size of one.
  };

  /// A tensor of texts that is to be saved, always whole; rank 0 with one value is a scalar.
  struct StringTensor {
    std::string name;
    Shape shape;
    std::vector<std::string> values;
  };

  std::vector<TensorPiece> tensors;
  std::vector<StringTensor> strings;
  std::vector<SharedBuffer> kept = {};  ///< Memory that pieces point to and nobody else keeps, if there is such.
};

namespace detail {

/// Collects the entries of all parts and finds what does not fit together.
class BundleEntries {
 public:
  [[nodiscard]] DISTRIB_DECL auto add(const BundlePart::TensorPiece& piece, std::uint64_t shard, std::uint64_t offset,
                                      Error& error) -> bool;

  /// A piece of which it is known where it lies.
  [[nodiscard]] DISTRIB_DECL auto add(const std::string& name, DType dtype, const Shape& shape,
                                      const StoredTensor::Piece& piece, Error& error) -> bool;

  [[nodiscard]] auto insert(std::string key, BundleEntry entry, Error& error, std::string_view shown = {}) -> bool {
    const auto [at, first] = entries_.insert({std::move(key), std::move(entry)});
    if (!first) return refuse(error, checkpoint_errc::duplicate, shown.empty() ? at->first : std::string{shown});
    return true;
  }

  [[nodiscard]] auto find(const std::string& key) const -> const BundleEntry* {
    const auto at = entries_.find(key);
    return at == entries_.end() ? nullptr : &at->second;
  }

  enum class Parts { all, some };
  /// Whether no two slices of a tensor overlap and, when these are the entries of all parts, they make it whole.
  [[nodiscard]] DISTRIB_DECL auto check(Parts parts, Error& error) const -> bool;

  /// The index file.
  [[nodiscard]] auto encode(std::uint64_t shards) const -> std::vector<std::byte> {
    TableWriter table;
    table.add("", encode_header(shards));
    for (const auto& [key, entry] : entries_) table.add(key, encode_entry(entry));
    return table.finish();
  }

 private:
  std::map<std::string, BundleEntry> entries_;
};

/// Enters what the data file of one shard gets, and plans its temporary file. False: `error` names the tensor.
DISTRIB_DECL auto plan_data(const BundlePart& part, const std::string& temporary, std::size_t shard, std::size_t shards,
                            BundleEntries& entries, FilePlan& plan, Error& error) -> bool;

}  // namespace detail

/// Plans how a checkpoint is written as a TensorFlow V2 bundle: `parts[i]` into `PREFIX.data-IIIII-of-NNNNN`, what they
/// hold into `PREFIX.index`. Everything is written under temporary names and made durable; then an index of the same
/// prefix from an earlier save is removed, the data files get their names, and last the index. So whenever the plan
/// stops, an index that exists has all its data. Performs no I/O; takes one pass over the bytes for their checksums.
///
/// On failure the plan is empty and `to` names the tensor: `duplicate`, `incomplete`, `mismatch`.
[[nodiscard]] DISTRIB_DECL auto plan_bundle(std::string_view prefix, std::span<const BundlePart> parts, ErrorRef to)
    -> FilePlan;

/// The same; throws `std::system_error` that names the tensor.
[[nodiscard]] inline auto plan_bundle(std::string_view prefix, std::span<const BundlePart> parts) -> FilePlan {
  Error error;
  return detail::or_throw(plan_bundle(prefix, parts, error), error);
}

}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/checkpoint/impl/bundle_writer.ipp>
#endif
