// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/bytes.hpp>
#include <distrib/core/error.hpp>
#include <distrib/example/detail/walk.hpp>
#include <distrib/example/error.hpp>
#include <distrib/example/feature.hpp>

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <system_error>
#include <type_traits>

namespace distrib {
inline namespace v0 {

namespace detail {

/// Counts the values of a feature after its last change of kind. A sink of `read_entry`.
struct CountValues {
  std::string_view name;
  FeatureKind kind = FeatureKind::none;
  std::size_t changes = 0;  // number of changes of kind
  std::size_t count = 0;

  [[nodiscard]] auto begin(std::string_view key) noexcept -> bool {
    name = key;
    return true;
  }
  [[nodiscard]] auto value(ByteView feature, unsigned levels) noexcept -> bool {
    return read_feature(feature, levels, *this);
  }
  void kind_is(FeatureKind now) noexcept {
    if (kind == now) return;
    kind = now;
    ++changes;
    count = 0;
  }
  void bytes(ByteView) noexcept { ++count; }
  void floats(ByteView values) noexcept { count += values.size() / sizeof(float); }
  void int64(std::int64_t) noexcept { ++count; }
  [[nodiscard]] auto int64s(ByteView packed) noexcept -> bool {
    count += count_varints(packed);
    return true;
  }
};

/// Passes the values after `skip` changes of kind to a function, if they are of type T. A sink of `read_entry`.
template <class T, class F> struct VisitValues {
  F& visit;
  std::size_t skip;
  FeatureKind kind = FeatureKind::none;
  std::size_t changes = 0;

  [[nodiscard]] auto begin(std::string_view) noexcept -> bool { return true; }
  [[nodiscard]] auto value(ByteView feature, unsigned levels) -> bool { return read_feature(feature, levels, *this); }
  void kind_is(FeatureKind now) noexcept {
    changes += kind == now ? 0 : 1;
    kind = now;
  }
  void bytes(ByteView content) {
    if constexpr (std::is_same_v<T, ByteView>)
      if (changes == skip) visit(content);
  }
  void floats(ByteView values) {
    if constexpr (std::is_same_v<T, float>)
      for (std::size_t i = 0; changes == skip && i < values.size(); i += sizeof(float))
        visit(load_le<float>(values.data() + i));
  }
  void int64(std::int64_t number) {
    if constexpr (std::is_same_v<T, std::int64_t>)
      if (changes == skip) visit(number);
  }
  [[nodiscard]] auto int64s(ByteView packed) -> bool {
    const std::byte* at = packed.data();
    const std::byte* const end = at + packed.size();
    std::uint64_t number = 0;
    while (at != end && take_varint(at, end, number)) int64(static_cast<std::int64_t>(number));
    return true;
  }
};

}  // namespace detail

/// One feature of a serialized Example. Made by ExampleView. Name, kind and number of values are found when it is made;
/// each call of `for_each` reads the bytes again. A view: the bytes must outlive it.
class FeatureView {
 public:
  /// A feature without a name, a kind or values.
  FeatureView() = default;

  /// `bytes`: an entry of the map or, if `is_entry` is false, a Feature by itself, which has no name. They must be well
  /// formed.
  explicit FeatureView(ByteView bytes, bool is_entry = true) noexcept : bytes_{bytes}, is_entry_{is_entry} {
    (void)read(about_);
  }

  /// Returns the name of the feature: a view of the record.
  [[nodiscard]] auto name() const noexcept -> std::string_view { return about_.name; }
  /// Returns the kind of its list; `none` if no kind is set, which is not the same as an empty list.
  [[nodiscard]] auto kind() const noexcept -> FeatureKind { return about_.kind; }
  /// Returns the number of values; 0 if no kind is set. It was counted when the view was made.
  [[nodiscard]] auto size() const noexcept -> std::size_t { return about_.count; }

  /// Calls `visit` with each value, in order, if the values are of type T: float, std::int64_t or ByteView. Does not
  /// call it if the feature is of another kind.
  template <class T, class F> void for_each(F&& visit) const {
    detail::VisitValues<T, std::remove_reference_t<F>> sink{visit, about_.changes};
    if (about_.kind != FeatureKind::none) (void)read(sink);
  }

 private:
  template <class Sink> [[nodiscard]] auto read(Sink& sink) const -> bool {
    return is_entry_ ? detail::read_entry(bytes_, detail::most_levels - 2, sink)
                     : detail::read_feature(bytes_, detail::most_levels - 3, sink);
  }

  ByteView bytes_;
  bool is_entry_ = true;
  detail::CountValues about_;
};

/// A serialized tf.train.Example whose features are not known in advance: visits all of them, or finds one, without a
/// copy and without an allocation. Everything is checked once, in the constructor, by the rules of protobuf's parser.
///
///     ExampleView example{record};
///     example.for_each([](const FeatureView& feature) { print(feature.name(), feature.kind(), feature.size()); });
///     example.find("label").for_each<std::int64_t>([](std::int64_t label) { ... });
///
/// It also reads the context of a SequenceExample, which lies in the same place. A view of the bytes.
///
/// Threads: const access from any thread.
class ExampleView {
 public:
  /// Throws `std::system_error` with `example_errc::malformed`.
  explicit ExampleView(ByteView record) : record_{record} {
    if (!detail::is_example(record)) throw_error(example_errc::malformed, "ExampleView");
  }
  /// This overload sets `ec` on failure instead of throwing; the view then has no features.
  ExampleView(ByteView record, std::error_code& ec) noexcept : record_{record} {
    ec = {};
    if (detail::is_example(record)) return;
    record_ = {};
    ec = example_errc::malformed;
  }

  /// Calls `visit` with the features in the order of the bytes. A name that occurs twice there is visited twice; the
  /// last one counts.
  template <class F> void for_each(F&& visit) const {
    detail::for_each_entry(record_, detail::first_message, [&](ByteView entry) { visit(FeatureView{entry}); });
  }

  /// Returns the feature of this name (the last one, if it occurs twice); one without a name and a kind if there is
  /// none. Reads the record once.
  [[nodiscard]] auto find(std::string_view name) const -> FeatureView {
    FeatureView found;
    for_each([&](const FeatureView& feature) {
      if (feature.name() == name) found = feature;
    });
    return found;
  }

  /// True if there is a feature of this name, even without a kind.
  [[nodiscard]] auto contains(std::string_view name) const -> bool {
    bool found = false;
    for_each([&](const FeatureView& feature) { found = found || feature.name() == name; });
    return found;
  }

 private:
  ByteView record_;
};

}  // namespace v0
}  // namespace distrib
