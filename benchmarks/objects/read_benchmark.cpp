// SPDX-License-Identifier: Apache-2.0
// Records of 1 KiB in an object store, and the same files on this machine. The keys come from the environment.
//
// usage: read_benchmark write|rates|memory|whole|upload DIRECTORY URL [MIB]
//
// write   writes MIB (2048) of records into DIRECTORY/local and below URL; prints the number of records
// rates   prints MiB of records a second, as JSON: in global order from DIRECTORY/local, and from the store by a cache
//         in DIRECTORY, from the second epoch on; by blocks of 1 MiB and of 4 MiB and as a stream from the store,
//         without a cache
// memory  prints, as JSON, the largest anonymous memory in KiB while the records are opened and read in global order,
//         for two epochs with a cache, and for 1000 batches without
// whole   prints MiB a second of reading all objects by `S3File`, one after the other
// upload  prints MiB a second of writing URL/upload, of MIB, by `S3Writer`, in parts of 16 MiB
#include <distrib/data/batch_reader.hpp>
#include <distrib/data/remote_tfrecords.hpp>
#include <distrib/data/tfrecords.hpp>
#include <distrib/example/example_builder.hpp>
#include <distrib/record/sharded_writer.hpp>
#include <distrib/remote/s3/s3_files.hpp>
#include <distrib/remote/s3/s3_sharded_writer.hpp>
#include <distrib/remote/s3/s3_writer.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>
#include <thread>
#include <vector>

