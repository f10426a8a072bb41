// SPDX-License-Identifier: Apache-2.0
// Measures reading records from files in the page cache, with every checksum verified. Row 1 compares it with a sum
// over the same mapping, which no reader can beat. Row 2 compares it with a usual reader, which copies each record into
// a string. Row 3 compares reading through a buffer with the sum. Row 4 measures the checksum alone. The files are in
// the directory for temporary files.
#include <distrib/record/frame.hpp>
#include <distrib/record/record_reader.hpp>
#include <distrib/record/record_writer.hpp>

#include <benchmark/benchmark.h>

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <optional>
#include <random>
#include <string>
#include <vector>

namespace {

using distrib::ByteView;
using distrib::load_le;

/// The algorithm of google/crc32c: single bytes up to an address that is a multiple of 8, then blocks in which three
/// chains of the crc instruction run in parallel and are combined with tables, then words, then bytes.
namespace google {

template <std::size_t chain_bytes>
struct Block {
  /// The tables that advance a state by `chain_bytes` zero bytes, four bits at a time.
  static constexpr auto skip = [] {
    std::array<std::array<std::uint32_t, 16>, 8> table{};
    for (std::size_t nibble = 0; nibble < 8; ++nibble)
      for (std::uint32_t value = 0; value < 16; ++value) {
        std::uint32_t power = 0x80000000U;
        std::uint32_t square = 0x00800000U;  // x^8
        for (std::size_t left = chain_bytes; left != 0;
             left /= 2, square = distrib::detail::crc32c_product(square, square))
          if (left % 2 != 0) power = distrib::detail::crc32c_product(power, square);
        table[nibble][value] = distrib::detail::crc32c_product(value << 4 * nibble, power);
      }
    return table;
  }();

  static auto moved(std::uint32_t state) -> std::uint32_t {
    std::uint32_t sum = 0;
    for (std::size_t nibble = 0; nibble < 8; ++nibble) sum ^= skip[nibble][(state >> 4 * nibble) & 15];
    return sum;
  }

  __attribute__((target("sse4.2"))) static auto run(std::uint32_t state, const std::byte*& at, std::size_t& left)
      -> std::uint32_t {
    for (; left >= 3 * chain_bytes; left -= 3 * chain_bytes, at += 3 * chain_bytes) {
      std::uint64_t a = state;
      std::uint64_t b = 0;
      std::uint64_t c = 0;
      for (std::size_t i = 0; i < chain_bytes; i += 8) {
        a = __builtin_ia32_crc32di(a, load_le<std::uint64_t>(at + i));
        b = __builtin_ia32_crc32di(b, load_le<std::uint64_t>(at + chain_bytes + i));
        c = __builtin_ia32_crc32di(c, load_le<std::uint64_t>(at + 2 * chain_bytes + i));
      }
      state =
          moved(moved(static_cast<std::uint32_t>(a)) ^ static_cast<std::uint32_t>(b)) ^ static_cast<std::uint32_t>(c);
    }
    return state;
  }
};

__attribute__((target("sse4.2"), noinline)) auto crc32c(ByteView bytes) -> std::uint32_t {
  const std::byte* at = bytes.data();
  std::size_t left = bytes.size();
  std::uint32_t state = 0xFFFFFFFFU;
  for (; left != 0 && reinterpret_cast<std::uintptr_t>(at) % 8 != 0; ++at, --left)
    state = __builtin_ia32_crc32qi(state, static_cast<unsigned char>(*at));
  state = Block<1360>::run(state, at, left);
  state = Block<336>::run(state, at, left);
  std::uint64_t wide = state;
  for (; left >= 8; at += 8, left -= 8) wide = __builtin_ia32_crc32di(wide, load_le<std::uint64_t>(at));
  state = static_cast<std::uint32_t>(wide);
  for (; left != 0; ++at, --left) state = __builtin_ia32_crc32qi(state, static_cast<unsigned char>(*at));
  return ~state;
}

}  // namespace google

/// A usual reader: reads 256 KiB of the file at a time, and copies each record into a string that is reused.
class CopyingReader {
 public:
  explicit CopyingReader(const std::string& path) : file_{::open(path.c_str(), O_RDONLY | O_CLOEXEC)} {}
  CopyingReader(const CopyingReader&) = delete;
  ~CopyingReader() { ::close(file_); }

