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

/// How the rows of an `Embedding` are created, kept and removed. The fields have the same meaning as in `TableInfo`.
struct EmbeddingOptions {
  /// The keys are 0 .. rows - 1, and each has a row from the start. 0: any 64-bit number is a key, and rows are created
  /// when keys are used.
  std::uint64_t rows = 0;
  /// A key gets its row at the update that is the `min_count`-th to contain it. 1: at the first. Above 4095 counts as
  /// 4095. The trainer throws `train_errc::bad_embedding` if this is 0, or if it is not 1 and `rows` is not 0.
  std::uint32_t min_count = 1;
  /// A key is removed if none of the last `evict_after` updates contained it; it may stay up to 126 updates longer. 0:
  /// no key is removed. The trainer throws `train_errc::bad_embedding` if neither this nor `rows` is 0.
  std::uint64_t evict_after = 0;
  /// Format in which the rows are kept where they are trained. The updater's slots always stay float32.
  FloatFormat kept_as = FloatFormat::float32;
  /// How keys are removed for `evict_after`. True: a few with each update. False: all with each 64th update, which then
  /// takes longer. A key is removed at another update with true than with false. Needs `evict_after`.
  bool evict_in_turns = false;
  /// Most keys that have a row, on all servers together: a table that never fills up. It counts as the next multiple of
  /// 1024, because each of 1024 virtual shards has the same limit. If an update makes more rows than a virtual shard may
  /// have, the keys of this virtual shard that were used least are removed; which keys, does not depend on the number of
  /// servers. A key that comes back begins with its initial row. Only for tables with `rows` 0; best above 65 536. 0: no
  /// limit, and a job ends when a server's memory is used up.
  std::uint64_t max_rows = 0;
  /// After this many updates a use counts as half a use: the updates of some days, for example. Counted in steps of 64
  /// updates, up to update 2^26 of the job: from then on nothing is halved. 0: all uses count the same, however long
  /// ago. Needs `max_rows`.
  std::uint64_t half_life = 0;
  /// Most keys without a row in one update, of all workers together: memory that a server sets aside beside that of
  /// `max_rows`. 0: a sixteenth of `max_rows`, at least 65 536. Needs `max_rows`.
  std::uint64_t max_new_keys = 0;
};

/// One table of a model, beside its variables: rows of `Dim` elements, found by key. A worker has only the rows that
/// its batch needs; the model names them in `lookups()`. Name, element type and row length are fixed at compile time,
/// the rest at run time. A value.
template <FixedString Name, class T, std::size_t Dim> class Embedding {
  static_assert(std::is_same_v<T, float>, "distrib: the element type of an Embedding must be float");
  static_assert(Dim >= 1 && Dim <= 65536, "distrib: a row of an Embedding must have 1 to 65536 elements");
  static_assert(valid_variable_name(Name.view()),
                "distrib: an Embedding needs a name without spaces, line ends or other control characters");

 public:
  using Element = T;
  static constexpr auto name = Name;  ///< Name of the table, a `FixedString`.
  static constexpr std::size_t dim = Dim;  ///< Number of elements of a row.

  /// Makes a table whose new rows are filled by `initializer`, by default evenly distributed over [-0.05, 0.05].
  Embedding(Initializer initializer = UniformInitializer{}, EmbeddingOptions options = {})  // NOLINT: `{{}, ...}`
      : initializer_{std::move(initializer)}, options_{options} {}

  /// Returns the same description for run-time code.
  [[nodiscard]] auto info() const -> TableInfo {
    return {std::string{Name.view()},
            static_cast<std::uint32_t>(Dim),
            options_.rows,
            initializer_,
            options_.min_count,
            options_.evict_after,
            options_.kept_as,
            options_.evict_in_turns,
            options_.max_rows,
            options_.half_life,
            options_.max_new_keys};
  }

 private:
  Initializer initializer_;
  EmbeddingOptions options_;
};

namespace detail {

/// True if `T` is an `Embedding`.
template <class T> inline constexpr bool is_embedding = false;

}  // namespace detail
template <FixedString Name, class T, std::size_t Dim>
inline constexpr bool detail::is_embedding<Embedding<Name, T, Dim>> = true;

}  // namespace v0
}  // namespace distrib
