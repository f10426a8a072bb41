// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/checkpoint/bundle_reader.hpp>
#include <distrib/checkpoint/bundle_writer.hpp>
#include <distrib/checkpoint/error.hpp>
#include <distrib/checkpoint/file_names.hpp>
#include <distrib/checkpoint/file_shell.hpp>
#include <distrib/checkpoint/latest_checkpoint.hpp>
#include <distrib/checkpoint/save.hpp>
#include <distrib/core/detail/files.hpp>
#include <distrib/core/error.hpp>
#include <distrib/optimizer/updater.hpp>
#include <distrib/ps/error.hpp>
#include <distrib/ps/job.hpp>
#include <distrib/ps/shard_action.hpp>
#include <distrib/ps/shard_layout.hpp>
#include <distrib/train/events.hpp>
#include <distrib/train/save_checkpoint.hpp>

#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace distrib::inline v0 {

/// What a job goes on from.
struct RestoredCuts {
  std::string prefix;         ///< Empty: there is no checkpoint, the job starts from its initial values.
  std::vector<Cut> cuts;      ///< One a shard, whatever the number of shards and parts that saved them.
  std::vector<Event> events;  ///< Checkpoints that were refused, and the one that is used.
};

/// The cuts of a job as TensorFlow checkpoints in one directory: variables and slots under TensorFlow's names,
/// `global_step`, and our own `distrib/job` (the canonical description) and `distrib/applied` (asynchronous jobs).
///
/// Threads: `save` on any one thread at a time. Throws `std::system_error` that names the file or the tensor.
class CheckpointStore {
 public:
  /// Makes the directory when it is not there. Throws when it cannot be written.
  CheckpointStore(const SaveCheckpoint& setting, const Job& job, std::span<const Slot> slots)
      : directory_{setting.directory}, max_to_keep_{setting.max_to_keep}, job_text_{to_text(job)}, ranks_{job.ranks},
        slots_{slots.begin(), slots.end()}, layouts_{shard_layouts(job)} {
    Error error;
    make_directories(directory_, error);
    if (!error && ::access(directory_.c_str(), W_OK) != 0)
      error = {checkpoint_errc::cannot_write, detail::with_reason(directory_, detail::last_os_error())};
    throw_if(error);
  }

  /// Reads the newest complete checkpoint. Throws `ps_errc::job_mismatch` with the first difference when it belongs to
  /// another job, and what is wrong when there are checkpoints and none is complete.
  [[nodiscard]] auto restore() const -> RestoredCuts {
    RestoredCuts restored;
    std::vector<Error> refused;
    const auto reader = newest_complete(directory_, refused);
    if (!reader && !refused.empty()) throw_if(refused.front());
    for (const Error& error : refused)
      restored.events.push_back({Event::Kind::checkpoint_refused, "local", error.where, error.code,
                                 "passed over a damaged checkpoint: " + error.where + ": " + error.code.message()});
    if (!reader) return restored;

    check_job(*reader);
    restored.prefix = reader->prefix();
    for (const ShardLayout& layout : layouts_) restored.cuts.push_back(read_cut(*reader, layout));
    restored.events.push_back({Event::Kind::restored, "local", restored.prefix, {},
                               "going on after step " + std::to_string(restored.cuts.front().step) + " from " +
                                   restored.prefix});
    return restored;
  }

  /// Saves the cuts of all shards at one step, durably; returns the prefix.
  auto save(Step step, std::span<const Cut> cuts) const -> std::string {
    const auto global_step = static_cast<std::int64_t>(step);
    const std::vector<std::int64_t> applied{cuts.front().applied.begin(), cuts.front().applied.end()};
    std::vector<BundlePart> parts(layouts_.size());
    for (std::size_t shard = 0; shard < layouts_.size(); ++shard)
      for (const auto& place : layouts_[shard].places()) {
        const auto piece = [&](const std::string& name, const SharedBuffer& block) {
          parts[shard].tensors.push_back({name, DType::float32, place.whole, place.slice,
                                          block->bytes().subspan(place.offset_bytes, place.size_bytes)});
        };
        piece(place.name, cuts[shard].values);
        for (std::size_t i = 0; i < slots_.size(); ++i) piece(slot_name(place.name, i), cuts[shard].slots[i]);
      }
    const Shape ranks{static_cast<std::int64_t>(applied.size())};
    parts.front().tensors.push_back({"global_step", DType::int64, Shape{}, Slice::whole({}),
                                     std::as_bytes(std::span{&global_step, 1})});
    if (!applied.empty())
      parts.front().tensors.push_back({"distrib/applied", DType::int64, ranks, Slice::whole(ranks),
                                       std::as_bytes(std::span{applied})});
    parts.front().strings.push_back({"distrib/job", Shape{}, {job_text_}});

    const std::string name = "model.ckpt-" + std::to_string(step);
    save_checkpoint(directory_, name, parts, {.max_to_keep = max_to_keep_});
    return directory_ + "/" + name;
  }

