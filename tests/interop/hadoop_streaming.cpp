// SPDX-License-Identifier: Apache-2.0
// A word count over Streaming for hadoop_streaming.py. Argument: `raw` or `typed`, the encoding of keys and values.
#include <distrib/hadoop.hpp>

#include <charconv>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <string>
#include <string_view>

namespace {

using distrib::as_text;
using distrib::ByteView;
using distrib::hadoop::append_typed;
using distrib::hadoop::Bytes;
using distrib::hadoop::TaskContext;
using distrib::hadoop::typed_value;
using distrib::hadoop::TypedBytes;
using distrib::hadoop::Values;

template <class Found> void for_each_word(std::string_view line, Found&& found) {
  while (!line.empty()) {
    const std::size_t end = line.find(' ');
    if (end != 0) found(line.substr(0, end));
    line.remove_prefix(end == std::string_view::npos ? line.size() : end + 1);
  }
}

/// Reads and writes TFRecords: the key is a record.
struct RawCount {
  void begin(TaskContext& context) { words_ = context.counter("distrib", "words"); }
  void map(ByteView key, ByteView, TaskContext& context) {
    for_each_word(as_text(key), [&](std::string_view word) {
      context.emit(word, "1");
      context.increment(words_);
    });
  }
  void reduce(ByteView key, Values& values, TaskContext& context) {
    std::int64_t sum = 0;
    for (const ByteView value : values) sum += static_cast<std::int64_t>(value.size());  // each is "1"
    context.emit(std::string{as_text(key)} + "\t" + std::to_string(sum), "");
  }

 private:
  distrib::hadoop::Counter words_{};
};

/// Reads lines, and writes words and their counts, as typed values.
struct TypedCount {
  void map(ByteView, ByteView value, TaskContext& context) {
    for_each_word(as_text(typed_value(value).bytes()), [&](std::string_view word) {
      Bytes key;
      Bytes one;
      append_typed(key, word);
      append_typed(one, std::int32_t{1});
      context.emit(key, one);
    });
  }
  void reduce(ByteView key, Values& values, TaskContext& context) {
    std::int64_t sum = 0;
    for (const ByteView value : values) sum += typed_value(value).integer().value();
    Bytes total;
    append_typed(total, sum);
    context.emit(key, total);
  }
};

}  // namespace

int main(int argc, char** argv) {
  try {
    if (argc == 2 && std::string_view{argv[1]} == "typed")
      return distrib::hadoop::run_streaming<TypedBytes>(TypedCount{});
    return distrib::hadoop::run_streaming(RawCount{});
  } catch (const std::exception& failure) {
    std::fprintf(stderr, "%s\n", failure.what());
    return 1;
  }
}
