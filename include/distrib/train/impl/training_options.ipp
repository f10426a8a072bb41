// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/train/training_options.hpp>

namespace distrib {
inline namespace v0 {

DISTRIB_DECL TrainingOptions::TrainingOptions(const TrainingOptions&) = default;
DISTRIB_DECL TrainingOptions::TrainingOptions(TrainingOptions&&) noexcept = default;
DISTRIB_DECL auto TrainingOptions::operator=(const TrainingOptions&) -> TrainingOptions& = default;
DISTRIB_DECL auto TrainingOptions::operator=(TrainingOptions&&) noexcept -> TrainingOptions& = default;
DISTRIB_DECL TrainingOptions::~TrainingOptions() = default;

}  // namespace v0
}  // namespace distrib
