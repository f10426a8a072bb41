// SPDX-License-Identifier: Apache-2.0
// `distrib checkpoint export`: the tensors of a checkpoint as a file of safetensors or of PyTorch.
#include "bytes_text.hpp"
#include "checkpoint.hpp"
#include "checkpoint_convert.hpp"
#include "table_stream.hpp"
#include "tensor_stream.hpp"

#include <distrib/checkpoint/crc32.hpp>
#include <distrib/checkpoint/error.hpp>
#include <distrib/checkpoint/formats/file_layout.hpp>
#include <distrib/checkpoint/formats/named_tensor.hpp>
#include <distrib/checkpoint/formats/safetensors_writer.hpp>
#include <distrib/checkpoint/formats/tensor_file.hpp>
#include <distrib/checkpoint/formats/torch_writer.hpp>
#include <distrib/checkpoint/object_names.hpp>
#include <distrib/core/json_text.hpp>
#include <distrib/core/sha256.hpp>
#include <distrib/ps/job/job.hpp>
#include <distrib/ps/job/parse_job.hpp>

#include <array>
#include <memory>
#include <optional>
#include <utility>

namespace tools {

namespace {

using distrib::BundleReader;
using distrib::DType;
using distrib::Error;
using distrib::NamedTensor;
using distrib::StoredTensor;
using distrib::TensorFormat;

/// A tensor that is exported: what it is in the file, and where its bytes come from.
struct Exported {
  NamedTensor tensor;
  std::size_t row_bytes = 0;  ///< Its bytes are read in portions of whole rows.
  std::function<NextBytes()> open;  ///< Begins to read its bytes.
};

/// Names that TensorFlow and this library give to slots. They count only if the checkpoint does not say which variables
/// it has.
constexpr std::array<std::string_view, 15> slot_names{
    "Momentum", "Adagrad", "Adam",      "Adam_1",    "AdamW",
    "AdamW_1",  "AMSGrad", "AMSGrad_1", "AMSGrad_2", "Ftrl",
    "Ftrl_1",   "RMSProp", "RMSProp_1", "RMSProp_2", "ExponentialMovingAverage"};
/// What TensorFlow and this library append to the name of a variable for the name of its moving average.
constexpr std::string_view average_suffix = "/ExponentialMovingAverage";

class Export {
 public:
  Export(const CheckpointOptions& options, Report& report) : options_{options}, report_{report} {}

  void run();

 private:
  auto open() -> bool;
  auto read_job() -> bool;
  auto read_step() -> bool;
  auto choose() -> bool;
  void choose_tensor(const StoredTensor& tensor);
  auto exported_of(const StoredTensor& tensor) -> const StoredTensor&;
  void choose_table(const SavedTable& table);
  auto is_slot(const std::string& name) const -> bool;
  auto is_numbered_table(std::string_view name) const -> bool;
  void add(std::string name, DType dtype, distrib::Shape shape, std::function<NextBytes()> open);
  auto measure() -> bool;
  auto lay_out(distrib::detail::FileLayout& layout) -> bool;
  auto write(const distrib::detail::FileLayout& layout) -> bool;
  auto portions(const Exported& exported, const std::function<bool(distrib::ByteView)>& f) -> bool;
  void tell(const distrib::detail::FileLayout& layout);
  auto refuse(const Error& error) -> bool { return refuse(error, checkpoint_exit_of(error.code)); }
  auto refuse(const Error& error, int code) -> bool {
    progress_.clear();
    report_.failure(error, code);
    return false;
  }

