// SPDX-License-Identifier: Apache-2.0
// Part of the optional component distrib::http.
#pragma once

#include <distrib/core/wipe.hpp>
#include <distrib/remote/s3/s3_time.hpp>

#include <optional>
#include <string>
#include <utility>

namespace distrib {
inline namespace v0 {

/// Text that must not stay in memory: the destructor overwrites it. A value. There is no way to print it but `text()`.
class SecretText {
 public:
  SecretText() = default;
  SecretText(std::string text) noexcept : text_{std::move(text)} {}  // NOLINT: implicit on purpose
  SecretText(const char* text) : text_{text} {}  // NOLINT: the same
  SecretText(const SecretText&) = default;
  SecretText(SecretText&& other) noexcept : text_{std::move(other.text_)} { other.wipe(); }
  auto operator=(SecretText other) noexcept -> SecretText& {
    text_.swap(other.text_);
    return *this;
  }
  ~SecretText() { wipe(); }

  /// Returns the text; valid as long as this object is not changed.
  [[nodiscard]] auto text() const noexcept -> const std::string& { return text_; }
  [[nodiscard]] auto empty() const noexcept -> bool { return text_.empty(); }
  auto operator==(const SecretText&) const -> bool = default;

 private:
  void wipe() noexcept {
    text_.resize(text_.capacity());  // a moved-from text may still have its characters
    detail::wipe(text_.data(), text_.size());
    text_.clear();
  }

  std::string text_;
};

/// Credentials of an object store: a key with its secret, or a bearer token. A value.
struct AwsKeys {
  std::string access_key = {};  ///< Public: "AKIA..."; for GCS the access id of an HMAC key.
  SecretText secret_key = {};
  SecretText session_token = {};  ///< Of temporary credentials; empty for others.
  SecretText bearer = {};  ///< An OAuth token for GCS. If there is one, nothing is signed.
  std::optional<UnixTime> expires = {};  ///< When temporary credentials end; empty: unknown, or never.

  auto operator==(const AwsKeys&) const -> bool = default;
};

}  // namespace v0
}  // namespace distrib
