// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/ps/cut/initial_checkpoint.hpp>

#include <distrib/checkpoint/error.hpp>
#include <distrib/checkpoint/formats/tensor_file.hpp>
#include <distrib/checkpoint/object_names.hpp>
#include <distrib/core/dtype.hpp>
#include <distrib/core/error.hpp>
#include <distrib/core/nearest_names.hpp>
#include <distrib/core/shape.hpp>
#include <distrib/core/slice.hpp>
#include <distrib/core/table_info.hpp>
#include <distrib/core/variable_info.hpp>
#include <distrib/ps/cut/object_checkpoints.hpp>
#include <distrib/ps/job/error.hpp>
#include <distrib/ps/job/initial_name.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <set>
#include <span>
#include <string_view>
#include <utility>

namespace distrib {
inline namespace v0 {
namespace detail {

// Returns "w" for "w/part_12": the name of the variable. Returns an empty text if `name` is not the name of a part.
DISTRIB_DECL auto whole_of_part(std::string_view name) -> std::string_view {
  constexpr std::string_view part = "/part_";
  const std::size_t at = name.rfind(part);
  const bool is_part = at != std::string_view::npos && at + part.size() < name.size() &&
                       name.find_first_not_of("0123456789", at + part.size()) == std::string_view::npos;
  return is_part ? name.substr(0, at) : std::string_view{};
}

// Returns the slice of the whole tensor that is `slice` of a part which begins at `by` along `axis`.
DISTRIB_DECL auto moved_along(const Slice& slice, std::size_t axis, std::int64_t by) -> Slice {
  std::array<std::int64_t, Shape::max_rank> start{};
  std::copy(slice.start.extents().begin(), slice.start.extents().end(), start.begin());
  start[axis] += by;
  return {Shape{std::span<const std::int64_t>{start.data(), slice.start.rank()}}, slice.extents};
}

/// Searches a checkpoint for what a job starts with, one variable or table after the other.
class InitialSearch {
 public:
  InitialSearch(const Job& job, const BundleReader& reader) : job_{job}, reader_{reader} {
    Error error;
    graph_ = read_object_graph(reader, error);
    throw_if(error);
  }

  void take(const VariableInfo& variable) {
    if (!is_counter(variable.dtype)) take_whole({variable.name, variable.dtype, variable.shape});
  }
  void take(const TableInfo& table) {
    if (table.any_key()) take_any_keys(table);
    else
      take_whole({table.name, DType::float32,
                  Shape{static_cast<std::int64_t>(table.rows), static_cast<std::int64_t>(table.dim)}});
  }

  /// Returns what was found, under the job's names.
  [[nodiscard]] auto taken() && -> std::vector<StoredTensor> { return std::move(taken_); }
  /// Returns what starts as its initializer says.
  [[nodiscard]] DISTRIB_DECL auto missing() const -> std::vector<std::string>;
  /// Returns why the job cannot start with this checkpoint; no error: it can.
  [[nodiscard]] DISTRIB_DECL auto why_not() const -> Error;

 private:
  struct Wanted {
    std::string name;
    DType dtype{};
    Shape shape;  // for a table of any keys: the shape of a row
  };
  struct Lack {
    Wanted wanted;
    std::string stored_name;
    const InitialName* entry;  // the entry that gave the stored name; may be null
  };

  static auto described(DType dtype, const Shape& shape) -> std::string {
    return std::string{name(dtype)} + to_string(shape);
  }
  // Lets a tensor of 16-bit numbers be read as float32.
  static void widen(StoredTensor& tensor) {
    if (tensor.dtype != DType::float16 && tensor.dtype != DType::bfloat16) return;
    tensor.stored_as = tensor.dtype;
    tensor.dtype = DType::float32;
  }

  static auto described(const StoredTensor& tensor) -> std::string {
    return tensor.type_name() + to_string(tensor.shape);
  }

  // The name without the suffix of object-based checkpoints.
  static auto shown_name(const StoredTensor& tensor) -> std::string_view {
    const std::string_view name = tensor.name;
    return name.ends_with(variable_value) ? name.substr(0, name.size() - variable_value.size()) : name;
  }

  DISTRIB_DECL auto stored_name_of(const std::string& name) const -> std::string;
  DISTRIB_DECL void take_whole(Wanted wanted);
  DISTRIB_DECL void take_any_keys(const TableInfo& table);
  DISTRIB_DECL void take_keys_and_values(const TableInfo& table, const std::string& stored_name);
  DISTRIB_DECL void add(StoredTensor tensor, std::string name);
  DISTRIB_DECL void differs(const std::string& stored_name, const std::string& found, const std::string& wanted,
                            const std::string& name);
  DISTRIB_DECL auto find(const std::string& name) const -> const StoredTensor*;
  DISTRIB_DECL auto shards_of(const std::string& table) const -> std::vector<const StoredTensor*>;
  DISTRIB_DECL auto parts_of(const std::string& stem) const -> std::vector<const StoredTensor*>;
  DISTRIB_DECL static auto joined(std::span<const StoredTensor* const> parts, const Shape& shape)
      -> std::optional<StoredTensor>;
  DISTRIB_DECL auto must_be_there(const Lack& lack) const -> bool;
  DISTRIB_DECL auto likeliest(const Lack& lack) const -> std::vector<const StoredTensor*>;
  DISTRIB_DECL auto nearest(const Lack& lack) const -> std::string;

  static constexpr std::size_t most_shown = 3;

  const Job& job_;
  const BundleReader& reader_;
  ObjectGraph graph_;
  std::vector<StoredTensor> taken_;
  std::set<const InitialName*> used_;  // entries whose names were found
  std::vector<std::string> left_out_;  // left to their initializers by an entry
  std::vector<Lack> lacks_;
  std::vector<std::string> differences_;
};

DISTRIB_DECL auto InitialSearch::missing() const -> std::vector<std::string> {
  std::vector<std::string> names = left_out_;
  for (const Lack& lack : lacks_) names.push_back(lack.wanted.name);
  return names;
}

DISTRIB_DECL auto InitialSearch::why_not() const -> Error {
  constexpr std::size_t most_named = 200;
  constexpr std::size_t most_with_nearest = 10;
  std::string text;
  std::size_t named = 0;
  const auto add_text = [&](const std::string& what) {
    if (++named <= most_named) text += (text.empty() ? "" : "; ") + what;
  };
  for (const std::string& difference : differences_) add_text(difference);
  std::size_t lacking = 0;
  for (const Lack& lack : lacks_) {
    if (!must_be_there(lack)) continue;
    const bool has_own_name = lack.stored_name == lack.wanted.name;
    add_text("it lacks " + lack.stored_name + (has_own_name ? "" : ", for " + lack.wanted.name) +
             (++lacking <= most_with_nearest ? nearest(lack) : ""));
  }
  if (named == 0) return {};
  if (named > most_named) text += "; and " + std::to_string(named - most_named) + " more";
  const std::error_code code =
      lacking != 0 ? make_error_code(ps_errc::not_in_checkpoint) : make_error_code(checkpoint_errc::mismatch);
  return {code, reader_.prefix() + ": " + text};
}

// Returns the name under which the checkpoint may have the variable or table `name`. Empty: an entry of the job's
// `initial_names` leaves it to its initializer.
DISTRIB_DECL auto InitialSearch::stored_name_of(const std::string& name) const -> std::string {
  const InitialName* const entry = find_initial_name(job_.initial_names, name);
  return entry == nullptr ? name : entry->stored_name(name);
}

DISTRIB_DECL void InitialSearch::take_whole(Wanted wanted) {
  const std::string stored_name = stored_name_of(wanted.name);
  if (stored_name.empty()) return left_out_.push_back(wanted.name);
  std::optional<StoredTensor> found;
  if (const StoredTensor* const tensor = find(stored_name)) {
    found = *tensor;
  } else if (stored_name.ends_with('*')) {
    const auto parts = parts_of(stored_name.substr(0, stored_name.size() - 1));
    found = joined(parts, wanted.shape);
    if (!found && !parts.empty())
      return differs(stored_name, std::to_string(parts.size()) + " tensors, the first " + described(*parts.front()),
                     described(wanted.dtype, wanted.shape), wanted.name);
  } else if (const auto shards = shards_of(stored_name); !shards.empty()) {
    return differs(shards.front()->name, described(*shards.front()), "a table of numbered keys", wanted.name);
  }
  if (!found) {
    const InitialName* const entry = find_initial_name(job_.initial_names, wanted.name);
    return lacks_.push_back({std::move(wanted), stored_name, entry});
  }
  const std::string found_as = described(*found);
  widen(*found);
  if (found->dtype != wanted.dtype || found->shape != wanted.shape)
    return differs(stored_name, found_as, described(wanted.dtype, wanted.shape), wanted.name);
  add(*std::move(found), wanted.name);
}

DISTRIB_DECL void InitialSearch::take_any_keys(const TableInfo& table) {
  const std::string stored_name = stored_name_of(table.name);
  if (stored_name.empty()) return left_out_.push_back(table.name);
  if (const StoredTensor* const numbered = find(stored_name))
    return differs(stored_name, described(*numbered), "a table of any keys", table.name);
  const auto shards = shards_of(stored_name);
  const auto dim = static_cast<std::int64_t>(table.dim);
  for (const StoredTensor* const tensor : shards)
    if (tensor->name.ends_with("/values") && (tensor->shape.rank() != 2 || tensor->shape[1] != dim))
      return differs(tensor->name, described(*tensor), "rows of " + std::to_string(dim), table.name);
  for (const StoredTensor* const tensor : shards) add(*tensor, table.name + tensor->name.substr(stored_name.size()));
  if (shards.empty()) take_keys_and_values(table, stored_name);
}

// A table as other programs save it: all keys in one tensor, their rows in another one, in the same order.
DISTRIB_DECL void InitialSearch::take_keys_and_values(const TableInfo& table, const std::string& stored_name) {
  const auto dim = static_cast<std::int64_t>(table.dim);
  const StoredTensor* const keys = find(stored_name + "/keys");
  const StoredTensor* const values = find(stored_name + "/values");
  if (keys == nullptr || values == nullptr) {
    Wanted wanted{table.name, DType::float32, Shape{dim}};
    const InitialName* const entry = find_initial_name(job_.initial_names, table.name);
    return lacks_.push_back({std::move(wanted), stored_name, entry});
  }
  const bool are_keys = keys->dtype == DType::uint64 || keys->dtype == DType::int64;
  if (!are_keys || keys->shape.rank() != 1) return differs(keys->name, described(*keys), "keys of 64 bits", table.name);
  StoredTensor rows = *values;
  widen(rows);
  const Shape shape{keys->shape[0], dim};
  if (rows.dtype != DType::float32 || rows.shape != shape)
    return differs(values->name, described(*values), described(DType::float32, shape), table.name);
  add(*keys, table.name + "/keys");
  add(std::move(rows), table.name + "/values");
}

DISTRIB_DECL void InitialSearch::add(StoredTensor tensor, std::string name) {
  used_.insert(find_initial_name(job_.initial_names, name));
  tensor.name = std::move(name);
  taken_.push_back(std::move(tensor));
}

DISTRIB_DECL void InitialSearch::differs(const std::string& stored_name, const std::string& found,
                                         const std::string& wanted, const std::string& name) {
  differences_.push_back(stored_name + ": it is " + found + ", not " + wanted +
                         (stored_name_of(name) == name ? "" : ", for " + name));
}

DISTRIB_DECL auto InitialSearch::find(const std::string& name) const -> const StoredTensor* {
  Error error;
  const StoredTensor* const tensor = find_tensor(reader_, graph_, name, error);
  throw_if(error);
  return tensor;
}

// Returns the tensors of a table of any keys, of all shards that saved it.
DISTRIB_DECL auto InitialSearch::shards_of(const std::string& table) const -> std::vector<const StoredTensor*> {
  const std::string prefix = table + "/shard-";
  std::vector<const StoredTensor*> found;
  auto at = std::lower_bound(reader_.tensors().begin(), reader_.tensors().end(), prefix,
                             [](const StoredTensor& tensor, const std::string& name) { return tensor.name < name; });
  for (; at != reader_.tensors().end() && at->name.starts_with(prefix); ++at) found.push_back(&*at);
  return found;
}

// Returns the separate tensors "STEM0", "STEM1", ...
DISTRIB_DECL auto InitialSearch::parts_of(const std::string& stem) const -> std::vector<const StoredTensor*> {
  std::vector<const StoredTensor*> parts;
  while (const StoredTensor* const part = find(stem + std::to_string(parts.size()))) parts.push_back(part);
  return parts;
}

// Returns one tensor of this shape, made of the pieces of all parts. The parts follow each other along the first axis
// along which they fit. Empty: they do not fit along any axis, or there are no parts.
DISTRIB_DECL auto InitialSearch::joined(std::span<const StoredTensor* const> parts, const Shape& shape)
    -> std::optional<StoredTensor> {
  if (parts.empty()) return std::nullopt;
  for (std::size_t axis = 0; axis < shape.rank(); ++axis) {
    StoredTensor whole{{}, parts.front()->dtype, shape, {}, true};
    std::int64_t rows = 0;
    bool fits = true;
    for (const StoredTensor* const part : parts) {
      fits = fits && part->dtype == whole.dtype && part->shape.rank() == shape.rank() &&
             part->shape[axis] <= shape[axis] - rows &&
             part->shape == Slice::along(shape, axis, rows, part->shape[axis]).extents;
      if (!fits) break;
      for (StoredTensor::Piece piece : part->pieces) {
        piece.slice = moved_along(piece.slice, axis, rows);
        whole.pieces.push_back(piece);
      }
      whole.complete = whole.complete && part->complete;
      rows += part->shape[axis];
    }
    if (fits && rows == shape[axis]) return whole;
  }
  return std::nullopt;
}

// True if what is missing is an error: see `InitialCheckpoint::of`.
DISTRIB_DECL auto InitialSearch::must_be_there(const Lack& lack) const -> bool {
  if (!job_.initial_allow_missing || taken_.empty()) return true;
  return lack.entry != nullptr && !used_.contains(lack.entry);
}

// Returns the numeric tensors whose names are most like the missing one; tensors of its type and shape are preferred.
DISTRIB_DECL auto InitialSearch::likeliest(const Lack& lack) const -> std::vector<const StoredTensor*> {
  struct Candidate {
    double likeness;
    const StoredTensor* tensor;
  };
  std::vector<Candidate> candidates;
  for (const StoredTensor& tensor : reader_.tensors()) {
    if (tensor.dtype == DType::string || !tensor.is_readable()) continue;
    const bool has_form = tensor.dtype == lack.wanted.dtype && tensor.shape == lack.wanted.shape;
    const std::string_view whole = whole_of_part(shown_name(tensor));
    const std::string_view name = whole.empty() ? shown_name(tensor) : whole;
    candidates.push_back({likeness(name, lack.stored_name) + (has_form ? 0.5 : 0), &tensor});
  }
  const auto end = candidates.begin() + static_cast<std::ptrdiff_t>(std::min(most_shown, candidates.size()));
  std::partial_sort(candidates.begin(), end, candidates.end(), [](const Candidate& a, const Candidate& b) {
    return a.likeness != b.likeness ? a.likeness > b.likeness : a.tensor->name < b.tensor->name;
  });
  std::vector<const StoredTensor*> tensors;
  for (auto at = candidates.begin(); at != end; ++at) tensors.push_back(at->tensor);
  return tensors;
}

// Returns " (nearest: ...)", the tensors of the checkpoint with similar names, or a text that says that it has none.
DISTRIB_DECL auto InitialSearch::nearest(const Lack& lack) const -> std::string {
  std::string whole = lack.stored_name;
  auto tensors = parts_of(whole + "/part_");
  bool are_parts = !tensors.empty();
  if (!are_parts) {
    tensors = likeliest(lack);
    if (tensors.empty()) return " (it has no numeric tensor)";
    whole = whole_of_part(shown_name(*tensors.front()));
    are_parts = !whole.empty() && find(whole + "/part_0") != nullptr;
    if (are_parts) tensors = parts_of(whole + "/part_");
  }
  std::string text;
  for (std::size_t i = 0; i < std::min(most_shown, tensors.size()); ++i)
    text += (i == 0 ? " (nearest: " : ", ") + std::string{shown_name(*tensors[i])} + " " + described(*tensors[i]);
  if (tensors.size() > most_shown) text += ", ...";
  return text + (are_parts ? ": separate tensors, which the name " + whole + "/part_* joins)" : ")");
}

// Opens what the values are read from: a file of any format, or a checkpoint in an object store.
DISTRIB_DECL auto open_initial(const std::string& name, const OpenObjectStore& open) -> BundleReader {
  if (!is_url(name)) return open_tensor_file(name).reader;
  Error error;
  std::optional<BundleReader> reader = open_checkpoint(name, open, error);
  throw_if(error);
  return *std::move(reader);
}

}  // namespace detail

DISTRIB_DECL auto InitialCheckpoint::of(const Job& job, const OpenObjectStore& open)
    -> std::optional<InitialCheckpoint> {
  if (job.initial_checkpoint.empty()) return std::nullopt;
  BundleReader reader = detail::open_initial(job.initial_checkpoint, open);
  detail::InitialSearch search{job, reader};
  for (const VariableInfo& variable : job.variables) search.take(variable);
  for (const TableInfo& table : job.tables) search.take(table);
  throw_if(search.why_not());
  std::vector<std::string> missing = search.missing();
  reader.set_tensors(std::move(search).taken());
  return InitialCheckpoint{std::move(reader), std::move(missing)};
}

DISTRIB_DECL auto beginning_with(const std::string& prefix, const std::vector<std::string>& missing) -> std::string {
  constexpr std::size_t most = 20;
  std::string text = "beginning with values of " + prefix;
  for (std::size_t i = 0; i < std::min(most, missing.size()); ++i)
    text += (i == 0 ? "; from initializers: " : ", ") + missing[i];
  return text + (missing.size() > most ? " and " + std::to_string(missing.size() - most) + " more" : "");
}

}  // namespace v0
}  // namespace distrib
