// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/bytes.hpp>
#include <distrib/core/error.hpp>

#include <nlohmann/json.hpp>

#include <span>
#include <string>
#include <string_view>
#include <vector>

/// Answers to questions about what TensorFlow and its relatives do. They use only public names of the library.
namespace conformance {

/// Json that keeps the order in which keys were written.
using Json = nlohmann::ordered_json;

/// The original's name for a failure; thrown by the answer of a group.
struct Refused {
  std::string kind;
};

/// Says that the library has no answer to this question; thrown by the answer of a group.
struct Unsupported {};

/// Returns the original's word for a failure of the library, if the original fails in its run time: "DATA_LOSS" ...
[[nodiscard]] auto status_of(const std::error_code& code) -> std::string;
/// Returns the same if the original is Python, and raises "ValueError".
[[nodiscard]] auto exception_of(const std::error_code& code) -> std::string;

/// The questions of one name.
struct Group {
  std::string_view name;
  Json (*answer)(const Json& input);              ///< Throws `Refused`, `Unsupported` or `std::system_error`.
  std::string (*kind)(const std::error_code&) = status_of;  ///< Names what `answer` throws as `std::system_error`.
};

// Each of these has its own file.
[[nodiscard]] auto record_groups() -> std::vector<Group>;
[[nodiscard]] auto example_groups() -> std::vector<Group>;
[[nodiscard]] auto data_groups() -> std::vector<Group>;
[[nodiscard]] auto cluster_groups() -> std::vector<Group>;
[[nodiscard]] auto resolver_groups() -> std::vector<Group>;
[[nodiscard]] auto placement_groups() -> std::vector<Group>;
[[nodiscard]] auto file_groups() -> std::vector<Group>;
[[nodiscard]] auto optimizer_groups() -> std::vector<Group>;
[[nodiscard]] auto embedding_groups() -> std::vector<Group>;
[[nodiscard]] auto accumulator_groups() -> std::vector<Group>;
[[nodiscard]] auto hook_groups() -> std::vector<Group>;
[[nodiscard]] auto spark_groups() -> std::vector<Group>;

/// Returns the answer to a question of any group: its `output`. Throws for nothing that the question may contain.
[[nodiscard]] auto answer(const Json& question) -> Json;

/// Returns the line of output for a line of input.
[[nodiscard]] auto answer_line(std::string_view line) -> std::string;

using Bytes = std::vector<std::byte>;

/// Returns a copy of the bytes.
[[nodiscard]] auto copy(distrib::ByteView bytes) -> Bytes;

/// Returns "00ff" for two bytes.
[[nodiscard]] auto to_hex(distrib::ByteView bytes) -> std::string;
/// Returns the bytes of such a text; throws `Refused` if `text` is not one.
[[nodiscard]] auto from_hex(const Json& text) -> Bytes;

}  // namespace conformance
