// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/example/batch.hpp>

#include <cstdint>
#include <optional>
#include <string>

namespace distrib {
inline namespace v0 {

/// In the place of data: the loop of a session brings the batches itself, as a TensorFlow program does by feed_dict.
/// `session(model).with_data(OwnBatches{.batch_size = 64})`.
///
/// The job is then marked as not replayable, because nothing can give the batch of (step, rank) a second time: when a
/// worker is lost, all tasks end with code 1 and `ps_errc::not_replayable`. Started again, they continue from the
/// newest cut that all shards have, and the loop brings the batches of the steps after `TrainingSession::global_step`.
///
/// A value. Has no batches of its own, so only a session can use it.
struct OwnBatches {
  /// The type of the examples, for a model without a type `Example`.
  struct Example {};
  using ExampleType = Example;

  /// Number of examples in each batch. Only for rates, such as examples per second.
  std::uint64_t batch_size = 0;

  /// See `BatchSource`, whose members it has, for any type of examples.
  struct Source {
    using ExampleType = Example;
    std::uint64_t examples = 0;

    template <class E> void fill(std::uint64_t, Batch<E>&) const {}
    template <class E> void fill_in_order(std::uint64_t, Batch<E>&) const {}
    [[nodiscard]] auto batch_size() const noexcept -> std::uint64_t { return examples; }
    [[nodiscard]] auto batches() const noexcept -> std::optional<std::uint64_t> { return std::nullopt; }
    [[nodiscard]] auto in_order_batches() const noexcept -> std::uint64_t { return 0; }
    [[nodiscard]] auto records() const noexcept -> std::uint64_t { return 0; }
    [[nodiscard]] auto describe() const -> std::string { return "batches of the program's own"; }
  };
  [[nodiscard]] auto open() const -> Source { return Source{batch_size}; }
};

}  // namespace v0
}  // namespace distrib