  const CheckpointOptions& options_;
  Report& report_;
  TensorFormat format_ = TensorFormat::safetensors;
  TensorNames names_;
  std::optional<distrib::TensorFile> file_;
  std::optional<distrib::Job> job_;
  std::string job_hash_;
  std::optional<std::int64_t> step_;
  std::vector<Exported> exported_;
  std::vector<NamedTensor> heads_;  // of `exported_`
  std::vector<std::string> digests_;  // SHA-256 of each
  std::vector<std::uint32_t> checksums_;  // CRC-32 of each
  std::size_t averages_ = 0;  // tensors and tables that are exported as averages
  std::vector<std::string> left_out_;  // of a type that cannot be exported
  Progress progress_{1};
};

void Export::run() {
  const bool is_torch =
      options_.format == "pt" || (options_.format.empty() && !options_.output.ends_with(".safetensors"));
  format_ = is_torch ? TensorFormat::torch : TensorFormat::safetensors;
  const bool is_told = !options_.format.empty() || options_.output.ends_with(".safetensors") ||
                       options_.output.ends_with(".pt") || options_.output.ends_with(".pth");
  if (!is_told)
    return report_.refuse(options_.output, "the format is missing: write --format safetensors or --format pt");
  if (!names_.set(options_, report_) || !report_.may_write(options_.output, options_.force) ||
      !report_.may_write(options_.output + ".index.json", options_.force))
    return;
  distrib::detail::FileLayout layout;
  if (open() && choose() && measure() && lay_out(layout) && write(layout)) tell(layout);
}

auto Export::open() -> bool {
  file_ = open_checkpoint(options_.prefix, report_);
  return file_ && read_job() && read_step();
}

// The description of the job says which tensors are variables and tables.
auto Export::read_job() -> bool {
  const BundleReader& reader = file_->reader;
  if (reader.find("distrib/job") == nullptr) return true;
  Error error;
  const auto texts = reader.read_strings("distrib/job", error);
  if (error) return refuse(error);
  if (texts.size() != 1) return true;
  job_hash_ = distrib::to_hex(distrib::sha256(distrib::as_bytes(texts.front())));
  std::error_code of_other_version;  // then the names of slots say which tensors are slots
  auto job = distrib::parse_job(texts.front(), of_other_version);
  if (!of_other_version) job_ = std::move(job);
  return true;
}

auto Export::read_step() -> bool {
  const StoredTensor* const tensor = file_->reader.find("global_step");
  if (tensor == nullptr || tensor->dtype != DType::int64 || tensor->shape.elements() != 1) return true;
  Error error;
  std::int64_t step = 0;
  file_->reader.read(tensor->name, distrib::Slice::whole(tensor->shape), std::as_writable_bytes(std::span{&step, 1}),
                     error);
  if (error) return refuse(error);
  step_ = step;
  return true;
}

auto Export::choose() -> bool {
  Error error;
  const auto tables = tables_in(file_->reader, error);
  if (error) return refuse(error);
  for (const StoredTensor& tensor : file_->reader.tensors()) {
    std::size_t shards = 0;
    if (table_of(tensor.name, shards).empty()) choose_tensor(tensor);
  }
  if (options_.tables)
    for (const SavedTable& table : tables) choose_table(table);
  for (const Exported& exported : exported_) heads_.push_back(exported.tensor);
  if (options_.averages && averages_ == 0)
    return refuse({distrib::checkpoint_errc::not_found,
                   file_->reader.prefix() + ": --averages: NAME" + std::string{average_suffix}});
  return names_.are_all_used(file_->reader.prefix(), report_);
}

void Export::choose_tensor(const StoredTensor& tensor) {
  using distrib::detail::object_graph_name;
  using distrib::detail::variable_value;
  if (tensor.name.starts_with("distrib/") || tensor.name == "global_step" || tensor.name == object_graph_name) return;
  if (!options_.slots && is_slot(tensor.name)) return;
  if (!options_.tables && is_numbered_table(tensor.name)) return;
  std::string name = tensor.name;
  if (name.ends_with(variable_value)) name.resize(name.size() - variable_value.size());
  name = names_(name);
  if (name.empty()) return;
  if (tensor.dtype == DType::string || !tensor.is_readable()) return left_out_.push_back(tensor.name);
  const StoredTensor& from = exported_of(tensor);
  add(std::move(name), from.dtype, from.shape, [this, &from] {
    auto stream = std::make_shared<TensorStream>(file_->reader, from);
    return NextBytes{[stream](std::span<std::byte> to, Error& error) { return stream->read(to, error); }};
  });
}

// Returns the tensor whose values are exported for `tensor`: its moving average, if that is wanted and there is one.
auto Export::exported_of(const StoredTensor& tensor) -> const StoredTensor& {
  const StoredTensor* const average =
      options_.averages ? file_->reader.find(tensor.name + std::string{average_suffix}) : nullptr;
  if (average == nullptr || average->shape != tensor.shape || average->dtype != tensor.dtype) return tensor;
  ++averages_;
  return *average;
}

// Keys as uint64, or as int64 of the same bits for PyTorch, which looks rows up by int64.
void Export::choose_table(const SavedTable& table) {
  const std::string name = names_(table.name);
  if (name.empty()) return;
  const auto rows = static_cast<std::int64_t>(table.rows);
  const auto add_block = [&](const std::string& as, const std::string& block, DType dtype, distrib::Shape shape) {
    add(name + "/" + as, dtype, shape, [this, table, block] {
      auto stream = std::make_shared<TableStream>(file_->reader, table, block);
      return NextBytes{[stream](std::span<std::byte> to, Error& error) { return stream->read(to, error); }};
    });
  };
  const bool takes_average =
      options_.averages && std::ranges::find(table.slots, average_suffix.substr(1)) != table.slots.end();
  averages_ += takes_average ? 1 : 0;
  add_block("keys", "keys", format_ == TensorFormat::torch ? DType::int64 : DType::uint64, {rows});
  add_block("values", takes_average ? "values" + std::string{average_suffix} : "values", DType::float32,
            {rows, table.dim});
  if (!options_.slots) return;
  for (const std::string& slot : table.slots)
    add_block("values/" + slot, "values/" + slot, DType::float32, {rows, table.dim});
  add_block("uses", "uses", DType::int32, {rows, 2});
}

// A slot is below its variable: "w/Momentum".
auto Export::is_slot(const std::string& name) const -> bool {
  if (name.find("/.OPTIMIZER_SLOT/") != std::string::npos) return true;
  const std::size_t slash = name.rfind('/');
  if (slash == std::string::npos) return false;
  const std::string of = name.substr(0, slash);
  if (job_) {
    const auto is_called = [](const std::string& wanted) {
      return [&wanted](const auto& one) { return one.name == wanted; };
    };
    const auto has = [&](const std::string& wanted) {
      return std::ranges::any_of(job_->variables, is_called(wanted)) ||
             std::ranges::any_of(job_->tables, is_called(wanted));
    };
    return !has(name) && has(of);
  }
  const StoredTensor* const variable = file_->reader.find(of);
  return variable != nullptr && variable->shape == file_->reader.find(name)->shape &&
         std::ranges::find(slot_names, std::string_view{name}.substr(slash + 1)) != slot_names.end();
}

auto Export::is_numbered_table(std::string_view name) const -> bool {
  return job_ && std::ranges::any_of(job_->tables, [&](const distrib::TableInfo& table) {
           return name == table.name || (name.starts_with(table.name) && name[table.name.size()] == '/');
         });
}

void Export::add(std::string name, DType dtype, distrib::Shape shape, std::function<NextBytes()> open) {
  std::size_t row_bytes = size_bytes(dtype);
  for (std::size_t axis = 1; axis < shape.rank(); ++axis) row_bytes *= static_cast<std::size_t>(shape[axis]);
  exported_.push_back({{std::move(name), dtype, shape, {}}, row_bytes, std::move(open)});
}

// Reads the bytes of a tensor in portions.
auto Export::portions(const Exported& exported, const std::function<bool(distrib::ByteView)>& f) -> bool {
  Error error;
  const auto bytes = static_cast<std::uint64_t>(exported.tensor.shape.elements()) * size_bytes(exported.tensor.dtype);
  progress_.begin(exported.tensor.name);
  const auto count = [&](distrib::ByteView portion) {
    progress_.add(portion.size());
    return f(portion);
  };
  return for_each_portion(exported.open(), bytes, exported.row_bytes, error, count) || (error && refuse(error));
}

// Reads everything before anything is written: the file begins with checksums, and damage leaves no file.
auto Export::measure() -> bool {
  if (format_ == TensorFormat::safetensors && !options_.digest) return true;
  for (const Exported& exported : exported_) {
    distrib::Sha256 digest;
    std::uint32_t crc = 0;
    const auto count = [&](distrib::ByteView portion) {
      if (format_ == TensorFormat::torch) crc = distrib::detail::crc32_extend(crc, portion);
      else digest.update(portion);
      return true;
    };
    if (!portions(exported, count)) return false;
    checksums_.push_back(crc);
    digests_.push_back(distrib::to_hex(digest.finish()));
  }
  return true;
}

auto Export::lay_out(distrib::detail::FileLayout& layout) -> bool {
  Error error;
  if (format_ == TensorFormat::torch) {
    layout = distrib::detail::lay_out_torch_file(options_.output, heads_, checksums_, error);
    return !error || refuse(error, exit_usage);
  }
  distrib::SafetensorsOptions to;
  to.max_file_bytes = options_.max_file_bytes;
  if (step_) to.metadata["distrib.step"] = std::to_string(*step_);
  if (!job_hash_.empty()) to.metadata["distrib.job"] = job_hash_;
  for (std::size_t i = 0; i < digests_.size(); ++i)
    to.metadata_of[heads_[i].name] = {"distrib.sha256." + heads_[i].name, digests_[i]};
  layout = distrib::detail::lay_out_safetensors(options_.output, heads_, to, error);
  return !error || refuse(error, exit_usage);
}

auto Export::write(const distrib::detail::FileLayout& layout) -> bool {
  Error error;
  HiddenFiles hidden;
  for (const auto& file : layout.files) {
    const std::string path = file.temporary();
    if (!hidden.create(path, error)) return refuse(error);
    for (const auto& part : file.parts) {
      if (!HiddenFiles::append(path, part.before, error)) return refuse(error);
      const auto append = [&](distrib::ByteView portion) {
        return HiddenFiles::append(path, portion, error) || refuse(error);
      };
      if (!portions(exported_[part.tensor], append)) return false;
    }
    if (!HiddenFiles::append(path, file.after, error)) return refuse(error);
  }
  return hidden.publish(plan_publish(layout), error) || refuse(error);
}

void Export::tell(const distrib::detail::FileLayout& layout) {
  progress_.clear();
  std::uint64_t total = 0;
  for (const auto& file : layout.files)
    for (const auto& part : file.parts) {
      const NamedTensor& tensor = heads_[part.tensor];
      total += static_cast<std::uint64_t>(tensor.shape.elements()) * size_bytes(tensor.dtype);
      if (!report_.json()) continue;
      distrib::JsonObject line;
      line.add("name", tensor.name).add("dtype", name(tensor.dtype)).add_json("shape", to_string(tensor.shape));
      line.add("file", file.path);
      if (format_ == TensorFormat::safetensors && options_.digest) line.add("sha256", digests_[part.tensor]);
      report_.line(line.text());
    }
  for (const std::string& name : left_out_)
    Report::note(name + ": left out, the format has no " + file_->reader.find(name)->type_name());
  const std::string& shown = layout.index_path.empty() ? options_.output : layout.index_path;
  if (report_.json())
    report_.line(distrib::JsonObject{}
                     .add("checkpoint", file_->reader.prefix())
                     .add("output", shown)
                     .add("files", layout.files.size())
                     .add("tensors", heads_.size())
                     .add("bytes", total)
                     .add("left_out", left_out_.size())
                     .text());
  else
    report_.line(file_->reader.prefix() + " -> " + shown + ": " + std::to_string(heads_.size()) + " tensors, " +
                 bytes_text(total) +
                 (layout.files.size() == 1 ? "" : " in " + std::to_string(layout.files.size()) + " files"));
}

}  // namespace

auto checkpoint_export(const CheckpointOptions& options) -> int {
  Report report{options.json};
  Export{options, report}.run();
  return report.finish();
}

}  // namespace tools
