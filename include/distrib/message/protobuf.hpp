// SPDX-License-Identifier: Apache-2.0
// The only header that includes protobuf. Link distrib::message, or protobuf's lite runtime.
#pragma once

#include <distrib/core/bytes.hpp>
#include <distrib/core/error.hpp>
#include <distrib/message/error.hpp>

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>
#include <google/protobuf/message_lite.h>

#include <algorithm>
#include <cstddef>
#include <limits>
#include <system_error>
#include <vector>

namespace distrib {
inline namespace v0 {

/// Encodes and decodes any generated protobuf message, lite or full. A value.
///
/// Threads: const access from any thread.
struct ProtobufCodec {
  /// Limit for encoding and decoding, in bytes. A larger message fails with `too_large` before memory is allocated.
  /// Values above protobuf's own limit (2 GiB) count as that limit.
  std::size_t max_message_bytes = std::size_t{64} << 20;

  /// Replaces the contents of `bytes` by `message`; reuses its memory. Equal messages give equal bytes within one
  /// version of protobuf: maps are written in the order of their keys.
  ///
  /// Errors: throws `std::system_error` that names the type of the message: `message_errc::too_large` if the message
  /// needs more than `max_message_bytes` bytes (a member of this codec, 64 MiB if it is not set),
  /// `message_errc::incomplete` if a required field is not set. `bytes` is empty then.
  void encode(const google::protobuf::MessageLite& message, std::vector<std::byte>& bytes) const {
    std::error_code ec;
    encode(message, bytes, ec);
    if (ec) throw_error(ec, message.GetTypeName());
  }

  /// This overload sets `ec` instead of throwing; success clears it. `bytes` is empty after a failure.
  void encode(const google::protobuf::MessageLite& message, std::vector<std::byte>& bytes, std::error_code& ec) const {
    ec = check(message, message.ByteSizeLong());
    bytes.resize(ec ? 0 : message.ByteSizeLong());
    if (bytes.empty()) return;
    google::protobuf::io::ArrayOutputStream array{bytes.data(), static_cast<int>(bytes.size())};
    google::protobuf::io::CodedOutputStream stream{&array};
    stream.SetSerializationDeterministic(true);
    message.SerializeWithCachedSizes(&stream);
  }

  /// Replaces the contents of `message` by what `bytes` encode. The message does not refer to `bytes` afterwards.
  ///
  /// Errors: throws `std::system_error` that names the type: `message_errc::too_large` for more than
  /// `max_message_bytes` bytes, `malformed` if they are not a message of this type, `incomplete` if a required field is
  /// missing. `message` is cleared then.
  void decode(ByteView bytes, google::protobuf::MessageLite& message) const {
    std::error_code ec;
    decode(bytes, message, ec);
    if (ec) throw_error(ec, message.GetTypeName());
  }

  /// This overload sets `ec` instead of throwing; success clears it. `message` is cleared after a failure.
  void decode(ByteView bytes, google::protobuf::MessageLite& message, std::error_code& ec) const {
    message.Clear();
    if (bytes.size() > limit()) ec = message_errc::too_large;
    else if (!message.ParsePartialFromArray(bytes.data(), static_cast<int>(bytes.size()))) ec = message_errc::malformed;
    else ec = check(message, bytes.size());
    if (ec) message.Clear();
  }

 private:
  auto limit() const noexcept -> std::size_t {
    return std::min(max_message_bytes, static_cast<std::size_t>(std::numeric_limits<int>::max()));
  }

  auto check(const google::protobuf::MessageLite& message, std::size_t size_bytes) const -> std::error_code {
    if (size_bytes > limit()) return message_errc::too_large;
    if (!message.IsInitialized()) return message_errc::incomplete;
    return {};
  }
};

}  // namespace v0
}  // namespace distrib
