// SPDX-License-Identifier: Apache-2.0
// usage: read_checkpoint PREFIX
// Prints a line of JSON for each tensor: name, dtype, shape, and its bytes or its strings as hex.
#include <distrib/checkpoint/bundle_reader.hpp>
#include <distrib/core/sha256.hpp>

#include <cstdio>
#include <exception>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

auto hex(distrib::ByteView bytes) -> std::string { return '"' + distrib::to_hex(bytes) + '"'; }

auto content_of(const distrib::BundleReader& reader, const distrib::StoredTensor& tensor) -> std::string {
  if (tensor.dtype != distrib::DType::string) {
    std::vector<std::byte> bytes(static_cast<std::size_t>(tensor.shape.elements()) * size_bytes(tensor.dtype));
    reader.read(tensor.name, distrib::Slice::whole(tensor.shape), bytes);
    return "\"bytes\": " + hex(bytes);
  }
  std::string texts;
  for (const std::string& text : reader.read_strings(tensor.name))
    texts += (texts.empty() ? "" : ", ") + hex(distrib::as_bytes(text));
  return "\"texts\": [" + texts + "]";
}

}  // namespace

auto main(int argc, char** argv) -> int try {
  if (argc != 2) throw std::invalid_argument{"usage: read_checkpoint PREFIX"};
  const auto reader = distrib::BundleReader::open(argv[1]);
  reader.verify();
  for (const distrib::StoredTensor& tensor : reader.tensors())
    std::printf("{\"name\": \"%s\", \"dtype\": \"%s\", \"shape\": %s, %s}\n", tensor.name.c_str(),
                std::string{name(tensor.dtype)}.c_str(), to_string(tensor.shape).c_str(),
                content_of(reader, tensor).c_str());
  return 0;
} catch (const std::exception& error) {
  std::fprintf(stderr, "error: %s\n", error.what());
  return 1;
}
