// SPDX-License-Identifier: Apache-2.0
#include "expect.hpp"
#include "read_tensors.hpp"
#include "targets.hpp"

#include <distrib/checkpoint/crc32.hpp>
#include <distrib/checkpoint/formats/torch_pickle.hpp>
#include <distrib/checkpoint/formats/zip_directory.hpp>

#include <algorithm>
#include <string>
#include <vector>

namespace fuzz {

namespace {

void append(Bytes& to, ByteView bytes) { to.insert(to.end(), bytes.begin(), bytes.end()); }

/// Returns an archive of torch.save with this pickle and four storages of 64 bytes.
auto archive(ByteView pickle) -> Bytes {
  distrib::detail::ZipLayout zip;
  Bytes bytes;
  const auto add = [&](const std::string& name, ByteView content) {
    append(bytes, zip.add("x/" + name, content.size(), distrib::detail::crc32_extend(0, content)));
    append(bytes, content);
  };
  add("data.pkl", pickle);
  const Bytes storage(64, std::byte{1});
  for (const char* name : {"data/0", "data/1", "data/2", "data/3"}) add(name, storage);
  append(bytes, zip.finish());
  return bytes;
}

/// Checks that every tensor of a pickle lies in its storage.
void parse_pickle(ByteView bytes) {
  distrib::detail::TorchState state;
  distrib::Error error;
  const bool taken = parse_torch_pickle(bytes, state, error);
  expect(taken != static_cast<bool>(error), "taken or refused");
  if (!taken) return;
  std::size_t names = 0;
  for (const auto& tensor : state.tensors) {
    names += tensor.name.size();
    const auto elements = static_cast<std::uint64_t>(distrib::Shape{tensor.extents}.elements());
    const std::uint64_t room = state.storages.at(tensor.storage).size_bytes / tensor.element_bytes;
    expect(elements <= room, "a tensor is not larger than its storage");
    std::uint64_t last = tensor.first;
    for (std::size_t axis = 0; axis < tensor.extents.size() && elements != 0; ++axis)
      last += static_cast<std::uint64_t>(tensor.extents[axis] - 1) * static_cast<std::uint64_t>(tensor.strides[axis]);
    expect(elements == 0 || last < room, "a tensor lies in its storage");
  }
  expect(names <= 4 * bytes.size() + 4096, "names do not multiply");
}

}  // namespace

void torch_file(ByteView input) {
  static SuffixedFile file{"x.pt"};
  if (input.empty()) return;
  const ByteView rest = input.subspan(1);
  if (input[0] != std::byte{'p'}) return read_tensors(file.write(rest), rest.size());
  parse_pickle(rest);
  const Bytes made = archive(rest);
  read_tensors(file.write(made), made.size());
}

}  // namespace fuzz
