// SPDX-License-Identifier: Apache-2.0
// Records in HDFS: written there, then read as a stream and as a data set. Arguments: an hdfs:// directory and, if that
// names no host, the name nodes: 23_remote_files_http hdfs://namenode/digits. Without arguments, no server answers.
#include <distrib/data/remote_tfrecords.hpp>
#include <distrib/example/example_builder.hpp>
#include <distrib/net/io_pool.hpp>
#include <distrib/record/frame.hpp>
#include <distrib/remote/webhdfs.hpp>
#include <distrib/remote/webhdfs_writer.hpp>

#include <cstdio>
#include <string>
#include <system_error>

struct Digit {
  std::int64_t label;
};

void write(const std::string& file, const distrib::WebHdfsOptions& options) {
  distrib::WebHdfsWriter writer{file, options};  // readers see the whole file or none
  for (int label = 0; label < 10; ++label) {
    distrib::ExampleBuilder example;
    const distrib::ByteView payload = example.set("label", label).build();
    writer.write(distrib::encode_record_header(payload.size()));
    writer.write(payload);
    writer.write(distrib::encode_record_footer(payload));
  }
  writer.close();
}

auto count(const std::string& files, const distrib::WebHdfsOptions& options) -> int {
  auto records = distrib::tfrecords(distrib::webhdfs(files, options)).stream();
  distrib::Error error;
  int found = 0;
  while (records.next(error)) ++found;
  throw_if(error);  // names the file, the record and the host, and has Hadoop's own message
  return found;
}

auto sum(const std::string& files, const distrib::WebHdfsOptions& options) -> std::int64_t {
  const auto digits = distrib::tfrecords(distrib::webhdfs(files, options))
                          .schema(distrib::feature("label", &Digit::label))
                          .shuffle(7)
                          .batch(5)
                          .open();
  std::int64_t labels = 0;
  distrib::Batch<Digit> batch;
  for (std::uint64_t step = 0; step < 2; ++step) {
    digits.fill(step, batch);
    for (const std::int64_t label : batch.column(&Digit::label)) labels += label;
  }
  return labels;
}

auto main(int argc, char** argv) -> int {
  const std::string directory = argc > 1 ? argv[1] : "webhdfs://localhost:1/digits";
  distrib::IoPool pool{4};  // its threads wait for the network
  distrib::WebHdfsOptions options{.user = "me", .pool = &pool};
  for (int i = 2; i < argc; ++i) options.namenodes.push_back(argv[i]);
  if (argc == 1) options.retry.attempts = 1;
  try {
    if (argc > 1) write(directory + "/part-0", options);
    const int records = count(directory + "/part-*", options);
    std::printf("%d records, labels sum up to %d\n", records, static_cast<int>(sum(directory, options)));
  } catch (const std::system_error& error) {
    std::printf("%s\n", error.what());
    return argc > 1 ? 1 : 0;
  }
}
