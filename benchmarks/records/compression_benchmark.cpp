// SPDX-License-Identifier: Apache-2.0
// Row 13: compares reading and verifying a gzip file of records, which compress like click logs, with zlib inflating
// the same file into a buffer without reading the result. Also compares two threads with one on a gzip file of several
// members, and writing with zlib. Bytes are inflated bytes.
#include <distrib/data/parallel_record_reader.hpp>
#include <distrib/net/io_pool.hpp>
#include <distrib/record/record_reader.hpp>
#include <distrib/record/record_writer.hpp>
#if __has_include(<isa-l/igzip_lib.h>)
#include <distrib/record/frame.hpp>
#include <distrib/record/isal.hpp>
#endif

#include <benchmark/benchmark.h>

#include <unistd.h>
#include <zlib.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

namespace {

using distrib::Compression;

constexpr std::int64_t inflated_bytes = 64 << 20;
constexpr std::size_t buffer_bytes = 256 << 10;

/// Records of about 600 bytes: 39 features by name, small counts and a few thousand ids.
auto records() -> const std::vector<std::string>& {
  static const std::vector<std::string> made = [] {
    std::vector<std::string> result;
    std::uint64_t state = 1;
    const auto below = [&](std::uint64_t bound) {
      state = state * 6364136223846793005ULL + 1442695040888963407ULL;
      return (state >> 33) % bound;
    };
    for (std::int64_t total = 0; total < inflated_bytes;) {
      std::string text;
      for (int i = 0; i < 39; ++i) {
        text += "\x0a\x0f\x0a" + std::string(i < 13 ? "I" : "C") + std::to_string(i) + "\x12\x08\x1a\x06";
        const std::uint64_t id = below(4) == 0 ? below(std::uint64_t{1} << 32) : below(64) * 0x9E3779B1ULL;
        text.append(reinterpret_cast<const char*>(&id), i < 13 ? 3 : 5);
      }
      total += static_cast<std::int64_t>(text.size() + distrib::record_frame_bytes);
      result.push_back(std::move(text));
    }
    return result;
  }();
  return made;
}

auto framed_bytes() -> std::int64_t {
  std::int64_t sum = 0;
  for (const std::string& one : records()) sum += static_cast<std::int64_t>(one.size() + distrib::record_frame_bytes);
  return sum;
}

/// The records as a file in memory, removed at the end.
class File {
 public:
  explicit File(const distrib::RecordWriterOptions& options, const char* name) {
    path_ = std::string{::access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp"} + "/distrib-benchmark." +
            std::to_string(::getpid()) + name;
    distrib::RecordWriter writer{path_, options};
    for (const std::string& one : records()) writer.append(distrib::as_bytes(one));
    writer.close();
  }
  File(const File&) = delete;
  ~File() { ::unlink(path_.c_str()); }
  [[nodiscard]] auto path() const -> const std::string& { return path_; }

 private:
  std::string path_;
};

auto one_stream() -> const std::string& {
  static const File file{{.compression = Compression::gzip, .member_bytes = 0}, ".gz"};
  return file.path();
}

auto members() -> const std::string& {
  static const File file{{.compression = Compression::gzip}, ".members.gz"};
  return file.path();
}

template <class Reader>
void drain(Reader& reader) {
  std::uint64_t sum = 0;
  while (const auto record = reader.try_next()) sum += record->bytes.size();
  if (reader.error()) std::abort();
  benchmark::DoNotOptimize(sum);
}

template <class Inflater>
void read(benchmark::State& state, const std::string& path) {
  for ([[maybe_unused]] auto iteration : state) {
    distrib::BasicRecordReader<Inflater> reader{path};
    drain(reader);
  }
  state.SetBytesProcessed(state.iterations() * framed_bytes());
}

/// Reads with two threads: one of the pool, and the caller, which inflates members that the pool has not begun.
template <class Inflater>
void read_ahead(benchmark::State& state, const std::string& path) {
  distrib::IoPool pool{1};
  for ([[maybe_unused]] auto iteration : state) {
    distrib::BasicParallelRecordReader<Inflater> reader{pool, path};
    if (!reader.parallel()) std::abort();
    drain(reader);
  }
  state.SetBytesProcessed(state.iterations() * framed_bytes());
}

void read_zlib(benchmark::State& state, const std::string& path) {
  std::vector<Bytef> in(buffer_bytes);
  std::vector<Bytef> out(buffer_bytes);
  for ([[maybe_unused]] auto iteration : state) {
    std::FILE* const file = std::fopen(path.c_str(), "rb");
    std::setvbuf(file, nullptr, _IONBF, 0);
    z_stream stream{};
    ::inflateInit2(&stream, 15 + 16);
    int result = Z_OK;
    while (result != Z_STREAM_END) {
      if (stream.avail_in == 0) {
        stream.next_in = in.data();
        stream.avail_in = static_cast<uInt>(std::fread(in.data(), 1, in.size(), file));
      }
      stream.next_out = out.data();
      stream.avail_out = static_cast<uInt>(out.size());
      result = ::inflate(&stream, Z_NO_FLUSH);
      if (result < Z_OK) std::abort();
    }
    ::inflateEnd(&stream);
    std::fclose(file);
  }
  state.SetBytesProcessed(state.iterations() * framed_bytes());
}

template <class Deflater>
void write(benchmark::State& state, int level) {
  const std::string path = one_stream() + ".written";
  for ([[maybe_unused]] auto iteration : state) {
    distrib::BasicRecordWriter<Deflater> writer{path, {.compression = Compression::gzip, .deflate = {.level = level}}};
    for (const std::string& one : records()) writer.append(distrib::as_bytes(one));
    writer.close();
  }
  ::unlink(path.c_str());
  state.SetBytesProcessed(state.iterations() * framed_bytes());
}

void write_zlib(benchmark::State& state, int level) {
  const std::string path = one_stream() + ".written";
  std::vector<Bytef> out(buffer_bytes);
  std::string in;
  for (const std::string& one : records()) in += std::string(distrib::record_frame_bytes, '\0') + one;
  for ([[maybe_unused]] auto iteration : state) {
    std::FILE* const file = std::fopen(path.c_str(), "wb");
    std::setvbuf(file, nullptr, _IONBF, 0);
    z_stream stream{};
    ::deflateInit2(&stream, level, Z_DEFLATED, 15 + 16, 9, Z_DEFAULT_STRATEGY);
    stream.next_in = reinterpret_cast<Bytef*>(in.data());
    stream.avail_in = static_cast<uInt>(in.size());
    int result = Z_OK;
    while (result != Z_STREAM_END) {
      stream.next_out = out.data();
      stream.avail_out = static_cast<uInt>(out.size());
      result = ::deflate(&stream, Z_FINISH);
      std::fwrite(out.data(), 1, out.size() - stream.avail_out, file);
    }
    ::deflateEnd(&stream);
    std::fclose(file);
  }
  ::unlink(path.c_str());
  state.SetBytesProcessed(state.iterations() * framed_bytes());
}

template <class Run>
auto add(const char* name, Run run) -> benchmark::internal::Benchmark* {
  return benchmark::RegisterBenchmark(name, run);
}

}  // namespace

auto main(int argc, char** argv) -> int {
  using benchmark::State;
  using distrib::Deflater;
  using distrib::Inflater;
  add("row13/read/ours", [](State& state) { read<Inflater>(state, one_stream()); });
  add("row13/read/zlib", [](State& state) { read_zlib(state, one_stream()); });
  add("row13/members/ours_two_threads", [](State& state) { read_ahead<Inflater>(state, members()); })->UseRealTime();
  add("row13/members/one_thread", [](State& state) { read<Inflater>(state, members()); })->UseRealTime();
  add("write_gzip/level1/ours", [](State& state) { write<Deflater>(state, 1); });
  add("write_gzip/level1/zlib", [](State& state) { write_zlib(state, 1); });
#if __has_include(<isa-l/igzip_lib.h>)
  add("row13/read/ours_isal", [](State& state) { read<distrib::IsalInflater>(state, one_stream()); });
  add("row13/members_isal/ours_two_threads", [](State& state) {
    read_ahead<distrib::IsalInflater>(state, members());
  })->UseRealTime();
  add("row13/members_isal/one_thread", [](State& state) {
    read<distrib::IsalInflater>(state, members());
  })->UseRealTime();
  add("write_gzip/level1/ours_isal", [](State& state) { write<distrib::IsalDeflater>(state, 1); });
#endif
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
}
