// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/train/named_values.hpp>

#include <distrib/core/dtype.hpp>
#include <distrib/core/error.hpp>
#include <distrib/train/assemble.hpp>
#include <distrib/train/error.hpp>

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
  for (const VariableInfo& variable : job_->variables) names.push_back(variable.name);
  return names;
}

DISTRIB_DECL auto NamedValues::read(std::string_view name) const -> std::vector<double> {
  if (whole_ == nullptr && !assembled_) {
    assembled_.emplace(job_->variables, job_->tables.size());
    assemble(layouts_, blocks_, *assembled_);
  }
  const RuntimeValues& values = whole_ != nullptr ? *whole_ : *assembled_;
  std::string known;
  for (std::size_t v = 0; v < job_->variables.size(); ++v) {
    const VariableInfo& variable = job_->variables[v];
    if (variable.name != name) {
      known += (known.empty() ? "" : ", ") + variable.name;
      continue;
    }
    switch (variable.dtype) {
      case DType::int64: return detail::numbers_in<std::int64_t>(values.data(v), values.size_bytes(v));
      case DType::float64: return detail::numbers_in<double>(values.data(v), values.size_bytes(v));
      default: return detail::numbers_in<float>(values.data(v), values.size_bytes(v));
    }
  }
  throw_error(train_errc::no_such_variable, "'" + std::string{name} + "'; the job has " + known);
}

}  // namespace v0
}  // namespace distrib
