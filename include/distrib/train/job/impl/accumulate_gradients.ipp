// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/train/job/accumulate_gradients.hpp>

#include <distrib/core/dtype.hpp>
#include <distrib/core/rounded.hpp>
#include <distrib/train/job/detail/add_elements.hpp>
#include <distrib/train/job/detail/for_each_gradient.hpp>

#include <cassert>
#include <cstddef>
#include <span>

namespace distrib {
inline namespace v0 {

DISTRIB_DECL void add_gradients(const Job& job, const RuntimeGradients& more, RuntimeGradients& sum) {
  for (std::size_t v = 0; v < job.variables.size(); ++v) {
    const DType dtype = job.variables[v].dtype;
    const std::size_t size = sum.size_bytes(v) / size_bytes(dtype);
    if (dtype == DType::int64) detail::add_elements<std::uint64_t>(more.data(v), sum.data(v), size);
    else if (dtype == DType::float64) detail::add_elements<double>(more.data(v), sum.data(v), size);
    else detail::add_elements<float>(more.data(v), sum.data(v), size);
  }
  for (std::size_t table = 0; table < job.tables.size(); ++table) {
    const detail::TableRows& rows = more.rows(table);
    assert(rows.count() == sum.rows(table).count());
    detail::add_elements<float>(reinterpret_cast<const std::byte*>(rows.data()), sum.rows(table).bytes().data(),
                                rows.count() * job.tables[table].dim);
  }
}

DISTRIB_DECL void divide_gradients(const Job& job, std::uint32_t count, RuntimeGradients& gradients) {
  using Four = detail::Rounded<detail::Float4>;
  const Four divisor{detail::Float4{} + static_cast<float>(count)};
  detail::for_each_gradient(job, gradients, [&divisor](std::size_t, std::span<float> of_one) {
    std::size_t at = 0;
    for (; of_one.size() - at >= 4; at += 4) {
      float* const four = of_one.data() + at;
      const Four quotient = Four{{four[0], four[1], four[2], four[3]}} / divisor;
      for (std::size_t i = 0; i < 4; ++i) four[i] = quotient.value[i];
    }
    for (; at < of_one.size(); ++at) of_one[at] = (Four{detail::Float4{of_one[at]}} / divisor).value[0];
  });
}

}  // namespace v0
}  // namespace distrib