  auto next(std::string& record) -> bool {
    if (!take(record, 12)) return false;
    const ByteView header = distrib::as_bytes(record);
    const auto length = load_le<std::uint64_t>(header.data());
    if (distrib::mask_crc(google::crc32c(header.first(8))) != load_le<std::uint32_t>(header.data() + 8)) return false;
    if (!take(record, length + 4)) return false;
    const ByteView payload = distrib::as_bytes(record).first(length);
    if (distrib::mask_crc(google::crc32c(payload)) != load_le<std::uint32_t>(payload.data() + length)) return false;
    record.resize(length);
    return true;
  }

 private:
  auto take(std::string& to, std::size_t size) -> bool {
    to.clear();
    while (to.size() < size) {
      if (at_ == end_) {
        const ssize_t count = ::read(file_, buffer_.data(), buffer_.size());
        if (count <= 0) return false;
        at_ = 0;
        end_ = static_cast<std::size_t>(count);
      }
      const std::size_t part = std::min(size - to.size(), end_ - at_);
      to.append(buffer_.data() + at_, part);
      at_ += part;
    }
    return true;
  }

  int file_;
  std::string buffer_ = std::string(256 << 10, '\0');
  std::size_t at_ = 0;
  std::size_t end_ = 0;
};

__attribute__((target("avx2"), noinline)) auto sum_of(ByteView bytes) -> std::uint64_t {
  using Vector = std::uint64_t __attribute__((vector_size(32)));
  std::array<Vector, 4> sums{};
  std::size_t at = 0;
  for (; bytes.size() - at >= 128; at += 128)
    for (std::size_t i = 0; i < 4; ++i) {
      Vector vector;
      std::memcpy(&vector, bytes.data() + at + 32 * i, sizeof vector);
      sums[i] += vector;
    }
  std::uint64_t sum = 0;
  for (const Vector& vector : sums) sum += vector[0] + vector[1] + vector[2] + vector[3];
  for (; at < bytes.size(); ++at) sum += static_cast<std::uint64_t>(bytes[at]);
  return sum;
}

struct Case {
  const char* name;
  std::size_t least;
  std::size_t most;
};
constexpr Case cases[] = {
    {"100 B", 100, 100},
    {"50-150 B random", 50, 150},
    {"1 KiB", 1 << 10, 1 << 10},
    {"0.5-1.5 KiB random", 512, 1536},
    {"10 KiB", 10 << 10, 10 << 10},
    {"100 KiB", 100 << 10, 100 << 10},
    {"1 MiB", 1 << 20, 1 << 20},
};
constexpr std::size_t file_bytes = 128 << 20;

/// One file for each case; all are removed at the end.
class Files {
 public:
  Files() {
    std::string pattern = (std::filesystem::temp_directory_path() / "distrib-benchmark-XXXXXX").string();
    if (::mkdtemp(pattern.data()) == nullptr) std::abort();
    directory_ = pattern;
    std::vector<std::byte> bytes(2 << 20);
    std::mt19937_64 random{1};
    for (std::byte& byte : bytes) byte = static_cast<std::byte>(random());
    for (const Case& one : cases) {
      distrib::RecordWriter writer{path(one)};
      for (std::size_t written = 0; written < file_bytes;) {
        const std::size_t size = one.least + random() % (one.most - one.least + 1);
        writer.append(ByteView{bytes}.subspan(random() % (1 << 20), size));
        written += size + distrib::record_frame_bytes;
      }
      writer.close();
      mappings_[static_cast<std::size_t>(&one - cases)] = distrib::MappedFile{path(one)};
    }
  }
  Files(const Files&) = delete;
  ~Files() { std::filesystem::remove_all(directory_); }