 private:
  auto slot_name(const std::string& variable, std::size_t slot) const -> std::string {
    return variable + "/" + std::string{slots_[slot].name};
  }

  void check_job(const BundleReader& reader) const {
    if (reader.find("distrib/job") == nullptr)
      throw_error(ps_errc::job_mismatch, reader.prefix() + ": no job is stored in it");
    const auto saved = reader.read_strings("distrib/job");
    const std::string difference = identity_difference(saved.empty() ? std::string{} : saved.front(), job_text_);
    if (!difference.empty()) throw_error(ps_errc::job_mismatch, reader.prefix() + ": " + difference);
  }

  auto read_cut(const BundleReader& reader, const ShardLayout& layout) const -> Cut {
    Cut cut;
    const auto global_step = read_numbers(reader, "global_step");
    if (global_step.size() != 1)
      throw_error(checkpoint_errc::mismatch, reader.prefix() + ": global_step is not one number");
    cut.step = static_cast<Step>(global_step.front());
    if (reader.find("distrib/applied") != nullptr)
      for (const std::int64_t applied : read_numbers(reader, "distrib/applied"))
        cut.applied.push_back(static_cast<Step>(applied));
    const auto [least, most] = std::ranges::minmax_element(cut.applied);
    if (!cut.applied.empty() && cut.applied.size() != ranks_ && *most - *least > 1)
      throw_error(ps_errc::job_mismatch, reader.prefix() + ": an asynchronous job that was interrupted goes on with as many "
                                                           "workers as it had: distrib/applied has " +
                                             std::to_string(cut.applied.size()));
    auto values = std::make_shared<AlignedBuffer>(layout.block_bytes());
    std::vector<std::shared_ptr<AlignedBuffer>> slots;
    for (std::size_t i = 0; i < slots_.size(); ++i)
      slots.push_back(std::make_shared<AlignedBuffer>(layout.block_bytes()));
    for (const auto& place : layout.places()) {
      const auto read = [&](const std::string& name, AlignedBuffer& block) {
        reader.read(name, place.slice, block.bytes().subspan(place.offset_bytes, place.size_bytes));
      };
      read(place.name, *values);
      for (std::size_t i = 0; i < slots_.size(); ++i) read(slot_name(place.name, i), *slots[i]);
    }
    cut.values = std::move(values);
    cut.slots.assign(slots.begin(), slots.end());
    return cut;
  }

  // An int64 tensor; a scalar is one number.
  static auto read_numbers(const BundleReader& reader, std::string_view name) -> std::vector<std::int64_t> {
    const StoredTensor* tensor = reader.find(name);
    if (tensor == nullptr || tensor->dtype != DType::int64)
      throw_error(checkpoint_errc::mismatch, reader.prefix() + ": " + std::string{name} + " is no int64 tensor");
    std::vector<std::int64_t> numbers(static_cast<std::size_t>(tensor->shape.elements()));
    reader.read(name, Slice::whole(tensor->shape), std::as_writable_bytes(std::span{numbers}));
    for (const std::int64_t number : numbers)
      if (number < 0) throw_error(checkpoint_errc::mismatch, reader.prefix() + ": " + std::string{name} + " is negative");
    return numbers;
  }

  std::string directory_;
  std::size_t max_to_keep_;
  std::string job_text_;
  std::uint32_t ranks_;
  std::vector<Slot> slots_;
  std::vector<ShardLayout> layouts_;
};

}  // namespace distrib::inline v0
