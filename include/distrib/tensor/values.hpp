// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/bytes.hpp>
#include <distrib/core/fixed_string.hpp>
#include <distrib/core/variables.hpp>
#include <distrib/tensor/view.hpp>

#include <cstddef>
#include <cstring>
#include <span>
#include <vector>

namespace distrib::inline v0 {

namespace detail {

/// All variables of a model in one block, laid out by `block_offsets`.
template <class Variables>
class VariableBlock {
  static_assert(is_variable_list<Variables>, "distrib: Values and Gradients take a VariableList");

 public:
  explicit VariableBlock(const Variables& variables) : VariableBlock{variables.infos()} {}
  explicit VariableBlock(const std::vector<VariableInfo>& infos)
      : offsets_{block_offsets(infos)}, memory_{offsets_.back()} {
    for (const VariableInfo& info : infos) shapes_.push_back(info.shape);
  }

  [[nodiscard]] auto shape(std::size_t index) const noexcept -> const Shape& { return shapes_[index]; }
  [[nodiscard]] auto data(std::size_t index) noexcept -> std::byte* { return memory_.data() + offsets_[index]; }
  [[nodiscard]] auto data(std::size_t index) const noexcept -> const std::byte* {
    return memory_.data() + offsets_[index];
  }

  /// The whole block, gaps of the alignment included (they are zero).
  [[nodiscard]] auto bytes() noexcept -> std::span<std::byte> { return memory_.bytes(); }
  [[nodiscard]] auto bytes() const noexcept -> ByteView { return memory_.bytes(); }

 private:
  std::vector<std::size_t> offsets_;
  std::vector<Shape> shapes_;
  AlignedBuffer memory_;
};

}  // namespace detail

/// The values of all variables of a model at one step. Owns its memory: contiguous, row-major, each variable 64-byte
/// aligned. Movable; a model sees it const. Threads: const access from any.
template <class Variables>
class Values : public detail::VariableBlock<Variables> {
 public:
  using detail::VariableBlock<Variables>::VariableBlock;
};

/// Where a model writes one gradient per variable; arrives zeroed. Laid out like `Values`. Threads: one at a time.
template <class Variables>
class Gradients : public detail::VariableBlock<Variables> {
 public:
  using detail::VariableBlock<Variables>::VariableBlock;

  void zero() noexcept {
    if (!this->bytes().empty()) std::memset(this->bytes().data(), 0, this->bytes().size());
  }
};

namespace detail {
struct Poison {};  // returned where a sentence of ours was the answer, so that nothing else is reported

template <class Variables, FixedString Name>
inline constexpr bool has_variable = Variables::index_of(Name.view()) < Variables::size;

/// Shown by the compiler with the names there are, when a name is not among them.
template <FixedString Misspelt, class Variables>
struct no_variable_of_this_name : std::false_type {};
}  // namespace detail

/// The variable called `Name` as an xtensor view that can be read: `get<"hidden/weights">(values)`. Valid as long as
/// `values`. A name that is not in the model's list does not compile, and the message shows the names there are.
template <FixedString Name, class Variables>
  requires detail::has_variable<Variables, Name>
[[nodiscard]] auto get(const Values<Variables>& values) {
  constexpr std::size_t index = Variables::index_of(Name.view());
  using V = typename Variables::template At<index>;
  return tensor_view<V::rank>(reinterpret_cast<const typename V::Element*>(values.data(index)), values.shape(index));
}

/// The gradient of the variable called `Name` as an xtensor view that can be written. Valid as long as `gradients`.
template <FixedString Name, class Variables>
  requires detail::has_variable<Variables, Name>
[[nodiscard]] auto get(Gradients<Variables>& gradients) {
  constexpr std::size_t index = Variables::index_of(Name.view());
  using V = typename Variables::template At<index>;
  return tensor_view<V::rank>(reinterpret_cast<typename V::Element*>(gradients.data(index)), gradients.shape(index));
}

// The speaking twins: same parameter lists, so the constrained ones win whenever the name exists.
template <FixedString Name, class Variables>
auto get(const Values<Variables>&) -> detail::Poison {
  static_assert(detail::no_variable_of_this_name<Name, Variables>::value,
                "distrib: get<NAME>: the model has no variable of this NAME; the list beside it shows those it has");
  return {};
}
template <FixedString Name, class Variables>
auto get(Gradients<Variables>&) -> detail::Poison {
  static_assert(detail::no_variable_of_this_name<Name, Variables>::value,
                "distrib: get<NAME>: the model has no variable of this NAME; the list beside it shows those it has");
  return {};
}

}  // namespace distrib::inline v0