namespace {

struct Item {
  std::int64_t id;
  std::span<const std::byte> text;
};

constexpr std::size_t shards = 8, text_bytes = 980, batch = 64;
constexpr std::uint64_t cache_bytes = std::uint64_t{64} << 30;

auto described(const auto& records) {
  return records.schema(distrib::feature("id", &Item::id), distrib::feature("text", &Item::text));
}

void write(const std::string& directory, const std::string& url, const distrib::S3Options& options,
           std::uint64_t bytes) {
  std::filesystem::create_directories(directory + "/local");
  distrib::ShardedRecordWriter here{directory + "/local/train", shards, {.index = true}};
  distrib::S3ShardedWriter there{url + "/train", shards, options};
  std::string text(text_bytes, 'x');
  std::uint64_t written = 0;
  std::int64_t id = 0;
  for (; written < bytes; ++id) {
    for (std::size_t i = 0; i < 8; ++i) text[i] = static_cast<char>('a' + (id >> (4 * i)) % 16);
    distrib::ExampleBuilder example;
    const distrib::ByteView payload = example.set("id", id).set("text", text).build();
    here.append(payload);
    there.append(payload);
    written += payload.size() + 16;
  }
  here.close();
  there.close();
  std::printf("%lld\n", static_cast<long long>(id));
}

/// Returns MiB a second of one epoch.
auto rate(const auto& source, distrib::BatchReader<std::remove_cvref_t<decltype(source)>>& reader) -> double {
  const auto began = std::chrono::steady_clock::now();
  std::uint64_t bytes = 0;
  for (std::uint64_t i = 0; i < source.records() / batch; ++i) {
    const auto* const next = reader.next();
    for (std::size_t k = 0; k < next->size(); ++k) bytes += (*next)[k].text.size();
  }
  return static_cast<double>(bytes) / std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count() /
         (1 << 20);
}

auto stream_rate(const auto& records) -> double {
  auto stream = records.stream();
  const auto began = std::chrono::steady_clock::now();
  std::uint64_t bytes = 0;
  distrib::Error error;
  while (const auto record = stream.next(error)) bytes += record->bytes.size();
  throw_if(error);
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
  return static_cast<double>(bytes) / seconds / (1 << 20);
}

auto median(std::vector<double> values) -> double {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

void rates(const std::string& directory, const distrib::S3Files& objects) {
  const auto local = described(distrib::tfrecords(directory + "/local/train-*")).shuffle(7).batch(batch).open();
  std::filesystem::remove_all(directory + "/cache");
  const auto cached =
      described(distrib::tfrecords(objects)).shuffle(7).batch(batch).cache(directory + "/cache", cache_bytes).open();
  const auto shuffled_by = [&objects](const distrib::Blocks& blocks) {
    return described(distrib::tfrecords(objects)).shuffle(7, blocks).batch(batch).open();
  };
  const auto blocks = shuffled_by({.records = 1024, .at_once = 64});
  const auto long_blocks = shuffled_by({.records = 4096, .at_once = 16});  // as many records are mixed
  distrib::BatchReader from_local{local};
  distrib::BatchReader from_cache{cached};
  distrib::BatchReader by_blocks{blocks};
  distrib::BatchReader by_long_blocks{long_blocks};
  const double first = rate(cached, from_cache);
  static_cast<void>(rate(local, from_local));
  std::vector<double> here, there, ratios, in_blocks, in_long_blocks, streamed, of_stream, long_of_stream;
  for (int i = 0; i < 5; ++i) {
    here.push_back(rate(local, from_local));
    there.push_back(rate(cached, from_cache));
    ratios.push_back(there.back() / here.back());
  }
  for (int i = 0; i < 3; ++i) {
    streamed.push_back(stream_rate(distrib::tfrecords(objects)));
    in_blocks.push_back(rate(blocks, by_blocks));
    of_stream.push_back(in_blocks.back() / streamed.back());
    in_long_blocks.push_back(rate(long_blocks, by_long_blocks));
    long_of_stream.push_back(in_long_blocks.back() / streamed.back());
  }
  std::printf(
      "{\"local\":%.1f,\"first\":%.1f,\"cached\":%.1f,\"cached_of_local\":%.3f,\"stream\":%.1f,\"blocks\":%.1f,"
      "\"blocks_of_stream\":%.3f,\"long_blocks\":%.1f,\"long_blocks_of_stream\":%.3f}\n",
      median(here), first, median(there), median(ratios), median(streamed), median(in_blocks), median(of_stream),
      median(in_long_blocks), median(long_of_stream));
}

auto anonymous_kib() -> std::uint64_t {
  std::ifstream status{"/proc/self/status"};
  for (std::string word; status >> word;)
    if (word == "RssAnon:") {
      std::uint64_t kib = 0;
      status >> kib;
      return kib;
    }
  return 0;
}

/// Returns the largest anonymous memory while `work` runs.
auto peak_kib(const std::function<void()>& work) -> std::uint64_t {
  std::atomic<bool> ended = false;
  std::uint64_t most = anonymous_kib();
  std::thread looks{[&] {
    for (; !ended; std::this_thread::sleep_for(std::chrono::milliseconds{5})) most = std::max(most, anonymous_kib());
  }};
  work();
  ended = true;
  looks.join();
  return most;
}

void memory(const std::string& directory, const distrib::S3Files& objects) {
  const std::uint64_t without = peak_kib([&] {
    const auto source = described(distrib::tfrecords(objects)).shuffle(7).batch(batch).open();
    distrib::BatchReader reader{source};
    for (int i = 0; i < 1000; ++i) static_cast<void>(reader.next());
  });
  std::filesystem::remove_all(directory + "/cache");
  const std::uint64_t cached = peak_kib([&] {
    const auto source =
        described(distrib::tfrecords(objects)).shuffle(7).batch(batch).cache(directory + "/cache", cache_bytes).open();
    distrib::BatchReader reader{source};
    for (std::uint64_t i = 0; i < 2 * (source.records() / batch); ++i) static_cast<void>(reader.next());
  });
  std::printf("{\"without\":%llu,\"cached\":%llu}\n", static_cast<unsigned long long>(without),
              static_cast<unsigned long long>(cached));
}

void whole(const distrib::S3Files& objects) {
  distrib::Error error;
  std::vector<std::byte> block(1 << 20);
  std::uint64_t bytes = 0;
  const auto began = std::chrono::steady_clock::now();
  for (const std::string& name : objects.find(error)) {
    auto file = objects.open(name);
    while (const std::size_t count = file.read(block, error)) bytes += count;
  }
  throw_if(error);
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
  std::printf("%.1f\n", static_cast<double>(bytes) / seconds / (1 << 20));
}

void upload(const std::string& url, const distrib::S3Options& options, std::uint64_t bytes) {
  const std::vector<std::byte> block(1 << 20, std::byte{'x'});
  const auto began = std::chrono::steady_clock::now();
  distrib::S3Writer writer{url + "/upload", options};
  for (std::uint64_t written = 0; written < bytes; written += block.size()) writer.write(block);
  writer.close();
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
  std::printf("%.1f\n", static_cast<double>(bytes) / seconds / (1 << 20));
}

}  // namespace

int main(int argc, char** argv) try {
  if (argc < 4) return 64;
  const std::string what = argv[1], directory = argv[2], url = argv[3];
  distrib::IoPool waiting{16};
  const distrib::S3Options options{.pool = &waiting};
  const distrib::S3Files objects = distrib::s3(url + "/train-*", options);
  const std::uint64_t mib = argc > 4 ? std::stoull(argv[4]) : 2048;
  if (what == "write") write(directory, url, options, mib << 20);
  else if (what == "upload") upload(url, options, mib << 20);
  else if (what == "rates") rates(directory, objects);
  else if (what == "memory") memory(directory, objects);
  else if (what == "whole") whole(objects);
  else return 64;
  return 0;
} catch (const std::exception& error) {
  std::fprintf(stderr, "error: %s\n", error.what());
  return 70;
}
