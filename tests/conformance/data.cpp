// SPDX-License-Identifier: Apache-2.0
// Pipelines over numbers.
#include "answers.hpp"

#include <distrib/data/order/batching.hpp>
#include <distrib/data/order/elements.hpp>

#include <cstdint>

namespace conformance {

namespace {

/// Returns all elements of an order, as numbers.
auto numbers(auto order) -> std::vector<std::uint64_t> {
  std::vector<std::uint64_t> list;
  for (std::uint64_t position = 0; position < order.size(); ++position) list.push_back(order.at(0, position));
  return list;
}

auto shard(const Json& input) -> Json {
  const auto sharded = distrib::elements(input.value("elements", std::uint64_t{0}))
                           .shard(input.at("num_shards").get<std::int64_t>(), input.at("index").get<std::int64_t>());
  return {{"elements", numbers(sharded.open())}};
}

auto interleave(const Json& input) -> Json {
  std::vector<std::uint64_t> lengths;
  Json all = Json::array();
  for (const Json& list : input.at("inputs")) {
    lengths.push_back(list.size());
    for (const Json& element : list) all.push_back(element);
  }
  const auto mixed = distrib::elements(lengths).interleave(input.at("cycle_length").get<std::int64_t>(),
                                                           input.value("block_length", std::int64_t{1}));
  Json output = Json::array();
  for (const std::uint64_t number : numbers(mixed.open())) output.push_back(all.at(number));
  return {{"output", output}};
}

auto batch(const Json& input) -> Json {
  const auto size = input.at("batch_size").get<std::int64_t>();
  const std::uint64_t elements = input.value("elements", std::uint64_t{0});
  const distrib::Batching batching{size < 0 ? 0 : static_cast<std::uint64_t>(size), input.value("drop_remainder", false)
                                                                                        ? distrib::Remainder::drop
                                                                                        : distrib::Remainder::keep};
  if (const std::error_code ec = batching.check()) throw std::system_error(ec);
  Json batches = Json::array();
  for (std::uint64_t number = 0; number < batching.batches(elements); ++number) {
    Json one = Json::array();
    for (std::uint64_t i = 0; i < batching.count(number, elements); ++i) one.push_back(batching.first(number) + i);
    batches.push_back(one);
  }
  return {{"batches", batches}};
}

}  // namespace

auto data_groups() -> std::vector<Group> {
  return {{"data_shard", shard}, {"data_interleave", interleave}, {"data_batch", batch}};
}

}  // namespace conformance
