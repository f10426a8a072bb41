// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/train/named_values.hpp>

#include <distrib/core/dtype.hpp>
#include <distrib/core/error.hpp>
#include <distrib/core/nearest_names.hpp>
#include <distrib/train/job/assemble.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace distrib {
inline namespace v0 {

namespace detail {

// Returns the elements of type T in these bytes.
template <class T> auto numbers_in(const std::byte* bytes, std::size_t size) -> std::vector<double> {
  std::vector<double> numbers;
  for (std::size_t at = 0; at < size; at += sizeof(T)) {
    T number;
    std::memcpy(&number, bytes + at, sizeof number);
    numbers.push_back(static_cast<double>(number));
  }
  return numbers;
}

}  // namespace detail

DISTRIB_DECL auto NamedValues::names() const -> std::vector<std::string> {
  std::vector<std::string> names;
  for (const VariableInfo& variable : variables_->infos()) names.push_back(variable.name);
  return names;
}

DISTRIB_DECL auto NamedValues::read(std::string_view name) const -> std::vector<double> {
  const auto [is_table, v] = variables_->position_of(name);
  if (is_table) throw_error(variables_errc::no_variable, detail::quoted_name(name));
  if (whole_ == nullptr && !assembled_) {
    assembled_.emplace(*variables_);
    assemble(layouts_, blocks_, *assembled_);
  }
  const RuntimeValues& values = whole_ != nullptr ? *whole_ : *assembled_;
  switch (variables_->infos()[v].dtype) {
    case DType::int64: return detail::numbers_in<std::int64_t>(values.data(v), values.size_bytes(v));
    case DType::float64: return detail::numbers_in<double>(values.data(v), values.size_bytes(v));
    default: return detail::numbers_in<float>(values.data(v), values.size_bytes(v));
  }
}

}  // namespace v0
}  // namespace distrib
