// SPDX-License-Identifier: Apache-2.0
// Replays the bytes that are kept for each fuzzer, and every beginning of the shorter ones: nothing may end the
// process.
#include "targets.hpp"

#include "support/catch.hpp"
#include "support/test_dir.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

namespace {

auto corpus(const std::string& target) -> std::vector<std::string> {
  std::vector<std::string> inputs;
  for (const auto& entry : std::filesystem::directory_iterator{support::test_dir() + "/fuzz/corpus/" + target}) {
    std::ifstream file{entry.path(), std::ios::binary};
    inputs.emplace_back(std::istreambuf_iterator<char>{file}, std::istreambuf_iterator<char>{});
  }
  return inputs;
}

void replay(const std::string& target, void (*run)(distrib::ByteView)) {
  const auto inputs = corpus(target);
  REQUIRE(!inputs.empty());
  for (const std::string& input : inputs) {
    // A copy in its own memory, so that a sanitizer notices every byte beyond it.
    const std::size_t shortest = input.size() > 300 ? input.size() : 0;
    for (std::size_t size = shortest; size <= input.size(); ++size) {
      const std::vector<char> copy{input.begin(), input.begin() + static_cast<std::ptrdiff_t>(size)};
      run(std::as_bytes(std::span{copy}));
    }
  }
}

}  // namespace

TEST_CASE("frame") { replay("frame", fuzz::frame); }
TEST_CASE("inflate") { replay("inflate", fuzz::inflate); }
TEST_CASE("index") { replay("index", fuzz::index); }
TEST_CASE("splits") { replay("splits", fuzz::splits); }
TEST_CASE("example") { replay("example", fuzz::example); }
TEST_CASE("sequence_example") { replay("sequence_example", fuzz::sequence_example); }
TEST_CASE("rpc_frame") { replay("rpc_frame", fuzz::rpc_frame); }
TEST_CASE("rpc_greeting") { replay("rpc_greeting", fuzz::rpc_greeting); }
TEST_CASE("rpc_head") { replay("rpc_head", fuzz::rpc_head); }
TEST_CASE("saved") { replay("saved", fuzz::saved); }
TEST_CASE("safetensors") { replay("safetensors", fuzz::safetensors); }
TEST_CASE("torch_file") { replay("torch_file", fuzz::torch_file); }
TEST_CASE("export_log") { replay("export_log", fuzz::export_log); }
TEST_CASE("stream_log") { replay("stream_log", fuzz::stream_log); }
TEST_CASE("schedulers") { replay("schedulers", fuzz::schedulers); }
TEST_CASE("hadoop_pipes") { replay("hadoop_pipes", fuzz::hadoop_pipes); }
TEST_CASE("spark") { replay("spark", fuzz::spark); }
TEST_CASE("s3") { replay("s3", fuzz::s3); }
TEST_CASE("webhdfs") { replay("webhdfs", fuzz::webhdfs); }
TEST_CASE("cut_object") { replay("cut_object", fuzz::cut_object); }
TEST_CASE("coordinator") { replay("coordinator", fuzz::coordinator); }
