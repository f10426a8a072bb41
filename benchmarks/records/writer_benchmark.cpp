// SPDX-License-Identifier: Apache-2.0
// Row 5: compares writing records to a new file in memory with calling write() for one warm buffer of 256 KiB until the
// file has the same size. Both include creating, closing and removing the file.
#include <distrib/record/frame.hpp>
#include <distrib/record/record_writer.hpp>

#include <benchmark/benchmark.h>

#include <fcntl.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

namespace {

constexpr std::int64_t file_bytes = 64 << 20;

/// Returns a path in memory if the system has /dev/shm (otherwise in /tmp), so that no disk is measured.
auto file_path() -> std::string {
  const std::string directory = ::access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp";
  return directory + "/distrib-writer-benchmark." + std::to_string(::getpid());
}

void ours(benchmark::State& state, std::size_t record_bytes) {
  // Payloads come one after another from one block, as in a program. Large payloads do not fit into the caches.
  const std::size_t frame = record_bytes + distrib::record_frame_bytes;
  const std::size_t block_bytes = std::max<std::size_t>(256 << 10, record_bytes);
  const std::vector<std::byte> block(block_bytes, std::byte{'x'});
  const std::string path = file_path();
  const std::size_t records = file_bytes / frame;
  for ([[maybe_unused]] auto iteration : state) {
    distrib::RecordWriter writer{path};
    std::size_t at = 0;
    for (std::size_t i = 0; i < records; ++i) {
      if (block.size() - at < record_bytes) at = 0;
      writer.append(distrib::ByteView{block}.subspan(at, record_bytes));
      at += record_bytes;
    }
    writer.close();
    ::unlink(path.c_str());
  }
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(records * frame));
}

void raw(benchmark::State& state) {
  const std::vector<char> buffer(256 << 10, 'x');
  const std::string path = file_path();
  for ([[maybe_unused]] auto iteration : state) {
    const int file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0666);
    for (std::int64_t left = file_bytes; left > 0; left -= static_cast<std::int64_t>(buffer.size()))
      if (::write(file, buffer.data(), buffer.size()) < 0) std::abort();
    ::close(file);
    ::unlink(path.c_str());
  }
  state.SetBytesProcessed(state.iterations() * file_bytes);
}

void pair(const std::string& name, std::size_t record_bytes) {
  benchmark::RegisterBenchmark(("row5/" + name + "/ours").c_str(),
                               [record_bytes](benchmark::State& state) { ours(state, record_bytes); });
  benchmark::RegisterBenchmark(("row5/" + name + "/write").c_str(), raw);
}

}  // namespace

auto main(int argc, char** argv) -> int {
  pair("100B", 100);
  pair("1KiB", 1 << 10);
  pair("10KiB", 10 << 10);
  pair("100KiB", 100 << 10);
  pair("1MiB", 1 << 20);
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
}
