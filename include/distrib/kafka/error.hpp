// SPDX-License-Identifier: Apache-2.0
// Part of the optional component distrib::kafka.
#pragma once

#include <distrib/core/error.hpp>

#include <system_error>

namespace distrib {
inline namespace v0 {

/// Why a topic of Kafka cannot be followed. What is wrong with records of the log is a `stream_errc`.
enum class kafka_errc {
  /// A property is unknown to librdkafka, or has a value that it does not take, or `FollowTopic` sets it itself. The
  /// message names the property, and never its value. Correct it, or leave it out.
  bad_property = 1,
  /// The file of properties cannot be read, or a line of it is not NAME=VALUE. The message has the number of the line.
  bad_properties_file,
  /// The brokers know no topic of this name. Create it, or correct the name.
  no_topic,
  /// No broker has answered in time. It is asked again.
  no_answer,
  /// The brokers refuse this client: its name, its password or its rights. Correct the properties, or give it the right
  /// to read and describe the topic.
  refused,
  /// The partition does not have the offset. `FollowTopic` finds out why.
  no_such_offset,
  /// The broker reports something else, which the message has.
  broker,
  /// The client and the broker do not agree on TLS: the broker's certificate is not of `ssl.ca.location`, or has another
  /// name; the broker does not accept the certificate of the client, or wants one; or the listener has no TLS.
  no_tls,
};

namespace detail {
inline constexpr ErrorText kafka_texts[] = {
    {kafka_errc::bad_property, failure::invalid_argument,
     "not a property that can be set: correct its name or its value, or leave it out"},
    {kafka_errc::bad_properties_file, failure::invalid_argument,
     "not a file of properties: write NAME=VALUE in each line"},
    {kafka_errc::no_topic, failure::not_found, "the brokers have no such topic: create it, or correct the name"},
    {kafka_errc::no_answer, failure::unavailable, "no broker has answered in time"},
    {kafka_errc::refused, failure::invalid_argument,
     "the brokers refuse this client: correct its name, password or rights"},
    {kafka_errc::no_such_offset, failure::not_found, "the partition does not have this offset"},
    {kafka_errc::broker, failure::io, "the broker reports an error"},
    {kafka_errc::no_tls, failure::invalid_argument,
     "no TLS with this broker: correct security.protocol, ssl.ca.location, or the certificates"},
};

/// Returns the category "distrib.kafka".
[[nodiscard]] inline auto kafka_category() noexcept -> const std::error_category& {
  static const TableCategory category{"distrib.kafka", kafka_texts};
  return category;
}

}  // namespace detail

[[nodiscard]] inline auto make_error_code(kafka_errc value) noexcept -> std::error_code {
  return {static_cast<int>(value), detail::kafka_category()};
}

}  // namespace v0
}  // namespace distrib

template <> struct std::is_error_code_enum<distrib::kafka_errc> : std::true_type {};
