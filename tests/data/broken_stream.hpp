// SPDX-License-Identifier: Apache-2.0
// A stream in which some elements cannot be read.
#pragma once

#include <distrib/core/error.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

/// Returns the given numbers in order; a negative number is a failure instead.
class BrokenStream {
 public:
  using Element = int;

  explicit BrokenStream(std::vector<int> numbers) : numbers_{std::move(numbers)} {}

  auto next(distrib::Error& error) -> std::optional<int> {
    if (next_ == numbers_.size()) return std::nullopt;
    const int number = numbers_[next_++];
    if (number >= 0) return number;
    error = {std::make_error_code(std::errc::io_error), "element " + std::to_string(-number)};
    return std::nullopt;
  }
  void rewind(std::uint64_t, distrib::Error&) { next_ = 0; }
  auto describe() const -> std::string { return "broken"; }

 private:
  std::vector<int> numbers_;
  std::size_t next_ = 0;
};
