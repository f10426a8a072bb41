// SPDX-License-Identifier: Apache-2.0
// `distrib checkpoint list`, `show` and `check`.
#include "checkpoint.hpp"

#include "bytes_text.hpp"
#include "report.hpp"
#include "tensor_numbers.hpp"

#include <distrib/checkpoint/bundle_reader.hpp>
#include <distrib/checkpoint/latest_checkpoint.hpp>
#include <distrib/core/sha256.hpp>

#include <CLI/CLI.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>

namespace tools {

namespace {

using distrib::BundleReader;
using distrib::DType;
using distrib::Error;
using distrib::StoredTensor;

/// The checkpoint that is meant: of a directory the newest.
auto open(const std::string& prefix, Report& report) -> std::optional<BundleReader> {
  Error error;
  std::optional<BundleReader> reader;
  if (!distrib::detail::is_directory(prefix)) reader = BundleReader::open(prefix, error);
  else if (const auto newest = distrib::latest_checkpoint(prefix)) reader = BundleReader::open(*newest, error);
  else error = {distrib::checkpoint_errc::not_found, prefix + ": no checkpoint"};
  if (error) report.failure(error);
  return reader;
}

auto size_of(const StoredTensor& tensor) -> std::uint64_t {
  std::uint64_t bytes = 0;
  for (const distrib::StoredTensor::Piece& piece : tensor.pieces) bytes += piece.size_bytes;
  return bytes;
}

/// A whole tensor: its bytes, slices joined, or its texts, one behind the other.
auto read(const BundleReader& reader, const StoredTensor& tensor, std::vector<std::byte>& bytes, Error& error) -> bool {
  error = {};
  bytes.clear();
  if (tensor.dtype == DType::string) {
    for (const std::string& text : reader.read_strings(tensor.name, error)) {
      const auto of_text = distrib::as_bytes(text);
      bytes.insert(bytes.end(), of_text.begin(), of_text.end());
    }
  } else {
    bytes.resize(static_cast<std::size_t>(tensor.shape.elements()) * size_bytes(tensor.dtype));
    reader.read(tensor.name, distrib::Slice::whole(tensor.shape), bytes, error);
  }
  return !error;
}

auto shape_json(const distrib::Shape& shape) -> std::string {
  std::string text = "[";
  for (std::size_t axis = 0; axis < shape.rank(); ++axis) text += (axis == 0 ? "" : ",") + std::to_string(shape[axis]);
  return text + "]";
}

/// The members that say what a tensor is.
auto described(const StoredTensor& tensor) -> JsonLine {
  JsonLine line;
  line.add("name", tensor.name).add("dtype", distrib::name(tensor.dtype)).add_json("shape", shape_json(tensor.shape));
  return line;
}

/// "hidden/weights  float32 [784,128], 392 KiB in 2 slices".
auto description(const StoredTensor& tensor, std::size_t width) -> std::string {
  std::string text = tensor.name + std::string(width - tensor.name.size() + 2, ' ') +
                     std::string{distrib::name(tensor.dtype)} + " " + shape_json(tensor.shape) + ", " +
                     bytes_text(size_of(tensor));
  if (tensor.pieces.size() > 1) text += " in " + std::to_string(tensor.pieces.size()) + " slices";
  return tensor.complete ? text : text + ", INCOMPLETE";
}

auto width_of(std::span<const StoredTensor> tensors) -> std::size_t {
  std::size_t width = 0;
  for (const StoredTensor& tensor : tensors) width = std::max(width, tensor.name.size());
  return width;
}

auto list(const CheckpointOptions& options) -> int {
  Report report{options.json};
  const auto reader = open(options.prefix, report);
  if (!reader) return report.finish();
  std::vector<std::byte> bytes;
  std::uint64_t total = 0;
  const std::size_t width = width_of(reader->tensors());
  for (const StoredTensor& tensor : reader->tensors()) {
    total += size_of(tensor);
    if (!options.json) {
      report.line(description(tensor, width));
      continue;
    }
    Error error;
    if (read(*reader, tensor, bytes, error))
      report.line(described(tensor).add("sha256", distrib::to_hex(distrib::sha256(bytes))).text());
    else report.failure(error);
  }
  if (!options.json)
    report.line(reader->prefix() + ": " + std::to_string(reader->tensors().size()) + " tensors, " + bytes_text(total) +
                " in " + std::to_string(reader->index().shards) + (reader->index().shards == 1 ? " file" : " files"));
  return report.finish();
}

/// What a tensor of numbers is like.
struct Numbers {
  std::vector<std::string> first;  ///< As many as are shown.
  std::uint64_t count = 0, not_finite = 0;
  double least = 0, most = 0, sum = 0;  ///< Of those that are finite.
};

auto look_at(DType dtype, distrib::ByteView bytes, std::size_t shown, bool json) -> Numbers {
  Numbers numbers;
  for_each_number(dtype, bytes, [&](auto number) {
    if (numbers.count++ < shown) numbers.first.push_back(json ? distrib::json_text(number) : number_text(number));
    const auto value = static_cast<double>(number);
    if (!std::isfinite(value)) {
      ++numbers.not_finite;
      return;
    }
    const bool first = numbers.count - numbers.not_finite == 1;
    numbers.least = first ? value : std::min(numbers.least, value);
    numbers.most = first ? value : std::max(numbers.most, value);
    numbers.sum += value;
  });
  return numbers;
}

auto joined(const std::vector<std::string>& texts, const char* between) -> std::string {
  std::string all;
  for (const std::string& text : texts) (all += all.empty() ? "" : between) += text;
  return all;
}

void show_numbers(const StoredTensor& tensor, const Numbers& numbers, std::size_t width, Report& report) {
  const std::uint64_t finite = numbers.count - numbers.not_finite;
  const double mean = finite == 0 ? 0 : numbers.sum / static_cast<double>(finite);
  if (report.json()) {
    JsonLine line = described(tensor);
    line.add_json("values", "[" + joined(numbers.first, ",") + "]").add("not_finite", numbers.not_finite);
    if (finite != 0) line.add("least", numbers.least).add("most", numbers.most).add("mean", mean);
    return report.line(line.text());
  }
  report.line(description(tensor, width));
  if (numbers.count == 0) return;
  report.line("  " + joined(numbers.first, ", ") + (numbers.count > numbers.first.size() ? ", ..." : ""));
  if (numbers.count > 1 && finite != 0)
    report.line("  least " + short_text(numbers.least) + ", most " + short_text(numbers.most) + ", mean " +
                short_text(mean));
  if (numbers.not_finite != 0) report.line("  NOT FINITE: " + std::to_string(numbers.not_finite) + " of them");
}

void show_texts(const StoredTensor& tensor, std::vector<std::string> texts, std::size_t shown, std::size_t width,
                Report& report) {
  const bool more = texts.size() > shown;
  texts.resize(std::min(texts.size(), shown));
  constexpr std::size_t longest = 200;  // for people
  for (std::string& text : texts) {
    const bool cut = !report.json() && text.size() > longest;
    text = distrib::json_text(cut ? text.substr(0, longest) : text) + (cut ? "..." : "");
  }
  if (report.json()) return report.line(described(tensor).add_json("values", "[" + joined(texts, ",") + "]").text());
  report.line(description(tensor, width));
  report.line("  " + joined(texts, ", ") + (more ? ", ..." : ""));
}

auto show(const CheckpointOptions& options) -> int {
  Report report{options.json};
  const auto reader = open(options.prefix, report);
  if (!reader) return report.finish();
  std::vector<StoredTensor> wanted{reader->tensors().begin(), reader->tensors().end()};
  if (!options.names.empty()) wanted.clear();
  for (const std::string& name : options.names)
    if (const StoredTensor* tensor = reader->find(name)) wanted.push_back(*tensor);
    else report.failure({distrib::checkpoint_errc::not_found, reader->prefix() + ": " + name});
  const std::size_t width = width_of(wanted);
  std::vector<std::byte> bytes;
  for (const StoredTensor& tensor : wanted) {
    Error error;
    if (tensor.dtype == DType::string) {
      auto texts = reader->read_strings(tensor.name, error);
      if (!error) show_texts(tensor, std::move(texts), options.values, width, report);
    } else if (read(*reader, tensor, bytes, error)) {
      show_numbers(tensor, look_at(tensor.dtype, bytes, options.values, options.json), width, report);
    }
    if (error) report.failure(error);
  }
  return report.finish();
}

/// Reads all of a checkpoint, and says each tensor that is damaged.
void check(const std::string& prefix, Report& report) {
  Error error;
  const auto reader = BundleReader::open(prefix, error);
  if (!reader) return report.failure(error);
  reader->verify(error);
  std::uint64_t total = 0;
  std::uint64_t damaged = 0;
  std::vector<std::byte> bytes;
  for (const StoredTensor& tensor : reader->tensors()) {
    total += size_of(tensor);
    if (!error) continue;
    Error of_tensor;
    if (!read(*reader, tensor, bytes, of_tensor)) report.failure(of_tensor), ++damaged;
  }
  if (error && damaged == 0) report.failure(error), ++damaged;
  if (report.json())
    report.line(JsonLine{}
                    .add("checkpoint", prefix)
                    .add("tensors", reader->tensors().size())
                    .add("bytes", total)
                    .add("damaged", damaged)
                    .text());
  else
    report.line(prefix + ": " + (damaged == 0 ? "good" : "DAMAGED") + ", " + std::to_string(reader->tensors().size()) +
                " tensors, " + bytes_text(total));
}

auto check_all(const CheckpointOptions& options) -> int {
  Report report{options.json};
  if (!distrib::detail::is_directory(options.prefix)) {
    check(options.prefix, report);
    return report.finish();
  }
  Error error;
  const auto saved = distrib::list_checkpoints(options.prefix, error);
  if (!error && saved.empty()) error = {distrib::checkpoint_errc::not_found, options.prefix + ": no checkpoint"};
  if (error) report.failure(error);
  for (const distrib::SavedCheckpoint& one : saved) check(one.prefix, report);
  return report.finish();
}

}  // namespace

void add_checkpoint(CLI::App& app, CheckpointOptions& options, int& code) {
  CLI::App* checkpoint = app.add_subcommand("checkpoint", "Looks into checkpoints, TensorFlow's and ours.");
  checkpoint->require_subcommand(1);
  checkpoint->footer(
      "PREFIX is that of a checkpoint, as train/model.ckpt-1000, or a directory: its newest one,\n"
      "of check all. Exit code: 0 all is well, 1 something is damaged, 64 wrong usage, 66 there is no\n"
      "such checkpoint or tensor.");
  const auto add = [&](const char* name, const char* text, int (*run)(const CheckpointOptions&)) {
    CLI::App* sub = checkpoint->add_subcommand(name, text);
    sub->add_option("PREFIX", options.prefix, "Checkpoint, or a directory with checkpoints")->required();
    sub->add_flag("--json", options.json, "One JSON object a line");
    sub->callback([&options, &code, run] { code = run(options); });
    return sub;
  };
  add("list", "The tensors; with --json also the SHA-256 of each, slices joined.", list);
  CLI::App* sub = add("show", "What is in the tensors: the first values, the least, the most, the mean.", show);
  sub->add_option("NAME", options.names, "Tensors; all unless told");
  sub->add_option("-n", options.values, "How many values of each")->capture_default_str();
  add("check", "Reads everything, verifies every checksum, and says which tensors are damaged.", check_all);
}

}  // namespace tools
