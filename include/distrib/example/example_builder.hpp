// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/bytes.hpp>
#include <distrib/core/decl.hpp>
#include <distrib/core/protowire.hpp>
#include <distrib/example/detail/feature_encoder.hpp>
#include <distrib/example/feature.hpp>

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace distrib {
inline namespace v0 {

namespace detail {

/// Messages by name, and the map that has them (field 1, key 1, value 2), in the order of the names.
template <class Name> class NamedMessages {
 public:
  /// Returns the message of this name; adds an empty one if there is none.
  auto at(std::string_view name) -> WireWriter& {
    const auto place = std::lower_bound(entries_.begin(), entries_.end(), name,
                                        [](const Entry& entry, std::string_view n) { return entry.name < n; });
    if (place != entries_.end() && place->name == name) return place->message;
    return entries_.insert(place, Entry{Name{name}, {}})->message;
  }

  void write(WireWriter& to, std::uint32_t field) const {
    if (entries_.empty()) return;
    to.message(field, [this](WireWriter& map) {
      for (const Entry& entry : entries_)
        map.message(1, [&entry](WireWriter& one) {
          one.text(1, entry.name);
          one.bytes(2, entry.message.view());
        });
    });
  }

  void clear() noexcept { entries_.clear(); }

 private:
  struct Entry {
    Name name;
    WireWriter message;
  };
  std::vector<Entry> entries_;
};

/// Appends the content of a Feature to `to`.
DISTRIB_DECL void write_feature(WireWriter& to, const FeatureValues& values);

template <class T> [[nodiscard]] auto feature_values(std::span<const T> values) noexcept -> FeatureValues {
  constexpr FeatureKind kind = MemberTraits<T>::kind;
  return {kind, reinterpret_cast<const std::byte*>(values.data()), values.size()};
}

}  // namespace detail

/// Builds one serialized tf.train.Example whose features are known only at run time. Equal features make equal bytes,
/// in whatever order they were set: names are sorted, and each list is one packed piece. For features that fit into a
/// struct, ExampleWriter is faster. `Name` holds the names: std::string (`ExampleBuilder`), or std::string_view for
/// names that outlive the builder. A value.
template <class Name> class BasicExampleBuilder {
 public:
  /// Sets a feature, replacing what it had. An empty list still has a kind. Throws only `std::bad_alloc`.
  auto set(std::string_view name, std::span<const std::int64_t> values) -> BasicExampleBuilder& {
    return put(name, detail::feature_values(values));
  }
  auto set(std::string_view name, std::span<const float> values) -> BasicExampleBuilder& {
    return put(name, detail::feature_values(values));
  }
  auto set(std::string_view name, std::span<const ByteView> values) -> BasicExampleBuilder& {
    return put(name, detail::feature_values(values));
  }
  /// Sets a feature to a single value. Integers of every type become int64.
  template <std::integral T> auto set(std::string_view name, T value) -> BasicExampleBuilder& {
    const auto number = static_cast<std::int64_t>(value);
    return set(name, std::span<const std::int64_t>{&number, 1});
  }
  auto set(std::string_view name, float value) -> BasicExampleBuilder& {
    return set(name, std::span<const float>{&value, 1});
  }
  auto set(std::string_view name, ByteView value) -> BasicExampleBuilder& {
    return set(name, std::span<const ByteView>{&value, 1});
  }
  auto set(std::string_view name, std::string_view value) -> BasicExampleBuilder& { return set(name, as_bytes(value)); }

  /// Sets a feature without a kind, which most readers treat as missing.
  auto set_none(std::string_view name) -> BasicExampleBuilder& { return put(name, {}); }

  /// Returns the bytes of the Example, valid until the next `build()`; no bytes if there are no features.
  [[nodiscard]] auto build() -> ByteView {
    wire_.clear();
    features_.write(wire_, 1);
    return wire_.view();
  }

  /// Removes all features.
  void clear() noexcept { features_.clear(); }

 private:
  auto put(std::string_view name, const detail::FeatureValues& values) -> BasicExampleBuilder& {
    WireWriter& feature = features_.at(name);
    feature.clear();
    detail::write_feature(feature, values);
    return *this;
  }

  template <class> friend class BasicSequenceExampleBuilder;

  detail::NamedMessages<Name> features_;
  WireWriter wire_;
};

/// Builds one serialized tf.train.SequenceExample. Otherwise as BasicExampleBuilder. A value.
template <class Name> class BasicSequenceExampleBuilder {
 public:
  /// Returns the features of the context, to set them.
  [[nodiscard]] auto context() noexcept -> BasicExampleBuilder<Name>& { return context_; }

  /// Adds a feature list without steps, unless it exists.
  auto list(std::string_view name) -> BasicSequenceExampleBuilder& {
    (void)lists_.at(name);
    return *this;
  }
  /// Adds a step with these values to a feature list.
  auto add(std::string_view name, std::span<const std::int64_t> values) -> BasicSequenceExampleBuilder& {
    return step(name, detail::feature_values(values));
  }
  auto add(std::string_view name, std::span<const float> values) -> BasicSequenceExampleBuilder& {
    return step(name, detail::feature_values(values));
  }
  auto add(std::string_view name, std::span<const ByteView> values) -> BasicSequenceExampleBuilder& {
    return step(name, detail::feature_values(values));
  }
  /// Adds a step without a kind.
  auto add_none(std::string_view name) -> BasicSequenceExampleBuilder& { return step(name, {}); }

  /// Returns the bytes of the SequenceExample, valid until the next `build()`; no bytes if there is nothing in it.
  [[nodiscard]] auto build() -> ByteView {
    wire_.clear();
    context_.features_.write(wire_, 1);
    lists_.write(wire_, 2);
    return wire_.view();
  }

  /// Removes context and lists.
  void clear() noexcept {
    context_.clear();
    lists_.clear();
  }

 private:
  auto step(std::string_view name, const detail::FeatureValues& values) -> BasicSequenceExampleBuilder& {
    lists_.at(name).message(1, [&values](WireWriter& feature) { detail::write_feature(feature, values); });
    return *this;
  }

  BasicExampleBuilder<Name> context_;
  detail::NamedMessages<Name> lists_;
  WireWriter wire_;
};

/// The builder that most programs use.
using ExampleBuilder = BasicExampleBuilder<std::string>;
/// The builder that most programs use.
using SequenceExampleBuilder = BasicSequenceExampleBuilder<std::string>;

}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/example/impl/example_builder.ipp>
#endif
