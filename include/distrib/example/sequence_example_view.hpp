// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/bytes.hpp>
#include <distrib/core/decl.hpp>
#include <distrib/core/error.hpp>
#include <distrib/example/detail/walk.hpp>
#include <distrib/example/error.hpp>
#include <distrib/example/example_view.hpp>

#include <cstddef>
#include <string_view>
#include <system_error>
#include <type_traits>

namespace distrib {
inline namespace v0 {

namespace detail {

/// Passes the steps of a FeatureList to a function. A sink of `read_entry`.
template <class F> struct VisitSteps {
  F& visit;
  std::string_view name{};

  [[nodiscard]] auto begin(std::string_view key) noexcept -> bool {
    name = key;
    return true;
  }
  [[nodiscard]] auto value(ByteView list, unsigned levels) -> bool {
    FieldReader reader{list, levels};
    while (reader.next())
      if (reader.tag() == first_message) visit(FeatureView{reader.bytes(), false});
    return true;
  }
};

}  // namespace detail

/// One list of a serialized SequenceExample. Made by SequenceExampleView. Name and number of steps are found when it is
/// made; each call of `for_each` reads the bytes again. A view: the bytes must outlive it.
class FeatureListView {
 public:
  /// A list without a name and without steps.
  FeatureListView() = default;
  /// `entry`: an entry of the map, which must be well formed.
  DISTRIB_DECL explicit FeatureListView(ByteView entry) noexcept;

  /// Returns the name of the list: a view of the record.
  [[nodiscard]] auto name() const noexcept -> std::string_view { return name_; }
  /// Returns the number of steps, the Features of this list. It was counted when the view was made, so this reads no
  /// bytes.
  [[nodiscard]] auto size() const noexcept -> std::size_t { return size_; }

  /// Calls `visit` with the FeatureView of each step, in order; steps have no names.
  template <class F> void for_each(F&& visit) const {
    detail::VisitSteps<std::remove_reference_t<F>> steps{visit};
    (void)detail::read_entry(entry_, detail::most_levels - 2, steps);
  }

 private:
  ByteView entry_;
  std::string_view name_;
  std::size_t size_ = 0;
};

/// A serialized tf.train.SequenceExample whose features are not known in advance. Otherwise as ExampleView.
class SequenceExampleView {
 public:
  /// Throws `std::system_error` with `example_errc::malformed`.
  explicit SequenceExampleView(ByteView record) : record_{record} {
    if (!detail::is_sequence_example(record)) throw_error(example_errc::malformed, "SequenceExampleView");
  }
  /// This overload sets `ec` on failure instead of throwing; the view then has no features.
  DISTRIB_DECL SequenceExampleView(ByteView record, std::error_code& ec) noexcept;

  /// Returns the features of the context.
  [[nodiscard]] auto context() const -> ExampleView { return ExampleView{record_}; }

  /// Calls `visit` with the FeatureListViews in the order of the bytes. A name that occurs twice there is visited
  /// twice; the last one counts.
  template <class F> void for_each_list(F&& visit) const {
    detail::for_each_entry(record_, detail::second_message, [&](ByteView entry) { visit(FeatureListView{entry}); });
  }

 private:
  ByteView record_;
};

}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/example/impl/sequence_example_view.ipp>
#endif
