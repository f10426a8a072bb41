// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/error.hpp>
#include <distrib/record/any_byte_source.hpp>
#include <distrib/record/ranged_file.hpp>

#include <concepts>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace distrib {
inline namespace v0 {

/// Holds `RangedFiles` of any type, and is one itself: so one unit of a program knows which servers there are, and the
/// others only read. A value; copies share the files.
///
/// Threads: as the files that it holds.
class AnyRangedFiles {
 public:
  template <class F>
    requires(!std::same_as<F, AnyRangedFiles>) && RangedFiles<F>
  explicit AnyRangedFiles(F files) : files_{std::make_shared<const Of<F>>(std::move(files))} {}

  [[nodiscard]] auto name() const -> std::string { return files_->name(); }
  [[nodiscard]] auto find(Error& error) const -> std::vector<std::string> { return files_->find(error); }
  [[nodiscard]] auto open(const std::string& name) const -> AnyByteSource { return files_->open(name); }
  [[nodiscard]] auto ranged(const std::string& name, Error& error) const -> std::optional<RangedFile> {
    return files_->ranged(name, error);
  }

 private:
  struct Any {
    Any() = default;
    Any(const Any&) = delete;
    auto operator=(const Any&) -> Any& = delete;
    virtual ~Any() = default;
    [[nodiscard]] virtual auto name() const -> std::string = 0;
    [[nodiscard]] virtual auto find(Error& error) const -> std::vector<std::string> = 0;
    [[nodiscard]] virtual auto open(const std::string& name) const -> AnyByteSource = 0;
    [[nodiscard]] virtual auto ranged(const std::string& name, Error& error) const -> std::optional<RangedFile> = 0;
  };

  template <class F>
  struct Of final : Any {
    explicit Of(F of) : files{std::move(of)} {}
    [[nodiscard]] auto name() const -> std::string override { return files.name(); }
    [[nodiscard]] auto find(Error& error) const -> std::vector<std::string> override { return files.find(error); }
    [[nodiscard]] auto open(const std::string& file) const -> AnyByteSource override {
      if constexpr (std::same_as<decltype(files.open(file)), AnyByteSource>) return files.open(file);
      else return AnyByteSource{files.open(file)};
    }
    [[nodiscard]] auto ranged(const std::string& file, Error& error) const -> std::optional<RangedFile> override {
      return files.ranged(file, error);
    }

    F files;
  };

  std::shared_ptr<const Any> files_;
};
static_assert(RangedFiles<AnyRangedFiles>);

}  // namespace v0
}  // namespace distrib
