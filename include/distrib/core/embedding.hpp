// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/fixed_string.hpp>
#include <distrib/core/float_format.hpp>
#include <distrib/core/initializer.hpp>
#include <distrib/core/table_info.hpp>
#include <distrib/core/variable_name.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <type_traits>
#include <utility>

namespace distrib {
inline namespace v0 {

/// How the rows of an `Embedding` come and go: see `TableInfo`.
struct EmbeddingOptions {
  std::uint64_t rows = 0;  ///< Keys are 0 .. rows - 1, each with a row from the start; 0: any 64 bits are a key.
  std::uint32_t min_count = 1;  ///< Of any keys: one gets a row when so many contributions had it.
  std::uint64_t evict_after = 0;  ///< Of any keys: a row that no contribution had for so many steps goes; 0: none does.
  FloatFormat kept_as = FloatFormat::float32;  ///< Where they are trained, whatever their updater keeps beside them.
};

/// One table of a model, beside its variables: rows of `Dim` elements found by key. A worker has only the rows that its
/// batch needs, which the model's `lookups()` tells. Name, element type and length of a row at compile time; the rest at
/// run time. A value.
template <FixedString Name, class T, std::size_t Dim> class Embedding {
  static_assert(std::is_same_v<T, float>, "distrib: the element type of an Embedding must be float");
  static_assert(Dim >= 1 && Dim <= 65536, "distrib: a row of an Embedding has 1 to 65536 elements");
  static_assert(valid_variable_name(Name.view()),
                "distrib: an Embedding needs a name without spaces, line ends or other control characters");

 public:
  using Element = T;
  static constexpr auto name = Name;
  static constexpr std::size_t dim = Dim;

  /// Rows start evenly spread over [-0.05, 0.05] unless told.
  Embedding(Initializer initializer = UniformInitializer{}, EmbeddingOptions options = {})  // NOLINT: `{{}, ...}`
      : initializer_{std::move(initializer)}, options_{options} {}

  /// The same for run-time code.
  [[nodiscard]] auto info() const -> TableInfo {
    return {std::string{Name.view()},
            static_cast<std::uint32_t>(Dim),
            options_.rows,
            initializer_,
            options_.min_count,
            options_.evict_after,
            options_.kept_as};
  }

 private:
  Initializer initializer_;
  EmbeddingOptions options_;
};

namespace detail {

/// Whether `T` is an `Embedding`.
template <class T> inline constexpr bool is_embedding = false;

}  // namespace detail
template <FixedString Name, class T, std::size_t Dim>
inline constexpr bool detail::is_embedding<Embedding<Name, T, Dim>> = true;

}  // namespace v0
}  // namespace distrib
