// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/bytes.hpp>
#include <distrib/core/decl.hpp>
#include <distrib/hadoop/writable.hpp>

#include <cstdint>
#include <string_view>

namespace distrib {
inline namespace v0 {
namespace hadoop {

/// The messages of Hadoop Pipes, by the code that each begins with (a VInt). Those below 50 and
/// `authentication_request` come down from Hadoop, the others go up.
enum class PipesMessage : std::int32_t {
  start = 0,                     ///< The version of the protocol, which is 0.
  job_conf = 1,                  ///< How many strings: names and values in turn.
  input_types = 2,               ///< The classes of keys and values, when Java reads the input.
  run_map = 3,                   ///< The split; how many reduces; whether Java reads the input.
  map_item = 4,                  ///< Key, value.
  run_reduce = 5,                ///< A number, always 0; whether Java writes the output.
  reduce_key = 6,                ///< A key; its values follow.
  reduce_value = 7,              ///< A value.
  close = 8,                     ///< The input ends.
  abort = 9,                     ///< Give up.
  authentication_request = 10,   ///< A digest; the challenge that it is of.
  output = 50,                   ///< Key, value.
  partitioned_output = 51,       ///< Which reduce; key, value.
  status = 52,                   ///< A line for people.
  progress = 53,                 ///< 0 to 1.
  done = 54,                     ///< The last one.
  register_counter = 55,         ///< Its number; its group and name.
  increment_counter = 56,        ///< Its number; by how much.
  authentication_response = 57,  ///< The digest of the digest.
};

/// Adds a message that has no body, or the code of one whose body follows.
inline void append_message(Bytes& to, PipesMessage code) { detail::append_vint(to, static_cast<std::int32_t>(code)); }

/// Adds `output`.
inline void append_output(Bytes& to, ByteView key, ByteView value) {
  append_message(to, PipesMessage::output);
  detail::append_bytes(to, key);
  detail::append_bytes(to, value);
}

/// Adds `partitioned_output`.
DISTRIB_DECL void append_partitioned_output(Bytes& to, std::uint32_t reduce, ByteView key, ByteView value);

/// Adds `status`.
inline void append_status(Bytes& to, std::string_view line) {
  append_message(to, PipesMessage::status);
  detail::append_bytes(to, as_bytes(line));
}

/// Adds `progress`.
inline void append_progress(Bytes& to, float done) {
  append_message(to, PipesMessage::progress);
  detail::append_float(to, done);
}

/// Adds `register_counter`.
DISTRIB_DECL void append_register_counter(Bytes& to, std::uint32_t counter, std::string_view group,
                                          std::string_view name);

/// Adds `increment_counter`.
inline void append_increment_counter(Bytes& to, std::uint32_t counter, std::int64_t amount) {
  append_message(to, PipesMessage::increment_counter);
  detail::append_vint(to, counter);
  detail::append_vint(to, amount);
}

}  // namespace hadoop
}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/hadoop/impl/pipes_messages.ipp>
#endif
