// SPDX-License-Identifier: Apache-2.0
// Lookups of embeddings.
#include "answers.hpp"

#include <distrib/ps.hpp>

#include <cstdint>
#include <optional>

namespace conformance {

namespace {

/// Rows of ids, and weights if the question has any.
struct Lookups {
  std::vector<std::int64_t> ids;
  std::vector<std::int64_t> row_splits{0};
  std::vector<float> weights;

  explicit Lookups(const Json& rows) {
    bool weighted = false;
    for (const Json& row : rows) {
      const auto own = row.at("ids").get<std::vector<std::int64_t>>();
      ids.insert(ids.end(), own.begin(), own.end());
      row_splits.push_back(static_cast<std::int64_t>(ids.size()));
      const bool has_weights = row.contains("weights") && !row["weights"].is_null();
      const auto own_weights = has_weights ? row["weights"].get<std::vector<float>>() : std::vector(own.size(), 1.0F);
      weights.insert(weights.end(), own_weights.begin(), own_weights.end());
      weighted = weighted || has_weights;
    }
    if (!weighted) weights.clear();
  }
};

auto flat(const Json& rows) -> std::vector<float> {
  std::vector<float> values;
  for (const Json& row : rows)
    for (const Json& value : row) values.push_back(value.get<float>());
  return values;
}

auto rows_json(const std::vector<float>& values, std::size_t row_size) -> Json {
  Json rows = Json::array();
  for (std::size_t at = 0; at < values.size(); at += row_size)
    rows.push_back(std::vector(values.begin() + static_cast<std::ptrdiff_t>(at),
                               values.begin() + static_cast<std::ptrdiff_t>(at + row_size)));
  return rows;
}

auto combine(const Json& input) -> Json {
  distrib::LookupOptions options;
  if (input.contains("combiner") && !input["combiner"].is_null())
    options.combiner = distrib::detail::parse_combiner(input["combiner"].get<std::string>());
  if (input.contains("max_norm") && !input["max_norm"].is_null()) options.max_norm = input["max_norm"].get<float>();
  if (!input.contains("rows")) return {{"combiner", to_text(options.combiner)}};
  const Json& from = input.contains("table") ? input["table"] : input["rows"];
  const std::size_t row_size = from.at(0).size();
  std::vector<float> table = flat(from);
  if (!input.contains("table")) {
    if (options.max_norm) distrib::clip_rows(table, row_size, *options.max_norm);
    return {{"output", rows_json(table, row_size)}};
  }
  const Lookups lookups{input["rows"]};
  std::vector<float> combined((lookups.row_splits.size() - 1) * row_size);
  const distrib::SparseIds ids{lookups.ids, lookups.row_splits, lookups.weights};
  if (input.value("safe", false) || input.contains("default_id")) {
    std::optional<std::int64_t> default_id;
    if (input.contains("default_id") && !input["default_id"].is_null())
      default_id = input["default_id"].get<std::int64_t>();
    distrib::safe_embedding_lookup_sparse(table, row_size, ids, options, default_id, combined);
  } else {
    distrib::embedding_lookup_sparse(table, row_size, ids, options, combined);
  }
  return {{"output", rows_json(combined, row_size)}};
}

}  // namespace

auto embedding_groups() -> std::vector<Group> { return {{"embedding_combine", combine, exception_of}}; }

}  // namespace conformance
