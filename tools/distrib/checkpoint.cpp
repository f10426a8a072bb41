// SPDX-License-Identifier: Apache-2.0
// `distrib checkpoint list`, `show`, `check` and `copy`.
#include "checkpoint.hpp"

#include "bytes_text.hpp"
#include "checkpoint_convert.hpp"
#include "json_values.hpp"
#include "remote_records.hpp"
#include "report.hpp"
#include "tensor_numbers.hpp"

#include <distrib/checkpoint/bundle_reader.hpp>
#include <distrib/checkpoint/error.hpp>
#include <distrib/checkpoint/file_names.hpp>
#include <distrib/checkpoint/formats/tensor_file.hpp>
#include <distrib/checkpoint/latest_checkpoint.hpp>
#include <distrib/core/bytes.hpp>
#include <distrib/core/json_text.hpp>
#include <distrib/core/paths.hpp>
#include <distrib/core/sha256.hpp>
#include <distrib/ps/cut/copy_checkpoint.hpp>
#include <distrib/ps/cut/object_checkpoints.hpp>
#include <distrib/ps/job/step.hpp>
#include <distrib/record/any_object_store.hpp>
#include <distrib/rpc/nonce.hpp>

#include <CLI/CLI.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tools {

auto checkpoint_exit_of(const std::error_code& code) -> int {
  if (code == distrib::failure::unsupported) return exit_no_input;
  const int status = exit_status(code);
  return status == exit_usage ? exit_damage : status;
}

namespace {

using distrib::BundleReader;
using distrib::DType;
using distrib::Error;
using distrib::StoredTensor;

auto in_words(const Error& error) -> std::string { return error.where + ": " + error.code.message(); }

/// True if `path` is a directory of checkpoints, and not the prefix of a checkpoint.
auto is_directory(const std::string& path) -> bool {
  return distrib::detail::is_directory(path) && !distrib::detail::path_exists(distrib::index_file_name(path));
}

/// Returns the newest checkpoint of a directory whose files all exist. `refused`: why newer ones were not taken.
auto find_newest(const std::string& directory, std::vector<Error>& refused) -> std::optional<BundleReader> {
  return distrib::detail::newest_of(directory, refused, [](const BundleReader&, Error&) {});
}

/// Reports that a directory has no checkpoint that can be read, and what it has instead.
void report_none(const std::string& directory, const std::vector<Error>& refused, Report& report) {
  for (const Error& error : refused) report.failure(error, checkpoint_exit_of(error.code));
  Error error;
  bool is_empty = refused.empty();
  for (const distrib::SavedCheckpoint& one : distrib::detail::scan_checkpoints(directory, error)) {
    const Error missing{distrib::checkpoint_errc::missing_index_file, distrib::index_file_name(one.prefix)};
    const auto is_said = [&](const Error& said) { return said.where == missing.where; };
    if (one.files.front() == missing.where || std::any_of(refused.begin(), refused.end(), is_said)) continue;
    is_empty = false;
    report.failure(missing, checkpoint_exit_of(missing.code));
  }
  if (is_empty) report.failure({distrib::checkpoint_errc::no_such_checkpoint, directory});
}

/// Prints why the checkpoints that are newer than `taken` were not taken.
void note_refused(const std::vector<Error>& refused, const std::string& taken) {
  for (const Error& error : refused) Report::note(in_words(error) + "; used instead: " + taken);
}

/// Opens a checkpoint of a job in an object store, "s3://bucket/run/model.ckpt-600", or the newest whole one of a
/// directory, "s3://bucket/run".
auto open_in_store(const std::string& url, Report& report) -> std::optional<BundleReader> {
  const distrib::OpenObjectStore stores = object_stores();
  Error error;
  std::string prefix = url;
  if (!distrib::detail::file_of(url).starts_with("model.ckpt-")) prefix = distrib::newest_prefix(url, stores, error);
  if (!error && prefix.empty()) error = {distrib::checkpoint_errc::no_such_checkpoint, distrib::detail::shown_url(url)};
  auto reader = error ? std::nullopt : distrib::open_checkpoint(prefix, stores, error);
  if (error) report.failure(error, checkpoint_exit_of(error.code));
  return reader;
}

}  // namespace

