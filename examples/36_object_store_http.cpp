// SPDX-License-Identifier: Apache-2.0
// Records in an object store: written there, then read as a stream and as a data set. Argument: where, for example
// 36_object_store_http s3://bucket/digits, or gs://bucket/digits. Without an argument, no server answers.
#include <distrib/data/remote_tfrecords.hpp>
#include <distrib/example/example_builder.hpp>
#include <distrib/net/io_pool.hpp>
#include <distrib/record/frame.hpp>
#include <distrib/remote/s3/s3_client.hpp>
#include <distrib/remote/s3/s3_files.hpp>
#include <distrib/remote/s3/s3_writer.hpp>

#include <cstdio>
#include <string>
#include <system_error>

struct Digit {
  std::int64_t label;
};

void write(const std::string& object, const distrib::S3Options& options) {
  distrib::S3Writer writer{object, options};  // readers see the whole object or none
  for (int label = 0; label < 10; ++label) {
    distrib::ExampleBuilder example;
    const distrib::ByteView payload = example.set("label", label).build();
    writer.write(distrib::encode_record_header(payload.size()));
    writer.write(payload);
    writer.write(distrib::encode_record_footer(payload));
  }
  writer.close();
}

auto count(const std::string& objects, const distrib::S3Options& options) -> int {
  auto records = distrib::tfrecords(distrib::s3(objects, options)).stream();
  distrib::Error error;
  int found = 0;
  while (records.next(error)) ++found;
  throw_if(error);  // names the object and the host, and quotes the store's code and request id
  return found;
}

auto sum(const std::string& objects, const distrib::S3Options& options) -> std::int64_t {
  const auto digits = distrib::tfrecords(distrib::s3(objects, options))
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

void lock_once(const std::string& url, const distrib::S3Options& options) {
  distrib::S3Client client{url, options};
  distrib::Error error;
  client.put_if_absent("digits/owner", distrib::as_bytes("me"), error);
  std::printf("%s\n", error.code == distrib::s3_errc::condition_failed ? "another one was first" : "mine");
}

auto main(int argc, char** argv) -> int {
  const std::string directory = argc > 1 ? argv[1] : "s3+http://localhost:1/bucket/digits";
  distrib::IoPool pool{16};  // its threads wait for the network
  distrib::S3Options options{.pool = &pool};
  if (argc == 1) {
    options.retry.attempts = 1;
    options.anonymous = true;
  }
  try {
    if (argc > 1) write(directory + "/part-0", options);
    const int records = count(directory + "/part-*", options);
    std::printf("%d records, labels sum up to %d\n", records, static_cast<int>(sum(directory + "/", options)));
    lock_once(directory, options);
  } catch (const std::system_error& error) {
    std::printf("%s\n", error.what());
    return argc > 1 ? 1 : 0;
  }
}
