// SPDX-License-Identifier: Apache-2.0
// A word count over Pipes for hadoop_pipes.py. The job's settings can make tasks die. Its records may be in HDFS.
#include <distrib/hadoop.hpp>
#include <distrib/hadoop/webhdfs_task_files.hpp>

#include <charconv>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <string>
#include <string_view>

namespace {

using distrib::as_text;
using distrib::ByteView;
using distrib::hadoop::TaskContext;

/// Ends the process like kill -9 at the hundredth call of `step`, but only in the first attempt of the task that
/// `test.die.map` or `test.die.reduce` names.
class Dies {
 public:
  void begin(TaskContext& context, std::string_view setting) {
    const bool is_named = context.conf().text(setting) == std::to_string(context.task_index());
    left_ = is_named && context.conf().text("mapreduce.task.attempt.id").ends_with("_0") ? 100 : 0;
  }
  void step() {
    if (left_ != 0 && --left_ == 0) std::raise(SIGKILL);
  }

 private:
  int left_ = 0;
};

/// Emits the words of a record, which is the key, or of a line, which is the value.
struct Words {
  void begin(TaskContext& context) {
    dies_.begin(context, "test.die.map");
    records_ = context.counter("distrib", "records");
    words_ = context.counter("distrib", "words");
    context.status("map " + std::to_string(context.task_index()));
  }
  void map(ByteView key, ByteView value, TaskContext& context) {
    dies_.step();
    context.increment(records_);
    const bool is_line = context.conf().text("test.words.in") == "value";
    std::string_view line = as_text(is_line ? value : key);
    while (!line.empty()) {
      const std::size_t end = line.find(' ');
      if (end != 0) context.emit(line.substr(0, end), "1");
      if (end != 0) context.increment(words_);
      line.remove_prefix(end == std::string_view::npos ? line.size() : end + 1);
    }
  }

 private:
  Dies dies_;
  distrib::hadoop::Counter records_{};
  distrib::hadoop::Counter words_{};
};

struct Sum {
  void begin(TaskContext& context) { dies_.begin(context, "test.die.reduce"); }
  void combine(ByteView key, distrib::hadoop::Values& values, TaskContext& context) {
    context.emit(as_text(key), sum(values));
  }
  void reduce(ByteView key, distrib::hadoop::Values& values, TaskContext& context) {
    const std::string total = sum(values);
    context.emit(std::string{as_text(key)} + "\t" + total, "");
    dies_.step();
  }

 private:
  static auto sum(distrib::hadoop::Values& values) -> std::string {
    std::int64_t sum = 0;
    for (const ByteView value : values) {
      std::int64_t number = 0;
      std::from_chars(as_text(value).data(), as_text(value).data() + value.size(), number);
      sum += number;
    }
    return std::to_string(sum);
  }
  Dies dies_;
};

/// Partitions words by their length; `hadoop_pipes.py` checks the same rule.
struct ByLength {
  auto partition(ByteView key, std::uint32_t reduces) const -> std::uint32_t {
    return static_cast<std::uint32_t>(key.size() % reduces);
  }
};

}  // namespace

int main() {
  try {
    using distrib::hadoop::WebHdfsTaskFiles;
    return distrib::hadoop::run_task(Words{}, Sum{}, ByLength{},
                                     distrib::hadoop::BasicTFRecordInput{WebHdfsTaskFiles{}},
                                     distrib::hadoop::BasicTFRecordOutput{WebHdfsTaskFiles{}});
  } catch (const std::exception& failure) {
    std::fprintf(stderr, "%s\n", failure.what());
    return 1;
  }
}
