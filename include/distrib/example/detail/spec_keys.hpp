// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/bytes.hpp>
#include <distrib/core/error.hpp>
#include <distrib/example/detail/feature_slot.hpp>
#include <distrib/example/feature_spec.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

namespace distrib {
inline namespace v0 {
namespace detail {

/// What the specs describe: features of an Example (or of a context), or feature lists of a SequenceExample.
enum class SpecSection : std::uint8_t { features, feature_lists };

/// The specs in the order of their names, and the keys that they need from the records. Each key has one slot.
class SpecKeys {
 public:
  /// On failure sets `error` to `example_errc::bad_spec` or `duplicate_feature`, with the feature and the reason.
  DISTRIB_DECL SpecKeys(std::span<const NamedSpec> specs, SpecSection section, Error& error);

  [[nodiscard]] auto specs() const noexcept -> const std::vector<const NamedSpec*>& { return sorted_; }
  /// Returns the owner of the default values to which views in the result point.
  [[nodiscard]] auto owned() const noexcept -> std::shared_ptr<const void> { return owned_; }
  [[nodiscard]] auto slots() const noexcept -> std::span<FeatureSlot> { return {slots_.get(), keys_.size()}; }
  /// Returns the position of `key` among the slots; it must be one of the keys.
  [[nodiscard]] DISTRIB_DECL auto index_of(std::string_view key) const noexcept -> std::size_t;
  [[nodiscard]] auto slot(std::string_view key) const noexcept -> FeatureSlot& { return slots_[index_of(key)]; }

  /// Returns the number of values in a block of this shape; -1 if an extent is unknown, or there are too many.
  [[nodiscard]] DISTRIB_DECL static auto elements(const FeatureShape& shape) noexcept -> std::int64_t;

 private:
  static constexpr std::int64_t most_elements = std::int64_t{1} << 31;

  enum class Role : std::uint8_t { dense, sparse, ragged };
  struct Key {
    std::string_view name;
    Role role;
    FeatureKind kind;
    const FeatureSpec* fixed;  // null for a list
    std::size_t count;
  };

  DISTRIB_DECL static void refuse(Error& error, std::string_view name, std::string_view why);

  DISTRIB_DECL void add(const NamedSpec& named, SpecSection section, Error& error);

  DISTRIB_DECL void need(std::string_view name, Role role, FeatureKind kind, const FeatureSpec* fixed, Error& error);

  DISTRIB_DECL auto fallback_of(const FeatureDefault& values) -> const std::byte*;

 public:
  /// Returns the key of the feature that has the values of a spec: its `value_key`, or its name if that is empty.
  [[nodiscard]] DISTRIB_DECL static auto value_key(const NamedSpec& named) noexcept -> std::string_view;

 private:
  std::shared_ptr<const std::vector<NamedSpec>> owned_;
  std::vector<const NamedSpec*> sorted_;
  std::vector<Key> keys_;
  std::vector<std::vector<ByteView>> default_bytes_;
  std::unique_ptr<FeatureSlot[]> slots_;
};

}  // namespace detail
}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/example/detail/impl/spec_keys.ipp>
#endif
