// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/decl.hpp>
#include <distrib/ps/job/step.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

namespace distrib {
inline namespace v0 {

/// Decides which cuts of a shard are whole, and which have only what has changed: links. A link stands on the newest
/// cut that was durable when it was begun, its base, which is whole or another link; so each link has a chain of links
/// and one whole cut at its end.
///
/// Whole is the first cut of a process, the first after a load, each that the user keeps, each up to the newest step
/// that there was a cut of, and each that was asked for. And a chain ends, with a whole cut, when it has `most_links`
/// links, or if its bytes would pass those of its whole cut: so a start reads at most twice the bytes of a whole cut.
///
/// Cuts that are begun are numbered from 1. What changed since a base is known by the numbers: see
/// `TableStore::begin_copy`. A cut that never becomes durable does no harm: the next one stands on the base before.
///
/// Threads: one at a time.
class CutChain {
 public:
  static constexpr std::size_t most_links = 50;

  /// `is_kept`: true for a step whose cut the user keeps. `newest`: the newest step that there is a cut of.
  CutChain(std::function<bool(Step)> is_kept, Step newest) : is_kept_{std::move(is_kept)}, newest_{newest} {}

  /// Sizes of a cut that is begun, in bytes.
  struct Sizes {
    std::uint64_t whole = 0;
    std::optional<std::uint64_t> changed;  ///< About what has changed since the base; empty: not known.
  };
  /// A cut that is begun.
  struct Begun {
    std::uint64_t number = 0;
    std::optional<Step> base;  ///< Empty: the cut must be whole.
  };

  /// A cut of `step` is begun. `whole`: it must be whole.
  DISTRIB_DECL auto begin(Step step, const Sizes& sizes, bool whole) -> Begun;

  /// The cut of `step` is durable. Returns its number; 0: it was begun before the last `loaded`.
  DISTRIB_DECL auto durable(Step step) -> std::uint64_t;

  /// The shard goes on from another state, of `step`.
  DISTRIB_DECL void loaded(Step step);

 private:
  struct Link {
    Step step = 0;
    std::uint64_t number = 0;
    std::size_t links = 0;  // of its chain, with itself; 0: it is whole
    std::uint64_t bytes = 0;  // of these
    std::uint64_t whole_bytes = 0;  // of the whole cut under it
  };

  std::function<bool(Step)> is_kept_;
  Step newest_;  // no cut is newer
  std::uint64_t begun_ = 0;
  std::vector<Link> pending_;  // begun and not durable
  std::optional<Link> base_;  // the newest that is durable
};

}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/ps/store/impl/cut_chain.ipp>
#endif
