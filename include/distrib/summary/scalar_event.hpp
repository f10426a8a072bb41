// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

namespace distrib {
inline namespace v0 {

/// One point of a curve.
struct ScalarEvent {
  /// What kind of data a plugin shows: DataClass of tensorflow/core/framework/summary.proto.
  enum class DataClass : std::uint8_t { unknown = 0, scalar = 1, tensor = 2, blob_sequence = 3 };

  double wall_time = 0;  ///< Seconds since 1970.
  std::int64_t step = 0;
  std::string tag;  ///< Name of the curve: "loss".
  double value = 0;
  std::string plugin_name = {};  ///< Of TensorBoard, as the writer named it: "scalars"; empty in TensorFlow 1's form.
  DataClass data_class = DataClass::unknown;

  [[nodiscard]] auto operator==(const ScalarEvent&) const -> bool = default;
};

/// How a scalar stands in an event. TensorBoard reads both.
enum class ScalarForm {
  tensor,  ///< TensorFlow 2: a tensor, and that the plugin "scalars" shows it.
  simple_value,  ///< TensorFlow 1.
};

/// What happened to a run.
enum class SessionStatus : std::uint8_t { start = 1, stop = 2, checkpoint = 3 };

}  // namespace v0
}  // namespace distrib
