// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/ps/store/cut_chain.hpp>

#include <algorithm>

namespace distrib {
inline namespace v0 {

DISTRIB_DECL auto CutChain::begin(Step step, const Sizes& sizes, bool whole) -> Begun {
  Link link{step, ++begun_, 0, 0, sizes.whole};
  if (!whole && base_ && sizes.changed && step > newest_ && !is_kept_(step) && base_->links < most_links &&
      base_->bytes + *sizes.changed <= base_->whole_bytes)
    link = {step, begun_, base_->links + 1, base_->bytes + *sizes.changed, base_->whole_bytes};
  newest_ = std::max(newest_, step);
  pending_.push_back(link);
  return {link.number, link.links != 0 ? std::optional{base_->step} : std::nullopt};
}

DISTRIB_DECL auto CutChain::durable(Step step) -> std::uint64_t {
  const auto of_step = [step](const Link& link) { return link.step == step; };
  const auto found = std::find_if(pending_.rbegin(), pending_.rend(), of_step);
  if (found == pending_.rend()) return 0;
  base_ = *found;
  std::erase_if(pending_, [number = base_->number](const Link& link) { return link.number <= number; });
  return base_->number;
}

DISTRIB_DECL void CutChain::loaded(Step step) {
  newest_ = std::max(newest_, step);
  pending_.clear();
  base_.reset();
}

}  // namespace v0
}  // namespace distrib
