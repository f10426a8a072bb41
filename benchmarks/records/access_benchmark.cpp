// SPDX-License-Identifier: Apache-2.0
// Measures random access to records (row 10), building an index (row 11) and finding records in the middle of a file
// (row 12). The files are in the page cache and have 256 MiB, more than the processor's caches.
#include <distrib/data/order/permutation.hpp>
#include <distrib/record/index_file.hpp>
#include <distrib/record/mapped_file.hpp>
#include <distrib/record/record_index.hpp>
#include <distrib/record/record_reader.hpp>
#include <distrib/record/record_writer.hpp>
#include <distrib/record/resync.hpp>

#include <benchmark/benchmark.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <random>
#include <string>
#include <vector>

namespace {

constexpr std::size_t file_bytes = std::size_t{256} << 20;

/// Files with records of one size each. A file is made at its first use; all are removed at the end.
class Files {
 public:
  Files() {
    std::string pattern = (std::filesystem::temp_directory_path() / "distrib-benchmark-XXXXXX").string();
    if (::mkdtemp(pattern.data()) == nullptr) std::abort();
    directory_ = pattern;
  }
  Files(const Files&) = delete;
  ~Files() { std::filesystem::remove_all(directory_); }

  auto path(std::size_t record_bytes) -> std::string {
    const std::string path = directory_ / std::to_string(record_bytes);
    if (std::filesystem::exists(path)) return path;
    std::mt19937_64 random{record_bytes};
    std::vector<std::uint64_t> payload(record_bytes / 8 + 1);
    distrib::RecordWriter writer{path};
    for (std::size_t i = 0; i < file_bytes / record_bytes; ++i) {
      for (std::uint64_t& word : payload) word = random();
      writer.append(std::as_bytes(std::span{payload}).first(record_bytes));
    }
    writer.close();
    return path;
  }

 private:
  std::filesystem::path directory_;
};

auto files() -> Files& {
  static Files files;
  return files;
}

/// Opens the file and reads all records once, verified, in a shuffled order.
void shuffled(benchmark::State& state, std::size_t record_bytes) {
  constexpr std::size_t ahead = 8;
  const std::string path = files().path(record_bytes);
  if (!distrib::open_index(path, {.keep = true}).size()) state.SkipWithError("the file has no records");
  std::array<std::size_t, 4 * ahead> numbers{};  // numbers of the records at the positions around the current one
  std::size_t records = 0;
  std::size_t bytes = 0;
  for ([[maybe_unused]] auto iteration : state) {
    const distrib::RecordIndex index = distrib::open_index(path);
    const distrib::Permutation order{index.size(), 7, 0};
    for (std::size_t position = 0; position < index.size() + 2 * ahead; ++position) {
      const std::size_t number = static_cast<std::size_t>(order(position % index.size()));
      numbers[position % numbers.size()] = number;
      index.prefetch_offset(number);
      if (position >= ahead) index.prefetch(numbers[(position - ahead) % numbers.size()]);
      if (position >= 2 * ahead) bytes += index.at(numbers[(position - 2 * ahead) % numbers.size()]).bytes.size();
    }
    records += index.size();
  }
  state.SetItemsProcessed(static_cast<std::int64_t>(records));
  state.SetBytesProcessed(static_cast<std::int64_t>(bytes));
}

/// Opens the file and reads all records once, in their order in the file.
void in_order(benchmark::State& state, std::size_t record_bytes) {
  const std::string path = files().path(record_bytes);
  std::size_t records = 0;
  std::size_t bytes = 0;
  for ([[maybe_unused]] auto iteration : state) {
    distrib::RecordReader reader{path};
    while (const auto record = reader.try_next()) bytes += record->bytes.size();
    records += reader.number();
  }
  state.SetItemsProcessed(static_cast<std::int64_t>(records));
  state.SetBytesProcessed(static_cast<std::int64_t>(bytes));
}

void build_index(benchmark::State& state, std::size_t record_bytes) {
  const std::string path = files().path(record_bytes);
  std::size_t records = 0;
  for ([[maybe_unused]] auto iteration : state) records += distrib::RecordIndex{path}.size();
  state.SetItemsProcessed(static_cast<std::int64_t>(records));
}

void walk_headers(benchmark::State& state, std::size_t record_bytes) {
  const std::string path = files().path(record_bytes);
  std::size_t records = 0;
  for ([[maybe_unused]] auto iteration : state) {
    const distrib::MappedFile file{path};
    records += distrib::walk_headers(file.bytes(), 0).records;
  }
  state.SetItemsProcessed(static_cast<std::int64_t>(records));
}

/// Searches for a record in bytes where no record begins, so that all of them have to be searched.
void resynchronise(benchmark::State& state, const std::vector<std::byte>& bytes) {
  for ([[maybe_unused]] auto iteration : state) {
    distrib::RecordFinder finder{bytes};
    const auto found = finder.next(0);
    if (found) state.SkipWithError("a record was found where there is none");
  }
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(bytes.size()));
}

template <class T, class Draw>
auto drawn(const Draw& draw) -> std::vector<std::byte> {
  std::mt19937_64 random{5};
  std::vector<std::byte> bytes(std::size_t{128} << 20);
  for (std::size_t at = 0; at < bytes.size(); at += sizeof(T)) {
    const T value = draw(random());
    std::memcpy(bytes.data() + at, &value, sizeof value);
  }
  return bytes;
}

void add_resynchronise(const std::string& name, std::vector<std::byte> bytes) {
  benchmark::RegisterBenchmark(("row12/" + name + "/ours").c_str(),
                               [bytes = std::move(bytes)](benchmark::State& state) { resynchronise(state, bytes); });
}

}  // namespace

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  const std::pair<const char*, std::size_t> sizes[] = {
      {"100 B", 100}, {"1 KiB", 1 << 10}, {"10 KiB", 10 << 10}, {"100 KiB", 100 << 10}};
  for (const auto& [name, size] : sizes) {
    const std::string row10 = std::string{"row10/"} + name;
    const std::string row11 = std::string{"row11/"} + name;
    benchmark::RegisterBenchmark((row10 + "/ours").c_str(), shuffled, size);
    benchmark::RegisterBenchmark((row10 + "/in order").c_str(), in_order, size);
    benchmark::RegisterBenchmark((row11 + "/ours").c_str(), build_index, size);
    benchmark::RegisterBenchmark((row11 + "/header walk").c_str(), walk_headers, size);
  }
  using Word = std::uint64_t;
  add_resynchronise("image", drawn<Word>([](Word r) { return r; }));
  add_resynchronise("text", drawn<char>([](Word r) { return static_cast<char>(' ' + r % 95); }));
  add_resynchronise("float", drawn<float>([](Word r) { return static_cast<float>(r >> 40) / (1 << 24); }));
  add_resynchronise("integer floats", drawn<float>([](Word r) { return static_cast<float>(r % 100); }));
  add_resynchronise("int64", drawn<Word>([](Word r) { return r % 65536; }));
  add_resynchronise("int32 integers", drawn<std::uint32_t>([](Word r) { return static_cast<std::uint32_t>(r % 2); }));
  add_resynchronise("zeros", std::vector<std::byte>(std::size_t{128} << 20));
  benchmark::RunSpecifiedBenchmarks();
}
