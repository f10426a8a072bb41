// SPDX-License-Identifier: Apache-2.0
// Counts the words of the Examples that text_to_records has written. The counts are Examples, too.
//
//     mapred pipes -conf examples/hadoop/own_records.xml -D mapreduce.job.reduces=2
//         -program hdfs:/bin/word_count -input file:/mnt/records -output file:/mnt/counts
//
// The same program runs with Java's reader and writer; see docs/guide/mapreduce.md.
#include <distrib/example/example_builder.hpp>
#include <distrib/example/example_view.hpp>
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
using distrib::hadoop::TaskContext;

struct Words {
  void begin(TaskContext& context) { words_ = context.counter("word count", "words"); }
  void map(ByteView key, ByteView, TaskContext& context) {
    const distrib::ExampleView example{key};
    example.find("text").for_each<ByteView>([&](ByteView text) { count(as_text(text), context); });
  }

 private:
  void count(std::string_view line, TaskContext& context) {
    while (!line.empty()) {
      const std::size_t end = line.find(' ');
      if (end != 0) {
        context.emit(line.substr(0, end), "1");
        context.increment(words_);
      }
      line.remove_prefix(end == std::string_view::npos ? line.size() : end + 1);
    }
  }
  distrib::hadoop::Counter words_{};
};

struct Sum {
  static auto sum(distrib::hadoop::Values& values) -> std::int64_t {
    std::int64_t sum = 0;
    for (const ByteView value : values) {
      std::int64_t number = 0;
      std::from_chars(as_text(value).data(), as_text(value).data() + value.size(), number);
      sum += number;
    }
    return sum;
  }
  void combine(ByteView key, distrib::hadoop::Values& values, TaskContext& context) {
    context.emit(as_text(key), std::to_string(sum(values)));
  }
  void reduce(ByteView key, distrib::hadoop::Values& values, TaskContext& context) {
    context.emit(example_.set("word", key).set("count", sum(values)).build(), {});
  }

 private:
  distrib::ExampleBuilder example_;
};

}  // namespace

int main() {
  try {
    return distrib::hadoop::run_task(Words{}, Sum{}, distrib::hadoop::TFRecordInput{},
                                     distrib::hadoop::TFRecordOutput{});
  } catch (const std::exception& failure) {
    std::fprintf(stderr, "%s\n", failure.what());
    return 1;
  }
}
