// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

namespace distrib {
inline namespace v0 {

/// One point of a curve.
struct ScalarEvent {
  /// The kind of data for a plugin: DataClass in tensorflow/core/framework/summary.proto.
  enum class DataClass : std::uint8_t { unknown = 0, scalar = 1, tensor = 2, blob_sequence = 3 };

  double wall_time = 0;  ///< Seconds since 1970.
  std::int64_t step = 0;  ///< Step of the run.
  std::string tag;  ///< Name of the curve: "loss".
  double value = 0;  ///< Height of the point.
  /// The plugin of TensorBoard, as the writer named it: "scalars"; empty in the form of TensorFlow 1.
  std::string plugin_name = {};
  DataClass data_class = DataClass::unknown;

  [[nodiscard]] auto operator==(const ScalarEvent&) const -> bool = default;
};

/// How an event encodes a scalar. TensorBoard reads both forms.
enum class ScalarForm {
  tensor,  ///< TensorFlow 2: a tensor, with the plugin "scalars".
  simple_value,  ///< TensorFlow 1.
};

/// What has happened to a run.
enum class SessionStatus : std::uint8_t { start = 1, stop = 2, checkpoint = 3 };

}  // namespace v0
}  // namespace distrib
