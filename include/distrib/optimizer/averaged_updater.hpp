// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/decl.hpp>
#include <distrib/optimizer/any_updater.hpp>
#include <distrib/optimizer/moving_average.hpp>

#include <functional>
#include <optional>
#include <string_view>

namespace distrib {
inline namespace v0 {

/// Returns an updater that does what `updater` does, and then updates the moving average of the values. The average is
/// kept in one more slot, "ExponentialMovingAverage" as in TensorFlow's checkpoints, which begins as the values. In a
/// table the average of a row changes only when the row does. Its text is "moving_average decay=0.999 " and the text of
/// `updater`. `updater` must not be averaged already.
[[nodiscard]] DISTRIB_DECL auto averaged(AnyUpdater updater, MovingAverage average) -> AnyUpdater;

/// Returns the updater that `text` describes. `find` finds updaters without a moving average, by their texts. Empty if
/// it does not find one, or if the moving average cannot be read or used. The text may come from an unknown client.
[[nodiscard]] DISTRIB_DECL auto find_averaged(
    std::string_view text, const std::function<std::optional<AnyUpdater>(std::string_view text)>& find)
    -> std::optional<AnyUpdater>;

}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/optimizer/impl/averaged_updater.ipp>
#endif
