// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/bytes.hpp>
#include <distrib/hadoop/task_context.hpp>

#include <cstdint>
#include <string>
#include <string_view>

/// Roles for the tasks of the tests.
namespace word_count {

using distrib::as_text;
using distrib::ByteView;
using distrib::hadoop::Counter;
using distrib::hadoop::TaskContext;
using distrib::hadoop::Values;

/// Emits the words of the value, or of the key if the value is empty.
struct Words {
  void begin(TaskContext& context) { lines_ = context.counter("words", "lines"); }
  void map(ByteView key, ByteView value, TaskContext& context) {
    std::string_view rest = as_text(value.empty() ? key : value);
    while (!rest.empty()) {
      const std::size_t end = rest.find(' ');
      if (end != 0) context.emit(rest.substr(0, end), "1");
      rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
    }
    context.increment(lines_);
  }

 private:
  Counter lines_{};
};

/// Emits the sum of the values, which are decimal numbers. Also a combiner.
struct Sum {
  void reduce(ByteView key, Values& values, TaskContext& context) {
    std::uint64_t sum = 0;
    for (const ByteView value : values) sum += std::stoull(std::string{as_text(value)});
    context.emit(as_text(key), std::to_string(sum));
  }
  void combine(ByteView key, Values& values, TaskContext& context) { reduce(key, values, context); }
};

/// Partitions keys by the length of the word.
struct ByLength {
  auto partition(ByteView key, std::uint32_t reduces) const -> std::uint32_t {
    return static_cast<std::uint32_t>(key.size()) % reduces;
  }
};

}  // namespace word_count