auto open_checkpoint(const std::string& path, Report& report) -> std::optional<distrib::TensorFile> {
  if (distrib::detail::is_url(path)) {
    auto reader = open_in_store(path, report);
    if (!reader) return std::nullopt;
    return distrib::TensorFile{distrib::TensorFormat::checkpoint, *std::move(reader)};
  }
  if (is_directory(path)) {
    std::vector<Error> refused;
    auto newest = find_newest(path, refused);
    if (newest) note_refused(refused, newest->prefix());
    else report_none(path, refused, report);
    if (!newest) return std::nullopt;
    return distrib::TensorFile{distrib::TensorFormat::checkpoint, *std::move(newest)};
  }
  Error error;
  auto file = distrib::open_tensor_file(path, error);
  const bool lacks_file = error.code == distrib::checkpoint_errc::missing_data_file;
  if (error) report.failure(error, lacks_file ? exit_no_input : checkpoint_exit_of(error.code));
  return file;
}

namespace {

/// A checkpoint to be listed: its index, and a reader if the data files exist.
struct Listed {
  std::string prefix;
  distrib::BundleIndex index;
  std::optional<BundleReader> reader;
};

/// Opens a checkpoint for reading its index. Faults of its data files are only notes in the report. If `path` is a
/// directory, opens its newest complete checkpoint, or, if none is complete, the newest one with an index.
auto open_index(const std::string& path, Report& report) -> std::optional<Listed> {
  const bool is_remote = distrib::detail::is_url(path);
  if (is_remote ||
      (!is_directory(path) && distrib::detail::tensor_format_of(path) != distrib::TensorFormat::checkpoint)) {
    auto file = open_checkpoint(path, report);
    if (!file) return std::nullopt;
    return Listed{is_remote ? file->reader.prefix() : path, file->reader.index(), std::move(file->reader)};
  }
  std::vector<Error> refused;
  std::vector<std::string> prefixes{path};
  if (is_directory(path)) {
    if (auto reader = find_newest(path, refused)) {
      note_refused(refused, reader->prefix());
      return Listed{reader->prefix(), reader->index(), std::move(reader)};
    }
    Error of_state;  // ignored: `refused` has the same error
    prefixes.clear();
    for (const distrib::SavedCheckpoint& one : distrib::list_checkpoints(path, of_state))
      prefixes.push_back(one.prefix);
  }
  Error error;
  for (; !prefixes.empty(); prefixes.pop_back()) {
    Listed listed{prefixes.back(), {}, std::nullopt};
    if (!distrib::detail::read_index_of(listed.prefix, listed.index, error)) continue;
    listed.reader = BundleReader::open(listed.prefix, error);
    note_refused(refused, listed.prefix);
    if (error) Report::note(in_words(error) + "; the list is from the index only");
    return listed;
  }
  if (is_directory(path)) report_none(path, refused, report);
  else report.failure(error, checkpoint_exit_of(error.code));
  return std::nullopt;
}

auto size_of(const StoredTensor& tensor) -> std::uint64_t {
  std::uint64_t bytes = 0;
  for (const distrib::StoredTensor::Piece& piece : tensor.pieces) bytes += piece.size_bytes;
  return bytes;
}

/// Reads a whole tensor: its bytes with slices joined, or its texts, one after the other.
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

/// Returns the members that describe a tensor.
auto described(const StoredTensor& tensor) -> distrib::JsonObject {
  distrib::JsonObject line;
  line.add("name", tensor.name).add("dtype", tensor.type_name()).add_json("shape", shape_json(tensor.shape));
  return line;
}

/// "hidden/weights  float32 [784,128], 392 KiB in 2 slices".
auto description(const StoredTensor& tensor, std::size_t width) -> std::string {
  std::string text = tensor.name + std::string(width - tensor.name.size() + 2, ' ') + tensor.type_name() + " " +
                     shape_json(tensor.shape) + ", " + bytes_text(size_of(tensor));
  if (tensor.pieces.size() > 1) text += " in " + std::to_string(tensor.pieces.size()) + " slices";
  if (!tensor.is_readable()) text += ", its type cannot be read";
  return tensor.complete ? text : text + ", INCOMPLETE";
}

auto width_of(std::span<const StoredTensor> tensors) -> std::size_t {
  std::size_t width = 0;
  for (const StoredTensor& tensor : tensors) width = std::max(width, tensor.name.size());
  return width;
}

/// Prints a tensor of a list as JSON; the SHA-256 is null if the tensor cannot be read.
void list_json(const Listed& listed, const StoredTensor& tensor, Report& report) {
  if (!listed.reader || !tensor.is_readable()) return report.line(described(tensor).add_json("sha256", "null").text());
  std::vector<std::byte> bytes;
  Error error;
  if (read(*listed.reader, tensor, bytes, error))
    report.line(described(tensor).add("sha256", distrib::to_hex(distrib::sha256(bytes))).text());
  else report.failure(error, checkpoint_exit_of(error.code));
}

auto list(const CheckpointOptions& options) -> int {
  Report report{options.json};
  const auto listed = open_index(options.prefix, report);
  if (!listed) return report.finish();
  const distrib::BundleIndex& index = listed->index;
  std::uint64_t total = 0;
  const std::size_t width = width_of(index.tensors);
  for (const StoredTensor& tensor : index.tensors) {
    total += size_of(tensor);
    if (options.json) list_json(*listed, tensor, report);
    else report.line(description(tensor, width));
  }
  if (!options.json)
    report.line(listed->prefix + ": " + std::to_string(index.tensors.size()) + " tensors, " + bytes_text(total) +
                " in " + std::to_string(index.shards) + (index.shards == 1 ? " file" : " files"));
  return report.finish();
}

/// A summary of a tensor of numbers.
struct Numbers {
  std::vector<std::string> first;  ///< The first numbers, as many as are to be shown.
  std::uint64_t count = 0, not_finite = 0;
  double least = 0, most = 0, sum = 0;  ///< Of the finite numbers.
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

/// Returns a number with the digits of a float, if it is a float.
auto in_short(double number) -> std::string {
  const auto rounded = static_cast<float>(number);
  return std::isfinite(rounded) ? distrib::json_text(rounded) : distrib::json_text(number);
}

void show_numbers(const StoredTensor& tensor, const Numbers& numbers, std::size_t width, Report& report) {
  const std::uint64_t finite = numbers.count - numbers.not_finite;
  const double mean = finite == 0 ? 0 : numbers.sum / static_cast<double>(finite);
  if (report.json()) {
    distrib::JsonObject line = described(tensor);
    line.add_json("values", "[" + joined(numbers.first, ",") + "]").add("not_finite", numbers.not_finite);
    if (finite != 0) line.add("least", numbers.least).add("most", numbers.most).add("mean", mean);
    return report.line(line.text());
  }
  report.line(description(tensor, width));
  if (numbers.count == 0) return;
  report.line("  " + joined(numbers.first, ", ") + (numbers.count > numbers.first.size() ? ", ..." : ""));
  if (numbers.count > 1 && finite != 0)
    report.line("  least " + in_short(numbers.least) + ", most " + in_short(numbers.most) + ", mean " + in_short(mean));
  if (numbers.not_finite != 0) report.line("  NOT FINITE: " + std::to_string(numbers.not_finite) + " values");
}

void show_texts(const StoredTensor& tensor, std::vector<std::string> texts, std::size_t shown, std::size_t width,
                Report& report) {
  const bool more = texts.size() > shown;
  texts.resize(std::min(texts.size(), shown));
  constexpr std::size_t longest = 200;  // not in JSON
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
  const auto file = open_checkpoint(options.prefix, report);
  if (!file) return report.finish();
  const BundleReader* const reader = &file->reader;
  std::vector<StoredTensor> wanted{reader->tensors().begin(), reader->tensors().end()};
  if (!options.names.empty()) wanted.clear();
  for (const std::string& name : options.names)
    if (const StoredTensor* tensor = reader->find(name)) wanted.push_back(*tensor);
    else report.failure({distrib::checkpoint_errc::not_found, reader->prefix() + ": " + name});
  const std::size_t width = width_of(wanted);
  std::vector<std::byte> bytes;
  for (const StoredTensor& tensor : wanted) {
    Error error;
    if (!tensor.is_readable()) {
      report.line(report.json() ? described(tensor).add_json("values", "null").text() : description(tensor, width));
    } else if (tensor.dtype == DType::string) {
      auto texts = reader->read_strings(tensor.name, error);
      if (!error) show_texts(tensor, std::move(texts), options.values, width, report);
    } else if (read(*reader, tensor, bytes, error)) {
      show_numbers(tensor, look_at(tensor.dtype, bytes, options.values, options.json), width, report);
    }
    if (error) report.failure(error, checkpoint_exit_of(error.code));
  }
  return report.finish();
}

/// Reads a whole checkpoint. Reports each tensor that is damaged, and lists each tensor of a type that is not read: of
/// these only the checksum is verified.
void check(const BundleReader& of, Report& report) {
  Error error;
  const BundleReader* const reader = &of;
  std::uint64_t total = 0;
  std::uint64_t damaged = 0;
  std::string not_read;
  for (const StoredTensor& tensor : reader->tensors()) {
    total += size_of(tensor);
    reader->verify(tensor.name, error);
    if (error) report.failure(error, checkpoint_exit_of(error.code)), ++damaged;
    if (tensor.is_readable()) continue;
    not_read += (not_read.empty() ? "" : ",") + distrib::json_text(tensor.name);
    if (!report.json()) report.line(description(tensor, tensor.name.size()));
  }
  if (report.json())
    report.line(distrib::JsonObject{}
                    .add("checkpoint", reader->prefix())
                    .add("tensors", reader->tensors().size())
                    .add("bytes", total)
                    .add("damaged", damaged)
                    .add_json("not_read", "[" + not_read + "]")
                    .text());
  else
    report.line(reader->prefix() + ": " + (damaged == 0 ? "good" : "DAMAGED") + ", " +
                std::to_string(reader->tensors().size()) + " tensors, " + bytes_text(total));
}

void check(const std::string& prefix, Report& report) {
  Error error;
  const auto file = distrib::open_tensor_file(prefix, error);
  if (!file) return report.failure(error, checkpoint_exit_of(error.code));
  check(file->reader, report);
}

/// Checks a checkpoint in an object store, or all whole ones of a directory there.
void check_in_store(const std::string& url, Report& report) {
  if (distrib::detail::file_of(url).starts_with("model.ckpt-")) {
    if (const auto reader = open_in_store(url, report)) check(*reader, report);
    return;
  }
  Error error;
  distrib::ObjectDirectory directory = distrib::open_directory(url, object_stores(), error);
  if (error) return report.failure(error, checkpoint_exit_of(error.code));
  distrib::ObjectCheckpoints checkpoints{std::move(directory)};
  const std::vector<distrib::CheckpointKey> whole = checkpoints.list(error);
  if (!error && whole.empty()) error = {distrib::checkpoint_errc::no_such_checkpoint, distrib::detail::shown_url(url)};
  if (error) return report.failure(error, checkpoint_exit_of(error.code));
  for (const distrib::CheckpointKey& key : whole) {
    const auto reader = checkpoints.open(key, error);
    if (reader) check(*reader, report);
    else report.failure(error, checkpoint_exit_of(error.code));
  }
}

auto check_all(const CheckpointOptions& options) -> int {
  Report report{options.json};
  if (distrib::detail::is_url(options.prefix)) {
    check_in_store(options.prefix, report);
    return report.finish();
  }
  if (!is_directory(options.prefix)) {
    check(options.prefix, report);
    return report.finish();
  }
  Error error;
  const auto saved = distrib::list_checkpoints(options.prefix, error);
  const bool is_stale = error.code == distrib::checkpoint_errc::stale_state;
  if (saved.empty()) report_none(options.prefix, error ? std::vector{error} : std::vector<Error>{}, report);
  else if (is_stale) Report::note(in_words(error));
  else if (error) report.failure(error, checkpoint_exit_of(error.code));
  for (const distrib::SavedCheckpoint& one : saved) check(one.prefix, report);
  return report.finish();
}

/// Returns the checkpoint that a URL names: one, or the newest one of a directory. `directory`: where it is.
auto step_in_store(const std::string& url, distrib::ObjectDirectory& directory, Error& error)
    -> std::optional<distrib::Step> {
  const bool is_one = distrib::detail::file_of(url).starts_with("model.ckpt-");
  directory = distrib::open_directory(is_one ? distrib::detail::directory_of(url) : url, object_stores(), error);
  if (error) return std::nullopt;
  const std::vector<distrib::CheckpointKey> whole = distrib::ObjectCheckpoints{directory}.list(error);
  if (error) return std::nullopt;
  if (is_one) {
    const std::string_view name = distrib::detail::file_of(url);
    const auto step = distrib::checkpoint_step(name.substr(0, name.find('.', std::string_view{"model.ckpt-"}.size())));
    if (step) return static_cast<distrib::Step>(*step);
  } else if (!whole.empty()) {
    return whole.back().step;
  }
  error = {distrib::checkpoint_errc::no_such_checkpoint, distrib::detail::shown_url(url)};
  return std::nullopt;
}

auto copy(const CheckpointOptions& options) -> int {
  Report report{options.json};
  const bool from_store = distrib::detail::is_url(options.prefix);
  const bool to_store = distrib::detail::is_url(options.output);
  Error error;
  std::string made;
  if (!from_store && !to_store) {
    Report::note("one of the two must be in an object store: files are copied by cp");
    return exit_usage;
  }
  distrib::ObjectDirectory target;
  if (to_store) target = distrib::open_directory(options.output, object_stores(), error);
  if (!error && from_store) {
    distrib::ObjectDirectory from;
    const auto step = step_in_store(options.prefix, from, error);
    if (step && to_store) made = distrib::copy_to_tensorflow_names(from, *step, target, error);
    else if (step) made = distrib::copy_to_files(from, *step, options.output, error);
  } else if (!error) {
    const auto file = open_checkpoint(options.prefix, report);
    if (!file) return report.finish();
    const std::uint64_t nonce = distrib::load_le<std::uint64_t>(distrib::draw_nonce().data());
    made = distrib::copy_to_store(file->reader.prefix(), target, nonce, error);
  }
  if (error) report.failure(error, checkpoint_exit_of(error.code));
  else if (options.json) report.line(distrib::JsonObject{}.add("checkpoint", made).text());
  else report.line(made);
  return report.finish();
}

// Adds `copy`.
template <class Add>
void add_copy(CheckpointOptions& options, Add add) {
  CLI::App* const sub = add("copy", "Copies a checkpoint of a job out of an object store, or into one.", copy, "FROM");
  sub->add_option("TO", options.output, "A directory of files, or a URL")->required();
  sub->footer(
      "FROM in a store, TO a directory: TensorFlow's files, verified.\n"
      "FROM in a store, TO a directory of the same bucket: TensorFlow's names, copied by the store.\n"
      "FROM of files, TO a directory of a store without a job: the job continues from there.\n"
      "Examples: distrib checkpoint copy s3://bucket/run/model.ckpt-6000 out\n"
      "          distrib checkpoint copy s3://bucket/run s3://bucket/for_tensorflow\n"
      "          distrib checkpoint copy out/checkpoint s3://bucket/run");
}

// Adds `export` and `import`.
template <class Add>
void add_conversions(CheckpointOptions& options, Add add) {
  CLI::App* to = add("export", "Writes the values of variables and tables as a file that Python loads.",
                     checkpoint_export, "PREFIX");
  to->add_option("FILE", options.output, "The file to write")->required();
  to->add_option("--format", options.format, "safetensors or pt; default: by the suffix of FILE")
      ->check(CLI::IsMember({"safetensors", "pt"}).description(""));
  CLI::Option* const slots =
      to->add_flag("--slots", options.slots, "Also the slots of updaters, and how often keys of tables were used");
  to->add_flag("--averages", options.averages, "The moving averages of the values in place of the values")
      ->excludes(slots);
  to->add_flag("!--no-tables", options.tables, "Without tables of embeddings");
  to->add_flag("!--no-digest", options.digest,
               "safetensors: do not compute the SHA-256 of each tensor, which takes most of the time");
  options.max_file_bytes = 5'000'000'000;
  to->add_option("--max-file-bytes", options.max_file_bytes,
                 "safetensors: write several files and an index if the tensors have more bytes; 0: one file")
      ->capture_default_str();
  to->footer(
      "Values are whole, in one piece, whatever parts and shards saved them. A table of any keys becomes\n"
      "NAME/keys and NAME/values, in ascending order of the keys. The metadata of safetensors tells the step,\n"
      "the SHA-256 of the job's description and that of each tensor.\n"
      "Examples: distrib checkpoint export train model.safetensors\n"
      "          distrib checkpoint export train/model.ckpt-1000 model.pt --rename net/=/ --rename head/w=fc.weight\n"
      "In Python: safetensors.torch.load_file('model.safetensors'), torch.load('model.pt', weights_only=True)");
  CLI::App* from =
      add("import", "Makes a checkpoint from a file of safetensors or of PyTorch. No code of the file runs.",
          checkpoint_import, "FILE");
  from->add_option("PREFIX", options.output, "The checkpoint to write, as train/model.ckpt-0")->required();
  from->add_option("--step", options.step, "The global step of the checkpoint; default: as the file says");
  from->footer(
      "NAME/keys and NAME/values become a table of any keys. A training begins with the values by\n"
      "with_initial_checkpoint(PREFIX), and also by with_initial_checkpoint(FILE), without an import.\n"
      "Example: distrib checkpoint import model.pt before/model.ckpt-0 --rename features/=backbone/");
  for (CLI::App* sub : {to, from}) {
    sub->add_option("--only", options.only,
                    "Only this tensor, or with / or . at the end what is below; repeat for more");
    sub->add_option("--rename", options.renamed,
                    "OLD=NEW, or OLD/=NEW. for all below (/ alone: everything); OLD= leaves it out; repeat for more");
    sub->add_flag("--force", options.force, "Replace files that exist");
  }
}

}  // namespace

void add_checkpoint(CLI::App& app, CheckpointOptions& options, int& code) {
  CLI::App* checkpoint = app.add_subcommand(
      "checkpoint",
      "Lists, shows, checks and converts checkpoints of TensorFlow and of this library, and files of\n"
      "safetensors and PyTorch.");
  checkpoint->require_subcommand(1);
  checkpoint->footer(
      "PREFIX is a checkpoint (train/model.ckpt-1000), one of its files, a directory, a checkpoint or directory of a\n"
      "job in an object store (s3://bucket/run), or a file of safetensors (x.safetensors,\n"
      "x.safetensors.index.json) or of PyTorch (x.pt). For a directory, `list`, `show` and\n"
      "`export` use its newest checkpoint, and `check` uses all.\n"
      "Exit code: 0 no error, 1 something is damaged or incomplete, 64 wrong usage, 66 there is no such\n"
      "checkpoint or tensor, or this command cannot read it (a checkpoint of version 1).\n"
      "Examples: distrib checkpoint list train/model.ckpt-1000\n"
      "          distrib checkpoint show train -n 4 dense/kernel\n"
      "          distrib checkpoint check train\n"
      "          distrib checkpoint export train model.safetensors");
  const auto add = [&](const char* name, const char* text, int (*run)(const CheckpointOptions&),
                       const char* what = "PREFIX") {
    CLI::App* sub = checkpoint->add_subcommand(name, text);
    sub->add_option(what, options.prefix, "A checkpoint, a directory with checkpoints, or a file of tensors")
        ->required();
    sub->add_flag("--json", options.json, "Print one JSON object per line");
    sub->callback([&options, &code, run] { code = run(options); });
    return sub;
  };
  add("list", "Lists the tensors, from the index only; --json adds the SHA-256 of each whole tensor.", list);
  CLI::App* sub = add("show", "Shows the first values of each tensor, and the least, the most and the mean.", show);
  sub->add_option("NAME", options.names, "Names of tensors; none: all tensors");
  sub->add_option("-n", options.values, "How many values of each tensor to show")->capture_default_str();
  add("check", "Reads everything, verifies every checksum, and reports each damaged tensor.", check_all);
  add_copy(options, add);
  add_conversions(options, add);
}

}  // namespace tools
