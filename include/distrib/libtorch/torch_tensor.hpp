// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/error.hpp>
#include <distrib/example/batch.hpp>
#include <distrib/example/padded.hpp>
#include <distrib/libtorch/error.hpp>
#include <distrib/libtorch/lent_columns.hpp>
#include <distrib/libtorch/torch.hpp>

#include <algorithm>
#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <vector>

namespace distrib {
inline namespace v0 {

namespace detail {

template <class T>
concept TorchElement = std::same_as<T, float> || std::same_as<T, double> || std::same_as<T, std::int64_t> ||
                       std::same_as<T, std::int32_t> || std::same_as<T, std::uint8_t> || std::same_as<T, bool>;

/// What a value of type T in a column is: elements of type `Element`, with the extents that `add_extents` appends.
template <class T> struct TorchValue {};
template <TorchElement T> struct TorchValue<T> {
  using Element = T;
  static void add_extents(std::vector<std::int64_t>&) {}
};
template <class T, std::size_t N>
  requires requires { typename TorchValue<T>::Element; }
struct TorchValue<std::array<T, N>> {
  using Element = typename TorchValue<T>::Element;
  static void add_extents(std::vector<std::int64_t>& extents) {
    extents.push_back(static_cast<std::int64_t>(N));
    TorchValue<T>::add_extents(extents);
  }
};

/// Returns memory of elements as a tensor, not copied.
template <TorchElement T>
[[nodiscard]] auto lent_tensor(const T* data, const std::vector<std::int64_t>& extents) -> torch::Tensor {
  auto tensor =
      torch::from_blob(const_cast<T*>(data), extents, torch::TensorOptions{}.dtype(c10::CppTypeToScalarType<T>::value));
  LentColumns::add(tensor);
  return tensor;
}

/// Returns [records, shape...]. Throws `libtorch_errc::bad_column` if an extent is negative.
[[nodiscard]] inline auto extents_of(std::size_t records, at::IntArrayRef shape) -> std::vector<std::int64_t> {
  std::vector<std::int64_t> extents{static_cast<std::int64_t>(records)};
  for (const std::int64_t extent : shape) {
    if (extent < 0) throw_error(libtorch_errc::bad_column, "torch_tensor: extent " + std::to_string(extent));
    extents.push_back(extent);
  }
  return extents;
}

}  // namespace detail

/// Returns a column of a batch as a tensor: for numbers [records], for arrays [records, N], or [records, N, M] if they
/// have two axes. The tensor refers to the memory of the column: `torch_tensor(batch.column(&Digit::label))`.
///
/// Lifetime: until the batch is filled again or destroyed; in `loss()` and `evaluate()` of a task: until they return.
/// Trap: to change the tensor in place changes the batch, and to keep it is to keep memory that is used again. Where a
/// task's tensors are checked, this is `libtorch_errc::changed_column` or `kept_column`.
template <class T>
  requires requires { typename detail::TorchValue<T>::Element; }
[[nodiscard]] auto torch_tensor(std::span<const T> column) -> torch::Tensor {
  using Value = detail::TorchValue<T>;
  std::vector<std::int64_t> extents{static_cast<std::int64_t>(column.size())};
  Value::add_extents(extents);
  return detail::lent_tensor(reinterpret_cast<const typename Value::Element*>(column.data()), extents);
}

/// This overload makes a tensor of [records, shape...], which refers to the memory of the column too:
/// `torch_tensor(batch.column(&Digit::pixels), {1, 28, 28})`. Throws `std::system_error` with
/// `libtorch_errc::bad_column` if an extent of `shape` is negative, or if the records do not have as many numbers as
/// `shape`.
template <class T>
  requires requires { typename detail::TorchValue<T>::Element; }
[[nodiscard]] auto torch_tensor(std::span<const T> column, at::IntArrayRef shape) -> torch::Tensor {
  using Element = typename detail::TorchValue<T>::Element;
  const std::vector<std::int64_t> extents = detail::extents_of(column.size(), shape);
  if (c10::multiply_integers(shape) != static_cast<std::int64_t>(sizeof(T) / sizeof(Element)))
    throw_error(libtorch_errc::bad_column, "torch_tensor: a record has " + std::to_string(sizeof(T) / sizeof(Element)) +
                                               " numbers, the shape has " +
                                               std::to_string(c10::multiply_integers(shape)));
  return detail::lent_tensor(reinterpret_cast<const Element*>(column.data()), extents);
}

/// This overload copies a column of bytes, such as images, into one tensor of [records, shape...] and type uint8, which
/// owns its memory. Throws `std::system_error` with `libtorch_errc::bad_column` if an extent of `shape` is negative,
/// or, with the number of the record in the batch, if a record does not have as many bytes as `shape`.
[[nodiscard]] inline auto torch_tensor(std::span<const std::span<const std::byte>> column, at::IntArrayRef shape)
    -> torch::Tensor {
  constexpr std::size_t ahead = 4;  // records lie anywhere in mapped files
  auto tensor = torch::empty(detail::extents_of(column.size(), shape), torch::kUInt8);
  const auto bytes = static_cast<std::size_t>(c10::multiply_integers(shape));
  auto* to = tensor.data_ptr<std::uint8_t>();
  for (std::size_t i = 0; i < column.size(); ++i, to += bytes) {
    if (column[i].size() != bytes)
      throw_error(libtorch_errc::bad_column, "torch_tensor: record " + std::to_string(i) + " of the batch has " +
                                                 std::to_string(column[i].size()) + " bytes, the shape has " +
                                                 std::to_string(bytes));
    if (i + ahead < column.size())
      for (std::size_t at = 0; at < std::min(bytes, column[i + ahead].size()); at += 64)
        __builtin_prefetch(column[i + ahead].data() + at);
    if (bytes != 0) std::memcpy(to, column[i].data(), bytes);
  }
  return tensor;
}

/// Lists of different lengths as tensors: record i has `values` from `row_splits[i]` up to `row_splits[i + 1]`.
struct TorchRagged {
  torch::Tensor values;  ///< All lists, one after another: [values].
  torch::Tensor
      row_splits;  ///< int64, [records + 1]: the `offsets` of `torch::embedding_bag` with `include_last_offset`.
};

/// This overload makes tensors of the lists of a batch: `torch_tensor(batch.ragged(&Query::words))`. They refer to the
/// memory of the batch, and are valid until it is filled again or destroyed; in `loss()` and `evaluate()` of a task
/// until they return.
template <detail::TorchElement T> [[nodiscard]] auto torch_tensor(RaggedRows<T> lists) -> TorchRagged {
  return {torch_tensor(lists.values), torch_tensor(lists.row_splits)};
}

/// This overload makes a tensor of [records, longest list] of padded lists. It refers to the memory of `lists`, and is
/// valid as long as `lists`.
template <detail::TorchElement T> [[nodiscard]] auto torch_tensor(const PaddedRows<T>& lists) -> torch::Tensor {
  return detail::lent_tensor(lists.values().data(),
                             {static_cast<std::int64_t>(lists.rows), static_cast<std::int64_t>(lists.columns)});
}
template <detail::TorchElement T> auto torch_tensor(const PaddedRows<T>&&) -> torch::Tensor = delete;

// For columns that fit no other overload.
template <class T> auto torch_tensor(std::span<const T>) -> torch::Tensor {
  constexpr bool fits = sizeof(T) == 0;
  static_assert(fits,
                "distrib: torch_tensor takes a column of numbers or of std::array of numbers; for bytes also give the "
                "shape of a record, for lists call torch_tensor(batch.ragged(&Example::member))");
  return {};
}
template <class T> auto torch_tensor(std::span<const T>, at::IntArrayRef) -> torch::Tensor {
  constexpr bool fits = sizeof(T) == 0;
  static_assert(
      fits,
      "distrib: torch_tensor with a shape takes a column of numbers, of std::array of numbers or of bytes; for "
      "lists call torch_tensor(batch.ragged(&Example::member))");
  return {};
}

}  // namespace v0
}  // namespace distrib
