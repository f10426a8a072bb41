// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/rpc/remote_error.hpp>

#include <distrib/net/error.hpp>
#include <distrib/rpc/error.hpp>

#include <cstdint>
#include <utility>

namespace distrib {
inline namespace v0 {

DISTRIB_DECL void encode_error(WireWriter& head, const std::error_code& code, std::string_view where) {
  head.text(1, code.category().name());
  head.int64(2, code.value());
  head.varint(3, static_cast<std::uint64_t>(detail::condition_of(code)));
  head.text(4, where);
}

DISTRIB_DECL auto decode_error(ByteView head, ErrorCategories categories) -> Error {
  std::string_view category;
  std::string_view where;
  int value = 0;
  std::uint64_t condition = 0;
  WireReader reader{head};
  while (reader.next()) switch (reader.tag()) {
      case wire_tag(1, WireType::bytes): category = reader.text(); break;
      case wire_tag(2, WireType::varint): value = reader.int32(); break;
      case wire_tag(3, WireType::varint): condition = reader.uint64(); break;
      case wire_tag(4, WireType::bytes): where = reader.text(); break;
    }
  if (!reader.ok() || value == 0) return {rpc_errc::bad_message, "in an error that the peer sent"};
  if (category == detail::rpc_category().name()) return {{value, detail::rpc_category()}, std::string{where}};
  if (category == detail::net_category().name()) return {{value, detail::net_category()}, std::string{where}};
  for (const std::error_category* known : categories)
    if (category == known->name()) return {{value, *known}, std::string{where}};
  for (const failure shared : detail::conditions)
    if (condition == static_cast<std::uint64_t>(shared)) {
      std::string text{where};
      text.append(" (").append(category).append(" ").append(std::to_string(value)).append(")");
      return {{static_cast<int>(shared), remote_category()}, std::move(text)};
    }
  return {rpc_errc::bad_message, "in an error that the peer sent"};
}

}  // namespace v0
}  // namespace distrib
