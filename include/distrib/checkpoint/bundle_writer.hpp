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

/// The content of one data file of a checkpoint: the parameters of one shard.
struct BundlePart {
  /// A tensor to save, or one slice of it. The bytes are not copied: they must stay valid until the plan was performed.
  /// A slice that covers its tensor is saved as a tensor that is whole.
  struct TensorPiece {
    /// Name of the whole tensor; not empty, and not beginning with a zero byte.
    std::string name;
    DType dtype = DType::float32;
    Shape shape;  ///< Shape of the whole tensor.
    Slice slice;  ///< Which part `bytes` is; `Slice::whole(shape)` for all of it.
    /// Row-major; their number is the slice's number of elements times the size of one.
    ByteView bytes;
  };

  /// A tensor of texts to save; it is always saved whole. Without an axis, and with one value, it is a scalar.
  struct StringTensor {
    std::string name;  ///< Not empty, and not beginning with a zero byte.
    Shape shape;  ///< Its number of elements is the number of `values`.
    std::vector<std::string> values;  ///< Row-major; any bytes.
  };

  std::vector<TensorPiece> tensors;  ///< Tensors of numbers, or pieces of them.
  std::vector<StringTensor> strings;  ///< Tensors of texts.
  /// Memory that pieces point to and that has no other owner; often empty.
  std::vector<SharedBuffer> kept = {};
};

namespace detail {

/// Collects the entries of all parts, and finds entries that do not fit together.
class BundleEntries {
 public:
  /// Adds a piece whose bytes lie at `offset` in the data file of `shard`. On failure returns false and sets `error`.
  [[nodiscard]] DISTRIB_DECL auto add(const BundlePart::TensorPiece& piece, std::uint64_t shard, std::uint64_t offset,
                                      Error& error) -> bool;

  /// Adds a piece whose position in the data files is known. On failure returns false and sets `error`.
  [[nodiscard]] DISTRIB_DECL auto add(const std::string& name, DType dtype, const Shape& shape,
                                      const StoredTensor::Piece& piece, Error& error) -> bool;

  /// Adds an entry. If there is one with this key, returns false and sets `error` to `duplicate`, which names `shown`,
  /// or the key if `shown` is empty.
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
  /// True if no two slices of a tensor overlap and, if these are the entries of all parts, the slices of each tensor
  /// make it whole. Otherwise sets `error`.
  [[nodiscard]] DISTRIB_DECL auto check(Parts parts, Error& error) const -> bool;

  /// Returns the content of the index file. `more`: fields of the header that TensorFlow does not know, in wire format.
  [[nodiscard]] auto encode(std::uint64_t shards, ByteView more = {}) const -> std::vector<std::byte> {
    TableWriter table;
    std::vector<std::byte> header = encode_header(shards);
    header.insert(header.end(), more.begin(), more.end());
    table.add("", header);
    for (const auto& [key, entry] : entries_) table.add(key, encode_entry(entry));
    return table.finish();
  }

 private:
  std::map<std::string, BundleEntry> entries_;
};

/// Adds the entries for the data file of one shard, and plans its temporary file. `first`: where its bytes begin, if
/// the data of several shards become one file. On failure returns false; `error` names the tensor.
DISTRIB_DECL auto plan_data(const BundlePart& part, const std::string& temporary, std::size_t shard, std::size_t shards,
                            BundleEntries& entries, FilePlan& plan, Error& error, std::uint64_t first = 0) -> bool;

/// Plans what follows when the `shards` data files of a checkpoint are durable under their temporary names: the index,
/// with the bytes that `BundleEntries::encode` returns, is written; an old index is removed; then all get their names.
[[nodiscard]] DISTRIB_DECL auto plan_names(std::string_view prefix, std::size_t shards, std::vector<std::byte> index)
    -> FilePlan;

}  // namespace detail

/// Plans how a checkpoint is written as a TensorFlow V2 bundle: `parts[i]` into `PREFIX.data-IIIII-of-NNNNN`, and a
/// list of their contents into `PREFIX.index`. Everything is written under temporary names and made durable. Then an
/// index that an earlier save left under this prefix is removed, the data files get their names, and last the index. So
/// wherever the plan stops, an index that exists has all its data. Performs no I/O; reads all bytes once, for their
/// checksums.
///
/// Trap: the temporary names do not depend on the step, so two plans for one series ("model.ckpt" of
/// "model.ckpt-1234") in one directory must not be performed at the same time.
///
/// On failure the plan is empty and `to` names the tensor: `duplicate`, `incomplete`, `mismatch`. `mismatch` also if
/// there are no parts, or more than 99,999.
[[nodiscard]] DISTRIB_DECL auto plan_bundle(std::string_view prefix, std::span<const BundlePart> parts, ErrorRef to)
    -> FilePlan;

/// This overload throws the error as `std::system_error` that names the tensor.
[[nodiscard]] inline auto plan_bundle(std::string_view prefix, std::span<const BundlePart> parts) -> FilePlan {
  Error error;
  return detail::or_throw(plan_bundle(prefix, parts, error), error);
}

}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/checkpoint/impl/bundle_writer.ipp>
#endif
