// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/data/batch_source.hpp>
#include <distrib/example/schema.hpp>

namespace distrib {
inline namespace v0 {
namespace detail {

template <class... Fs> struct RecordOf {
  using Type = void;
};
template <class E, class M, class... Fs> struct RecordOf<Feature<E, M>, Fs...> {
  using Type = E;
};

}  // namespace detail

/// The calls of `schema` with features, which all kinds of record files have. `Files` derives from it, has
/// `schema(const Schema<E, Ms...>&)`, which makes the data set, and takes these calls over: `using
/// SchemaCalls<Files>::schema;`.
template <class Files> class SchemaCalls {
 public:
  /// Says which feature of a record fills which member: `schema(feature("label", &Digit::label), ...)`. Throws
  /// `std::system_error` with `example_errc::duplicate_feature` if two features have the same name, or if a member is
  /// bound twice.
  template <class... Fs>
    requires(detail::is_feature_of<Fs, typename detail::RecordOf<Fs...>::Type> && ...)
  [[nodiscard]] auto schema(Fs... features) const {
    using E = typename detail::RecordOf<Fs...>::Type;
    return static_cast<const Files&>(*this).schema(Schema<E, typename Fs::Member...>{features...});
  }
  template <class... Fs> auto schema(Fs...) const -> detail::NoDataset {
    detail::explain_schema<typename detail::RecordOf<Fs...>::Type, Fs...>();
    return {};
  }
};

}  // namespace v0
}  // namespace distrib
