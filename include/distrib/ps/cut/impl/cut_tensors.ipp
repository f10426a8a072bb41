// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/ps/cut/cut_tensors.hpp>

#include <distrib/checkpoint/error.hpp>
#include <distrib/ps/job/error.hpp>

#include <algorithm>
#include <cassert>
#include <memory>
#include <utility>

namespace distrib {
inline namespace v0 {

DISTRIB_DECL CutTensors::CutTensors(const Job& job, std::uint32_t shard, JobUpdaters updaters)
    : layout_{job, shard},
      updaters_{std::move(updaters)},
      job_text_{to_text(job)},
      only_settings_{Lineage{}.continued(0, settings_hash(job_text_))},
      shards_{job.shards()},
      counts_by_log_{job.most_ranks != 0 && !job.consistency.is_synchronous()},
      columns_{counts_by_log_ ? std::int64_t{job.most_ranks} + 1 : std::int64_t{job.ranks}} {
  for (const TableShare& table : layout_.tables())
    tables_.emplace_back(table, updaters_[table.updater()], shard, shards_);
}

DISTRIB_DECL auto CutTensors::part(const Cut& cut) const -> BundlePart {
  BundlePart part;
  for_each_piece([&](const ShardLayout::Entry& entry, std::string name, std::size_t block, std::size_t offset_bytes) {
    const SharedBuffer& of = block == 0 ? cut.values : cut.slots[block - 1];
    part.tensors.push_back(
        {std::move(name), entry.dtype, entry.whole, entry.slice, of->bytes().subspan(offset_bytes, entry.size_bytes)});
  });
  assert(cut.tables.size() == tables_.size());
  for (std::size_t table = 0; table < tables_.size(); ++table) {
    if (cut.base) tables_[table].add_changes_to(part, cut.tables[table]);
    else tables_[table].add_to(part, cut.tables[table]);
  }
  if (cut.base)
    part.tensors.push_back({base_name, DType::int64, Shape{}, Slice::whole({}), detail::bytes_of(*cut.base)});
  if (!cut.applied.empty()) {
    const Shape shape{static_cast<std::int64_t>(shards_), static_cast<std::int64_t>(cut.applied.size())};
    part.tensors.push_back({applied_name, DType::int64, shape, Slice::along(shape, 0, layout_.shard(), 1),
                            std::as_bytes(std::span{cut.applied})});
  }
  return part;
}

DISTRIB_DECL void CutTensors::describe(const Cut& cut, BundlePart& part) const {
  part.tensors.push_back({"global_step", DType::int64, Shape{}, Slice::whole({}), detail::bytes_of(cut.step)});
  part.strings.push_back({job_name, Shape{}, {job_text_}});
  if (!cut.lineage.empty() && cut.lineage != only_settings_)
    part.strings.push_back({lineage_name, Shape{}, {to_text(cut.lineage)}});
}

DISTRIB_DECL auto CutTensors::lineage(const BundleReader& reader, Error& error) const -> Lineage {
  const bool is_told = reader.find(lineage_name) != nullptr;
  const auto texts = reader.read_strings(is_told ? lineage_name : job_name, error);
  if (error) return {};
  const std::string text = texts.empty() ? std::string{} : texts.front();
  if (!is_told) return Lineage{}.continued(0, settings_hash(text));
  const auto lineage = parse_lineage(text);
  if (!lineage)
    error = {checkpoint_errc::corrupt_data, reader.prefix() + ": " + lineage_name + " is not a valid lineage"};
  return lineage.value_or(Lineage{});
}

DISTRIB_DECL auto CutTensors::are_of_one_history(std::span<const BundleIndex> parts) -> bool {
  const auto tells = [](const BundleIndex& part) { return part.find(lineage_name) != nullptr; };
  return std::ranges::all_of(parts, tells) || std::ranges::none_of(parts, tells);
}

DISTRIB_DECL void CutTensors::check_job(const BundleReader& reader, ErrorRef to) const {
  detail::ErrorOut error{to};
  if (reader.find(job_name) == nullptr) {
    error = {ps_errc::job_mismatch, reader.prefix() + ": no job is stored in it"};
    return;
  }
  const auto saved = reader.read_strings(job_name, error);
  if (error) return;
  const std::string difference = identity_difference(saved.empty() ? std::string{} : saved.front(), job_text_);
  if (!difference.empty()) error = {ps_errc::job_mismatch, reader.prefix() + ": " + difference};
}

DISTRIB_DECL auto CutTensors::fits(const BundleReader& reader) const -> bool {
  if (reader.index().shards != shards_) return false;
  std::size_t pieces = 0;
  for (const StoredTensor& tensor : reader.tensors())
    for (const StoredTensor::Piece& piece : tensor.pieces)
      if (piece.shard == layout_.shard() && !is_common(tensor.name)) ++pieces;
  std::size_t found = 0;
  std::size_t wanted = 0;
  for_each_piece([&](const ShardLayout::Entry& entry, const std::string& name, std::size_t, std::size_t) {
    ++wanted;
    if (has_piece(reader, name, entry)) ++found;
  });
  for (const TableTensors& table : tables_) {
    wanted += table.pieces();
    found += table.pieces_in(reader);
  }
  return found == wanted && pieces == wanted;
}

DISTRIB_DECL auto CutTensors::fits_link(const BundleReader& reader) const -> bool {
  bool fits = reader.index().shards == shards_;
  for_each_piece([&](const ShardLayout::Entry& entry, const std::string& name, std::size_t, std::size_t) {
    fits = fits && has_piece(reader, name, entry);
  });
  return fits;
}

DISTRIB_DECL auto CutTensors::base(const BundleReader& reader, Error& error) const -> Step {
  const auto numbers = read_numbers(reader, base_name, error);
  if (!error && numbers.size() != 1)
    error = {checkpoint_errc::mismatch, reader.prefix() + ": " + base_name + " is not a single number"};
  return error ? 0 : numbers.front();
}

DISTRIB_DECL auto CutTensors::read_link(const BundleReader& reader, ErrorRef to) const -> Cut {
  detail::ErrorOut error{to};
  Cut cut = read_dense(reader, error);
  if (!error) cut.base = base(reader, error);
  for (const TableTensors& table : tables_) {
    if (error) return cut;
    cut.tables.push_back(table.read_changes(reader, error));
  }
  return cut;
}

DISTRIB_DECL auto CutTensors::with_links(const Cut& whole, std::span<const Cut> links) const -> Cut {
  Cut cut = links.empty() ? whole : links.back();
  cut.base.reset();
  cut.tables.clear();
  for (std::size_t i = 0; i < tables_.size(); ++i) {
    std::vector<TableCut> changes;
    for (const Cut& link : links) changes.push_back(link.tables[i]);
    cut.tables.push_back(tables_[i].with_changes(whole.tables[i], changes));
  }
  return cut;
}

DISTRIB_DECL auto CutTensors::read(const BundleReader& reader, ErrorRef to) const -> Cut {
  detail::ErrorOut error{to};
  Cut cut = read_dense(reader, error);
  for (const TableTensors& table : tables_) {
    if (error) return cut;
    cut.tables.push_back(table.read(reader, error));
  }
  return cut;
}

DISTRIB_DECL auto CutTensors::read_dense(const BundleReader& reader, Error& error) const -> Cut {
  Cut cut;
  const auto step = read_numbers(reader, "global_step", error);
  if (!error && step.size() != 1)
    error = {checkpoint_errc::mismatch, reader.prefix() + ": global_step is not a single number"};
  if (error) return cut;
  cut.step = step.front();
  cut.applied = read_applied(reader, error);
  if (!error && cut.applied.empty()) cut.lineage = lineage(reader, error);

  std::vector<std::shared_ptr<AlignedBuffer>> blocks{std::make_shared<AlignedBuffer>(layout_.block_bytes())};
  for (const ShardLayout::Group& group : layout_.groups())
    for (std::size_t i = 0; i < updaters_[group.updater].slots().size(); ++i)
      blocks.push_back(std::make_shared<AlignedBuffer>(group.size_bytes));
  for_each_piece(
      [&](const ShardLayout::Entry& entry, const std::string& name, std::size_t block, std::size_t offset_bytes) {
        if (!error)
          reader.read(name, entry.slice, blocks[block]->bytes().subspan(offset_bytes, entry.size_bytes), error);
      });
  cut.values = std::move(blocks.front());
  for (auto slot = blocks.begin() + 1; slot != blocks.end(); ++slot) cut.slots.push_back(std::move(*slot));
  return cut;
}

DISTRIB_DECL auto CutTensors::read(const BundleReader& reader) const -> Cut {
  Error error;
  Cut cut = read(reader, error);
  throw_if(error);
  return cut;
}

DISTRIB_DECL auto CutTensors::has_piece(const BundleReader& reader, std::string_view name,
                                        const ShardLayout::Entry& entry) const -> bool {
  const StoredTensor* tensor = reader.find(name);
  if (tensor == nullptr || tensor->dtype != entry.dtype || tensor->shape != entry.whole) return false;
  return std::any_of(tensor->pieces.begin(), tensor->pieces.end(), [&](const StoredTensor::Piece& piece) {
    return piece.shard == layout_.shard() && piece.slice == entry.slice;
  });
}

// Returns the contributions counted of each rank; empty for a synchronous job. The shard's own row if the same numbers
// of shards and ranks saved it, with the same parts. Otherwise all shards must have counted the same; and for another
// number of ranks the counts of the ranks must not differ by more than one.
DISTRIB_DECL auto CutTensors::read_applied(const BundleReader& reader, Error& error) const -> std::vector<Step> {
  const StoredTensor* tensor = reader.find(applied_name);
  if (tensor == nullptr) return {};
  const Shape& shape = tensor->shape;
  check_ranks(reader, shape, error);
  if (error) return {};
  if (shape == Shape{shards_, columns_} && fits(reader))
    return read_numbers(reader, applied_name, Slice::along(shape, 0, layout_.shard(), 1), error);

  std::vector<Step> all;
  if (tensor->complete) all = read_numbers(reader, applied_name, error);
  if (error) return {};
  if (!all.empty()) {
    const auto ranks = shape.rank() == 0 ? 1 : shape[shape.rank() - 1];
    const auto second = all.begin() + ranks;
    const bool agreed = std::equal(second, all.end(), all.begin());
    const auto [least, most] = std::minmax_element(all.begin(), second);
    if (agreed && (ranks == columns_ || *most - *least <= 1)) return {all.begin(), second};
  }
  error = {ps_errc::job_mismatch,
           reader.prefix() +
               ": an asynchronous job that was interrupted can continue only with as many shards and workers as "
               "it had: distrib/applied [shards, workers] is " +
               to_string(shape)};
  return {};
}

DISTRIB_DECL void CutTensors::check_ranks(const BundleReader& reader, const Shape& applied, Error& error) const {
  const auto texts =
      reader.find(job_name) == nullptr ? std::vector<std::string>{} : reader.read_strings(job_name, error);
  if (error) return;
  const bool saved_by_log = !texts.empty() && texts.front().find("\nmost_ranks ") != std::string::npos;
  const bool has_columns = applied.rank() != 0 && applied[applied.rank() - 1] == columns_;
  if (saved_by_log == counts_by_log_ && (has_columns || !counts_by_log_)) return;
  error = {ps_errc::job_mismatch,
           reader.prefix() +
               ": an asynchronous job whose ranks change continues only from a checkpoint of such a job, "
               "and only with the same most_ranks; no other job continues from it: distrib/applied is " +
               to_string(applied)};
}

DISTRIB_DECL auto CutTensors::read_numbers(const BundleReader& reader, std::string_view name, const Slice& slice,
                                           Error& error) -> std::vector<Step> {
  const StoredTensor* tensor = reader.find(name);
  const auto mismatch = [&](const std::string& what) {
    error = {checkpoint_errc::mismatch, reader.prefix() + ": " + std::string{name} + what};
    return std::vector<Step>{};
  };
  if (tensor == nullptr || tensor->dtype != DType::int64) return mismatch(" is missing or not an int64 tensor");
  std::vector<Step> numbers(static_cast<std::size_t>(slice.extents.elements()));
  reader.read(name, slice, std::as_writable_bytes(std::span{numbers}), error);
  if (error) return {};
  for (const Step number : numbers)
    if (static_cast<std::int64_t>(number) < 0) return mismatch(" contains a negative number");
  return numbers;
}

}  // namespace v0
}  // namespace distrib
