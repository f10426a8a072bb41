// SPDX-License-Identifier: Apache-2.0
// The reverse job, also without reduces: the text of each Example, written by Java's TextOutputFormat, which does not
// write keys that are NullWritable. C++ reads the records, so Hadoop can divide a large file among many maps.
//
//     mapred pipes -conf examples/hadoop/own_records.xml -D mapreduce.pipes.isjavarecordwriter=true
//         -D mapreduce.job.reduces=0 -D mapreduce.job.output.key.class=org.apache.hadoop.io.NullWritable
//         -D mapreduce.job.output.value.class=org.apache.hadoop.io.Text
//         -program hdfs:/bin/records_to_text -input file:/mnt/records -output hdfs:/text-again
#include <distrib/example/example_view.hpp>
#include <distrib/hadoop.hpp>

#include <cstdio>
#include <exception>

namespace {

struct RecordsToText {
  void map(distrib::ByteView key, distrib::ByteView, distrib::hadoop::TaskContext& context) {
    const distrib::ExampleView example{key};
    example.find("text").for_each<distrib::ByteView>([&](distrib::ByteView text) { context.emit({}, text); });
  }
};

}  // namespace

int main() {
  try {
    return distrib::hadoop::run_task(RecordsToText{}, distrib::hadoop::TFRecordInput{});
  } catch (const std::exception& failure) {
    std::fprintf(stderr, "%s\n", failure.what());
    return 1;
  }
}
