// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/checkpoint/formats/named_tensor.hpp>
#include <distrib/core/bytes.hpp>
#include <distrib/core/decl.hpp>
#include <distrib/core/dtype.hpp>
#include <distrib/core/error.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace distrib {
inline namespace v0 {
namespace detail {

/// A run of memory that `torch.save` has written as the entry FOLDER/data/KEY of its archive. Several tensors may share
/// it.
struct TorchStorage {
  std::string key;
  std::uint64_t size_bytes = 0;
};

/// A tensor as `torch.save` describes it: a view of a storage.
struct TorchTensor {
  std::string name;  ///< Keys of dicts and numbers in lists, joined by '/'.
  DType dtype{};  ///< May be the number of a type that is no DType, as in `StoredTensor`.
  std::string other_type = {};  ///< As in `StoredTensor`.
  std::size_t element_bytes = 0;
  std::size_t storage = 0;  ///< Number of its storage.
  std::uint64_t first = 0;  ///< Its first element in the storage, counted in elements.
  std::vector<std::int64_t> extents;
  std::vector<std::int64_t> strides;  ///< In elements; one for each extent.
};

struct TorchState {
  std::vector<TorchStorage> storages;
  std::vector<TorchTensor> tensors;  ///< In the order of the file.
};

/// Reads the pickle of a file of `torch.save`: `data.pkl` of its archive. It must be a dict or a list of tensors, or of
/// more dicts and lists; numbers, texts and None are left out. Runs no code: it knows the operations and the names that
/// PyTorch needs for tensors, and refuses all others. Every tensor lies inside its storage, and has at most as many
/// elements. Memory: at most 128 times the pickle; no recursion.
///
/// On failure returns false; `error` names what it does not know, and `state` must not be used: `bad_tensor_file`;
/// `unsupported` (an operation, a name in Python, a kind of tensor).
[[nodiscard]] DISTRIB_DECL auto parse_torch_pickle(ByteView pickle, TorchState& state, Error& error) -> bool;

/// Returns the pickle of a dict of `tensors` (protocol 2), each with a storage of its own: number i is the entry
/// FOLDER/data/i. `torch.load(weights_only=True)` takes it.
[[nodiscard]] DISTRIB_DECL auto torch_pickle(std::span<const NamedTensor> tensors) -> std::string;

}  // namespace detail
}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/checkpoint/formats/impl/torch_pickle.ipp>
#endif
