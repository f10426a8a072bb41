// SPDX-License-Identifier: Apache-2.0
// `distrib checkpoint import`: a file of safetensors or of PyTorch as a checkpoint.
#include "bytes_text.hpp"
#include "checkpoint.hpp"
#include "checkpoint_convert.hpp"
#include "tensor_stream.hpp"

#include <distrib/checkpoint/bundle_writer.hpp>
#include <distrib/checkpoint/error.hpp>
#include <distrib/checkpoint/file_names.hpp>
#include <distrib/checkpoint/formats/tensor_file.hpp>
#include <distrib/core/crc32c.hpp>
#include <distrib/core/json_text.hpp>
#include <distrib/core/sha256.hpp>

#include <algorithm>
#include <cstring>
#include <memory>
#include <numeric>
#include <optional>
#include <utility>

namespace tools {

namespace {

using distrib::BundleReader;
using distrib::DType;
using distrib::Error;
using distrib::Shape;
using distrib::StoredTensor;

/// A tensor of the checkpoint that is made.
struct Imported {
  std::string name;
  DType dtype = DType::float32;
  Shape shape;
  std::function<NextBytes()> open;  ///< Begins to read its bytes.
  std::string digest;  ///< The SHA-256 that the file gives; empty: it gives none, or the bytes change.
};

class Import {
 public:
  Import(const CheckpointOptions& options, Report& report) : options_{options}, report_{report} {}

  void run();

 private:
  auto choose() -> bool;
  auto choose_table(const std::string& stem) -> bool;
  auto find_order(const StoredTensor& keys, std::vector<std::size_t>& order) -> bool;
  auto add_step() -> bool;
  auto is_table(const std::string& stem) const -> bool;
  auto digest_of(const std::string& name) const -> std::string;
  auto stream_of(const StoredTensor& tensor) const -> std::function<NextBytes()>;
  auto write() -> bool;
  auto write_tensor(const Imported& imported, const std::string& path, std::uint64_t& offset,
                    distrib::detail::BundleEntries& entries) -> bool;
  auto refuse(const Error& error) -> bool { return refuse(error, checkpoint_exit_of(error.code)); }
  auto refuse(const Error& error, int code) -> bool {
    progress_.clear();
    report_.failure(error, code);
    return false;
  }

