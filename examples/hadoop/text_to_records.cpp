// SPDX-License-Identifier: Apache-2.0
// A job without reduces: each line of a text becomes a tf.train.Example with its offset and its text.
//
//     mapred pipes -conf examples/hadoop/own_records.xml -D mapreduce.pipes.isjavarecordreader=true
//         -D mapreduce.job.reduces=0 -program hdfs:/bin/text_to_records -input hdfs:/text -output file:/mnt/records
#include <distrib/example/example_builder.hpp>
#include <distrib/hadoop.hpp>

#include <cstdio>
#include <exception>

namespace {

struct TextToRecords {
  /// From Java's TextInputFormat: the key is the offset of the line, 8 bytes; the value is the line.
  void map(distrib::ByteView key, distrib::ByteView value, distrib::hadoop::TaskContext& context) {
    const auto offset = distrib::hadoop::WritableReader{key}.big_endian<std::int64_t>();
    context.emit(example_.set("offset", offset).set("text", value).build(), {});
  }

 private:
  distrib::ExampleBuilder example_;
};

}  // namespace

int main() {
  try {
    return distrib::hadoop::run_task(TextToRecords{}, distrib::hadoop::TFRecordOutput{});
  } catch (const std::exception& failure) {
    std::fprintf(stderr, "%s\n", failure.what());
    return 1;
  }
}
