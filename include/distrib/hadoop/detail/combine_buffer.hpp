// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/bytes.hpp>
#include <distrib/hadoop/task_context.hpp>

#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace distrib {
inline namespace v0 {
namespace hadoop::detail {

/// Collects the pairs that a map emits, by key, and calls the combiner when they exceed a limit.
template <class Combine> class CombineBuffer {
 public:
  /// Collects up to `most_bytes`, where each pair counts with 64 more, or one pair more. `out` receives the pairs that
  /// the combiner emits.
  CombineBuffer(Combine& combiner, TaskContext& context, std::size_t most_bytes,
                std::function<void(ByteView, ByteView)> out)
      : combiner_{combiner}, context_{context}, most_bytes_{most_bytes}, out_{std::move(out)} {}

  /// Adds a pair that the map emitted. If it is called while the combiner runs, the pair is from the combiner: it goes
  /// to `out`.
  void add(ByteView key, ByteView value) {
    if (combining_) return out_(key, value);
    constexpr std::size_t beside = 64;  // memory of a pair besides its bytes
    auto found = pairs_.find(as_text(key));
    if (found == pairs_.end()) found = pairs_.try_emplace(std::string{as_text(key)}).first;
    found->second.emplace_back(as_text(value));
    bytes_ += key.size() + value.size() + beside;
    if (bytes_ > most_bytes_) flush();
  }

  /// Combines all collected pairs, in the byte order of their keys.
  void flush() {
    const auto pairs = std::exchange(pairs_, {});
    bytes_ = 0;
    combining_ = true;
    for (const auto& [key, list] : pairs) {
      std::size_t at = 0;
      const std::vector<std::string>& of_key = list;
      Values values{[&at, &of_key]() -> std::optional<ByteView> {
        return at < of_key.size() ? std::optional{as_bytes(of_key[at++])} : std::nullopt;
      }};
      combiner_.combine(as_bytes(key), values, context_);
    }
    combining_ = false;
  }

 private:
  Combine& combiner_;
  TaskContext& context_;
  std::size_t most_bytes_;
  std::function<void(ByteView, ByteView)> out_;
  std::map<std::string, std::vector<std::string>, std::less<>> pairs_;
  std::size_t bytes_ = 0;
  bool combining_ = false;
};

}  // namespace hadoop::detail
}  // namespace v0
}  // namespace distrib
