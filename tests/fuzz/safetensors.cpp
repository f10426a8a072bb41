// SPDX-License-Identifier: Apache-2.0
#include "expect.hpp"
#include "read_tensors.hpp"
#include "targets.hpp"

#include <distrib/checkpoint/formats/safetensors_header.hpp>
#include <distrib/checkpoint/formats/safetensors_index.hpp>
#include <distrib/checkpoint/formats/safetensors_writer.hpp>

#include <algorithm>
#include <string>
#include <vector>

namespace fuzz {

namespace {

/// Checks that the tensors of a header cover its file, and that what is written of them is read again.
void header(ByteView file) {
  distrib::SafetensorsHeader parsed;
  distrib::Error error;
  const bool taken = distrib::parse_safetensors(file, file.size(), parsed, error);
  expect(taken != static_cast<bool>(error), "taken or refused");
  if (!taken) return;
  std::size_t covered = 8 + static_cast<std::size_t>(distrib::load_le<std::uint64_t>(file.data()));
  std::vector<distrib::NamedTensor> tensors;
  for (const distrib::StoredTensor& tensor : parsed.tensors) {
    const auto& piece = tensor.pieces.front();
    expect(piece.offset + piece.size_bytes <= file.size(), "a tensor lies in the file");
    covered += static_cast<std::size_t>(piece.size_bytes);
    if (tensor.is_readable())
      tensors.push_back(
          {tensor.name, tensor.dtype, tensor.shape,
           file.subspan(static_cast<std::size_t>(piece.offset), static_cast<std::size_t>(piece.size_bytes))});
  }
  expect(covered == file.size(), "the tensors cover the file");
  const auto plan = plan_safetensors("x", tensors, {.metadata = parsed.metadata}, error);
  expect(!error, "what was read can be written");
  Bytes written;
  for (const distrib::FileAction& action : plan) {
    for (const ByteView view : action.views) written.insert(written.end(), view.begin(), view.end());
    written.insert(written.end(), action.owned.begin(), action.owned.end());
  }
  distrib::SafetensorsHeader again;
  expect(distrib::parse_safetensors(written, written.size(), again, error), "what was written can be read");
  expect(again.metadata == parsed.metadata, "metadata stays");
  expect(again.tensors.size() == tensors.size(), "tensors stay");
  for (const distrib::NamedTensor& tensor : tensors) {
    const auto at = std::ranges::find(again.tensors, tensor.name, &distrib::StoredTensor::name);
    expect(at != again.tensors.end() && at->dtype == tensor.dtype && at->shape == tensor.shape, "a tensor stays");
    expect(std::ranges::equal(
               ByteView{written}.subspan(static_cast<std::size_t>(at->pieces.front().offset), tensor.bytes.size()),
               tensor.bytes),
           "its bytes stay");
  }
}

void index(std::string_view text) {
  distrib::WeightMap files;
  distrib::Error error;
  if (!distrib::parse_safetensors_index(text, files, error)) return expect(static_cast<bool>(error), "says why");
  for (const auto& [name, file] : files) expect(file.find('/') == std::string::npos, "a file of the same directory");
  distrib::WeightMap again;
  expect(distrib::parse_safetensors_index(distrib::safetensors_index_text(files, 1), again, error) && again == files,
         "what was written is read again");
}

}  // namespace

void safetensors(ByteView input) {
  static SuffixedFile file{"x.safetensors"};
  if (input.empty()) return;
  const ByteView rest = input.subspan(1);
  if (input[0] == std::byte{'i'}) return index(distrib::as_text(rest));
  if (input[0] != std::byte{'h'}) {
    header(rest);
    return read_tensors(file.write(rest), rest.size());
  }
  // only the text of a header; everything else fits it
  constexpr std::size_t data_bytes = 64;
  Bytes made(8);
  distrib::store_le(made.data(), std::uint64_t{rest.size()});
  made.insert(made.end(), rest.begin(), rest.end());
  made.resize(made.size() + data_bytes);
  header(made);
  read_tensors(file.write(made), made.size());
}

}  // namespace fuzz