  const CheckpointOptions& options_;
  Report& report_;
  TensorNames names_;
  std::optional<distrib::TensorFile> file_;
  std::vector<Imported> imported_;
  std::vector<std::string> left_out_;  // of a type that a checkpoint does not have
  std::uint64_t total_ = 0;
  std::int64_t step_ = 0;
  Progress progress_{1};
};

void Import::run() {
  if (!names_.set(options_, report_) || !report_.may_write(distrib::index_file_name(options_.output), options_.force))
    return;
  file_ = open_checkpoint(options_.prefix, report_);
  if (!file_) return;
  if (file_->format == distrib::TensorFormat::checkpoint)
    return report_.refuse(options_.prefix, "it is a checkpoint already; name a file of safetensors or of PyTorch");
  if (!choose() || !write()) return;
  progress_.clear();
  for (const std::string& name : left_out_)
    Report::note(name + ": left out, a checkpoint has no " + file_->reader.find(name)->type_name());
  if (report_.json())
    report_.line(distrib::JsonObject{}
                     .add("file", options_.prefix)
                     .add("checkpoint", options_.output)
                     .add("tensors", imported_.size())
                     .add("bytes", total_)
                     .add("left_out", left_out_.size())
                     .text());
  else
    report_.line(options_.prefix + " -> " + options_.output + ": " + std::to_string(imported_.size()) + " tensors, " +
                 bytes_text(total_));
}

auto Import::choose() -> bool {
  constexpr std::string_view keys = "/keys";
  std::vector<std::string> tables;
  for (const StoredTensor& tensor : file_->reader.tensors())
    if (tensor.name.ends_with(keys) && is_table(tensor.name.substr(0, tensor.name.size() - keys.size())))
      tables.push_back(tensor.name.substr(0, tensor.name.size() - keys.size()));
  const auto is_of_table = [&](const std::string& name) {
    return std::ranges::any_of(tables, [&](const std::string& table) {
      return name == table + "/keys" || name == table + "/uses" || name == table + "/values" ||
             name.starts_with(table + "/values/");
    });
  };
  for (const StoredTensor& tensor : file_->reader.tensors()) {
    if (is_of_table(tensor.name)) continue;
    std::string name = names_(tensor.name);
    if (name.empty()) continue;
    if (!tensor.is_readable()) left_out_.push_back(tensor.name);
    else imported_.push_back({std::move(name), tensor.dtype, tensor.shape, stream_of(tensor), digest_of(tensor.name)});
  }
  for (const std::string& table : tables)
    if (!choose_table(table)) return false;
  return names_.are_all_used(options_.prefix, report_) && add_step();
}

// True if there are keys and rows that fit together, as `export` writes a table of any keys.
auto Import::is_table(const std::string& stem) const -> bool {
  const StoredTensor* const keys = file_->reader.find(stem + "/keys");
  const StoredTensor* const values = file_->reader.find(stem + "/values");
  const auto is_float = [](DType type) {
    return type == DType::float32 || type == DType::float16 || type == DType::bfloat16;
  };
  return keys != nullptr && values != nullptr && (keys->dtype == DType::uint64 || keys->dtype == DType::int64) &&
         keys->shape.rank() == 1 && values->shape.rank() == 2 && values->shape[0] == keys->shape[0] &&
         is_float(values->dtype);
}

auto Import::digest_of(const std::string& name) const -> std::string {
  const auto found = file_->metadata.find("distrib.sha256." + name);
  return found == file_->metadata.end() ? std::string{} : found->second;
}

auto Import::stream_of(const StoredTensor& tensor) const -> std::function<NextBytes()> {
  return [this, &tensor] {
    auto stream = std::make_shared<TensorStream>(file_->reader, tensor);
    return NextBytes{[stream](std::span<std::byte> to, Error& error) { return stream->read(to, error); }};
  };
}

// A table of any keys becomes what one shard saves: keys that ascend, their uses, and their rows.
auto Import::choose_table(const std::string& stem) -> bool {
  const std::string name = names_(stem);
  if (name.empty()) return true;
  const StoredTensor& keys = *file_->reader.find(stem + "/keys");
  const std::int64_t count = keys.shape[0];
  std::vector<std::size_t> order;  // empty: they ascend already
  if (!find_order(keys, order)) return false;
  const auto shared = std::make_shared<const std::vector<std::size_t>>(std::move(order));
  // Rows in the order of the keys; a row of a table whose keys do not ascend is looked up in memory.
  const auto add = [&](const std::string& block, const StoredTensor& tensor, DType dtype) {
    const std::size_t row_bytes =
        size_bytes(dtype) * (tensor.shape.rank() == 1 ? 1 : static_cast<std::size_t>(tensor.shape[1]));
    StoredTensor wanted = tensor;
    if (size_bytes(tensor.dtype) == 2) wanted.stored_as = std::exchange(wanted.dtype, DType::float32);
    const auto open = [this, wanted, shared, row_bytes] {
      struct Rows {
        std::vector<std::byte> bytes;
        std::size_t next = 0;
      };
      const auto rows = std::make_shared<Rows>();
      const auto stream = std::make_shared<TensorStream>(file_->reader, wanted);
      return NextBytes{[stream, shared, rows, row_bytes](std::span<std::byte> to, Error& error) {
        if (shared->empty()) return stream->read(to, error);
        if (rows->bytes.empty()) {
          rows->bytes.resize(static_cast<std::size_t>(stream->size()));
          if (!stream->read(rows->bytes, error)) return false;
        }
        for (; !to.empty(); to = to.subspan(row_bytes))
          std::memcpy(to.data(), rows->bytes.data() + (*shared)[rows->next++] * row_bytes, row_bytes);
        return true;
      }};
    };
    const bool is_same = shared->empty() && !wanted.stored_as;
    imported_.push_back({name + "/shard-00000-of-00001/" + block, dtype, tensor.shape, open,
                         is_same ? digest_of(tensor.name) : std::string{}});
  };
  add("keys", keys, DType::int64);
  const StoredTensor* const uses = file_->reader.find(stem + "/uses");
  const Shape shape_of_uses{count, 2};
  if (uses != nullptr && uses->dtype == DType::int32 && uses->shape == shape_of_uses) {
    add("uses", *uses, DType::int32);
  } else {
    imported_.push_back({name + "/shard-00000-of-00001/uses",
                         DType::int32,
                         shape_of_uses,
                         [] {
                           return NextBytes{[](std::span<std::byte> to, Error&) {
                             for (std::size_t at = 0; at < to.size(); at += 8)  // used once, at step 0
                               distrib::store_le(to.data() + at, std::uint64_t{1});
                             return true;
                           }};
                         },
                         {}});
  }
  const StoredTensor& values = *file_->reader.find(stem + "/values");
  for (const StoredTensor& tensor : file_->reader.tensors())
    if (tensor.name == values.name || (tensor.name.starts_with(values.name + "/") && tensor.shape == values.shape))
      add(tensor.name.substr(stem.size() + 1), tensor, DType::float32);
  return true;
}

// Reads the keys. `order`: the positions of the keys in ascending order; empty if they ascend.
auto Import::find_order(const StoredTensor& keys, std::vector<std::size_t>& order) -> bool {
  std::vector<std::uint64_t> all(static_cast<std::size_t>(keys.shape[0]));
  Error error;
  file_->reader.read(keys.name, distrib::Slice::whole(keys.shape), std::as_writable_bytes(std::span{all}), error);
  if (error) return refuse(error);
  if (!std::ranges::is_sorted(all)) {
    order.resize(all.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::ranges::sort(order, {}, [&](std::size_t at) { return all[at]; });
    std::ranges::sort(all);
  }
  const auto twice = std::ranges::adjacent_find(all);
  if (twice == all.end()) return true;
  return refuse({distrib::checkpoint_errc::corrupt_data,
                 options_.prefix + ": " + keys.name + ": key " + std::to_string(*twice) + " occurs twice"});
}

// The step that the file tells, or that the user does.
auto Import::add_step() -> bool {
  const auto told = file_->metadata.find("distrib.step");
  std::optional<std::int64_t> step;
  if (options_.step >= 0) step = options_.step;
  else if (told != file_->metadata.end()) step = distrib::detail::parse_whole<std::int64_t>(told->second);
  const auto is_step = [](const Imported& imported) { return imported.name == "global_step"; };
  if (!step || std::ranges::any_of(imported_, is_step)) return true;
  step_ = *step;
  imported_.push_back({"global_step",
                       DType::int64,
                       Shape{},
                       [this] {
                         return NextBytes{[this](std::span<std::byte> to, Error&) {
                           distrib::store_le(to.data(), step_);
                           return true;
                         }};
                       },
                       {}});
  return true;
}

auto Import::write() -> bool {
  const std::string path = distrib::data_file_name(distrib::detail::temporary_prefix(options_.output), 0, 1);
  Error error;
  HiddenFiles hidden;
  distrib::detail::BundleEntries entries;
  if (!hidden.create(path, error)) return refuse(error);
  for (const Imported& imported : imported_)
    if (!write_tensor(imported, path, total_, entries)) return false;
  distrib::FilePlan plan{distrib::FileAction::sync(path)};
  append(plan, distrib::detail::plan_names(options_.output, 1, entries.encode(1)));
  return hidden.publish(plan, error) || refuse(error);
}

auto Import::write_tensor(const Imported& imported, const std::string& path, std::uint64_t& offset,
                          distrib::detail::BundleEntries& entries) -> bool {
  if (imported.name.empty() || imported.name.front() == '\0')
    return refuse({distrib::checkpoint_errc::mismatch, options_.prefix + ": a tensor without a name; use --rename"},
                  exit_usage);
  const auto bytes = static_cast<std::uint64_t>(imported.shape.elements()) * size_bytes(imported.dtype);
  std::size_t row_bytes = size_bytes(imported.dtype);
  for (std::size_t axis = 1; axis < imported.shape.rank(); ++axis)
    row_bytes *= static_cast<std::size_t>(imported.shape[axis]);
  progress_.begin(imported.name);
  std::uint32_t crc = 0;
  distrib::Sha256 digest;
  Error error;
  const auto append = [&](distrib::ByteView portion) {
    crc = distrib::detail::crc32c_extend(crc, portion);
    if (!imported.digest.empty()) digest.update(portion);
    progress_.add(portion.size());
    return HiddenFiles::append(path, portion, error);
  };
  if (!for_each_portion(imported.open(), bytes, row_bytes, error, append)) return refuse(error);
  if (!imported.digest.empty() && distrib::to_hex(digest.finish()) != imported.digest)
    return refuse({distrib::checkpoint_errc::corrupt_data,
                   options_.prefix + ": " + imported.name + ": its SHA-256 is not the one in the file's metadata"});
  const StoredTensor::Piece piece{distrib::Slice::whole(imported.shape), 0, offset, bytes, distrib::mask_crc(crc)};
  if (!entries.add(imported.name, imported.dtype, imported.shape, piece, error)) return refuse(error, exit_usage);
  offset += bytes;
  return true;
}

}  // namespace

auto checkpoint_import(const CheckpointOptions& options) -> int {
  Report report{options.json};
  Import{options, report}.run();
  return report.finish();
}

}  // namespace tools
