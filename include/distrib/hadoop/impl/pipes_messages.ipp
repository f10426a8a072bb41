// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/hadoop/pipes_messages.hpp>

namespace distrib {
inline namespace v0 {
namespace hadoop {

DISTRIB_DECL void append_partitioned_output(Bytes& to, std::uint32_t reduce, ByteView key, ByteView value) {
  append_message(to, PipesMessage::partitioned_output);
  detail::append_vint(to, reduce);
  detail::append_bytes(to, key);
  detail::append_bytes(to, value);
}

DISTRIB_DECL void append_register_counter(Bytes& to, std::uint32_t counter, std::string_view group,
                                          std::string_view name) {
  append_message(to, PipesMessage::register_counter);
  detail::append_vint(to, counter);
  detail::append_bytes(to, as_bytes(group));
  detail::append_bytes(to, as_bytes(name));
}

}  // namespace hadoop
}  // namespace v0
}  // namespace distrib
