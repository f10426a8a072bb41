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

/// The messages of Hadoop Pipes, by the code (a VInt) with which each begins. Hadoop sends the codes below 50, the task
/// the others. The comments say what follows the code.
enum class PipesMessage : std::int32_t {
  start = 0,  ///< Version of the protocol, 0.
  job_conf = 1,  ///< Number of strings; then names and values in turn.
  input_types = 2,  ///< Classes of keys and values, if Java reads the input.
  run_map = 3,  ///< The split; number of reduces; whether Java reads the input.
  map_item = 4,  ///< Key, value.
  run_reduce = 5,  ///< A number, always 0; whether Java writes the output.
  reduce_key = 6,  ///< A key; messages with its values follow.
  reduce_value = 7,  ///< A value.
  close = 8,  ///< Nothing: the input has ended.
  abort = 9,  ///< Nothing: stop the task.
  authentication_request = 10,  ///< A digest; the challenge from which it was made.
  output = 50,  ///< Key, value.
  partitioned_output = 51,  ///< Number of the reduce; key, value.
  status = 52,  ///< A line of text for users.
  progress = 53,  ///< Progress, 0 to 1.
  done = 54,  ///< Nothing: the last message.
  register_counter = 55,  ///< Number of the counter; its group and name.
  increment_counter = 56,  ///< Number of the counter; the amount to add.
  authentication_response = 57,  ///< The digest of the received digest.
};

/// Appends the code of a message. The caller appends the body, if there is one.
inline void append_message(Bytes& to, PipesMessage code) { detail::append_vint(to, static_cast<std::int32_t>(code)); }

/// Appends a message `output`.
inline void append_output(Bytes& to, ByteView key, ByteView value) {
  append_message(to, PipesMessage::output);
  detail::append_bytes(to, key);
  detail::append_bytes(to, value);
}

/// Appends a message `partitioned_output`.
DISTRIB_DECL void append_partitioned_output(Bytes& to, std::uint32_t reduce, ByteView key, ByteView value);

/// Appends a message `status`.
inline void append_status(Bytes& to, std::string_view line) {
  append_message(to, PipesMessage::status);
  detail::append_bytes(to, as_bytes(line));
}

/// Appends a message `progress`.
inline void append_progress(Bytes& to, float done) {
  append_message(to, PipesMessage::progress);
  detail::append_float(to, done);
}

/// Appends a message `register_counter`.
DISTRIB_DECL void append_register_counter(Bytes& to, std::uint32_t counter, std::string_view group,
                                          std::string_view name);

/// Appends a message `increment_counter`.
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