  [[nodiscard]] auto path(const Case& one) const -> std::string { return directory_ / one.name; }
  /// Returns the whole file, which is mapped once.
  [[nodiscard]] auto bytes(const Case& one) const -> ByteView {
    return mappings_[static_cast<std::size_t>(&one - cases)].bytes();
  }

 private:
  std::filesystem::path directory_;
  std::array<distrib::MappedFile, std::size(cases)> mappings_;
};

std::optional<Files> files;

/// Adds a benchmark of `read(one)`, which returns how many bytes it has read.
template <class Read>
void add(const std::string& row, const Case& one, const char* name, Read read) {
  const auto run = [&one, read](benchmark::State& state) {
    std::size_t bytes = 0;
    for ([[maybe_unused]] auto iteration : state) {
      const std::size_t seen = read(one);
      if (seen < file_bytes) state.SkipWithError("the file was not read to its end");
      bytes += seen;
    }
    state.SetBytesProcessed(static_cast<std::int64_t>(bytes));
  };
  benchmark::RegisterBenchmark((row + '/' + one.name + '/' + name).c_str(), run);
}

auto all_of(distrib::RecordReader reader) -> std::size_t {
  std::size_t bytes = 0;
  for (const distrib::Record& record : reader) {
    benchmark::DoNotOptimize(record.bytes.data());
    bytes += record.bytes.size() + distrib::record_frame_bytes;
  }
  return bytes;
}
auto mapped(const Case& one) -> std::size_t { return all_of(distrib::RecordReader{files->bytes(one), one.name}); }
auto buffered(const Case& one) -> std::size_t {
  return all_of(
      distrib::RecordReader{files->path(one), {.access = distrib::RecordReaderOptions::FileAccess::buffered}});
}

auto copied(const Case& one) -> std::size_t {
  CopyingReader reader{files->path(one)};
  std::string record;
  std::size_t bytes = 0;
  while (reader.next(record)) {
    benchmark::DoNotOptimize(record.data());
    bytes += record.size() + distrib::record_frame_bytes;
  }
  return bytes;
}

auto summed(const Case& one) -> std::size_t {
  benchmark::DoNotOptimize(sum_of(files->bytes(one)));
  return files->bytes(one).size();
}

/// Adds a benchmark of the checksum of `size` bytes.
template <class Checksum>
void add_checksum(const char* name, std::size_t size, Checksum checksum) {
  benchmark::RegisterBenchmark(name, [size, checksum](benchmark::State& state) {
    const std::vector<std::byte> bytes(size, std::byte{1});
    for ([[maybe_unused]] auto iteration : state) benchmark::DoNotOptimize(checksum(ByteView{bytes}));
    state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(size));
  });
}

}  // namespace

auto main(int argc, char** argv) -> int {
  for (const Case& one : cases) {
    add("row1", one, "ours", mapped);
    add("row1", one, "sum", summed);
    if (one.least != one.most) continue;
    add("row2", one, "ours", mapped);
    add("row2", one, "copying_reader", copied);
    add("row3", one, "ours", buffered);
    add("row3", one, "sum", summed);
  }
  const auto checksum = [](ByteView bytes) { return distrib::crc32c(bytes); };
  add_checksum("row4/4 KiB/ours", 4 << 10, checksum);
  add_checksum("row4/4 KiB/google_crc32c", 4 << 10, google::crc32c);
  add_checksum("row4/64 KiB/ours", 64 << 10, checksum);
  add_checksum("row4/64 KiB/google_crc32c", 64 << 10, google::crc32c);
  add_checksum("row4/memory/ours", 256 << 20, checksum);
  add_checksum("row4/memory/sum", 256 << 20, sum_of);
  benchmark::Initialize(&argc, argv);
  files.emplace();
  benchmark::RunSpecifiedBenchmarks();
  files.reset();
  return 0;
}
