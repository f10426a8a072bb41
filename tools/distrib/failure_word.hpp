// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/error.hpp>

#include <string>
#include <system_error>

namespace tools {

/// Returns the kind of a failure as one word: the enumerator of `distrib::failure`. For a code without such a kind: the
/// name of its category, such as "generic".
[[nodiscard]] inline auto failure_word(const std::error_code& code) -> std::string {
  using distrib::failure;
  for (const failure kind :
       {failure::invalid_argument, failure::not_found, failure::corrupt, failure::mismatch, failure::unsupported,
        failure::exhausted, failure::unavailable, failure::timeout, failure::io}) {
    if (code != kind) continue;
    std::string word = make_error_condition(kind).message();
    for (char& c : word)
      if (c == ' ') c = '_';
    return kind == failure::io ? "io" : kind == failure::exhausted ? "exhausted" : word;
  }
  return code.category().name();
}

}  // namespace tools
