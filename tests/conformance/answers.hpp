// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/bytes.hpp>
#include <distrib/core/error.hpp>

#include <nlohmann/json.hpp>

#include <span>
#include <string>
#include <string_view>
#include <vector>

/// Answers to questions about what TensorFlow and its relatives do, given by the library's public names alone.
namespace conformance {

/// Keeps the order in which keys were written.
using Json = nlohmann::ordered_json;

/// What the original calls the failure; thrown by the answer of a group.
struct Refused {
  std::string kind;
};

/// The library has no answer to this question; thrown by the answer of a group.
struct Unsupported {};

/// The original's word for a failure of the library, where it is its run time that fails: "DATA_LOSS" ...
[[nodiscard]] auto status_of(const std::error_code& code) -> std::string;
/// The same, where the original is Python and raises "ValueError".
[[nodiscard]] auto exception_of(const std::error_code& code) -> std::string;

/// Questions of one name.
struct Group {
  std::string_view name;
  Json (*answer)(const Json& input);              ///< Throws `Refused`, `Unsupported` or `std::system_error`.
  std::string (*kind)(const std::error_code&) = status_of;  ///< Names what `answer` throws as `std::system_error`.
};

// One file each.
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
[[nodiscard]] auto spark_groups() -> std::vector<Group>;

/// The answer to a case of any group: its `output`. Never throws for what the case holds.
[[nodiscard]] auto answer(const Json& question) -> Json;

/// One line of input, one of output.
[[nodiscard]] auto answer_line(std::string_view line) -> std::string;

using Bytes = std::vector<std::byte>;

/// What is borrowed, to keep.
[[nodiscard]] auto copy(distrib::ByteView bytes) -> Bytes;

/// "00ff" for two bytes, and back; throws `Refused` when `text` is not that.
[[nodiscard]] auto to_hex(distrib::ByteView bytes) -> std::string;
[[nodiscard]] auto from_hex(const Json& text) -> Bytes;

}  // namespace conformance
