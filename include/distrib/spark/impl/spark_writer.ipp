// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/spark/spark_writer.hpp>

namespace distrib {
inline namespace v0 {

namespace detail {

DISTRIB_DECL auto spark_file_name(std::size_t task, std::string_view job_id, std::size_t file, Compression compression,
                                  bool partitioned) -> std::string {
  const auto padded = [](std::size_t number, std::size_t digits) {
    std::string text = std::to_string(number);
    return text.insert(0, text.size() < digits ? digits - text.size() : 0, '0');
  };
  const char* const ending = compression == Compression::gzip   ? ".gz"
                             : compression == Compression::zlib ? ".deflate"
                                                                : "";
  return "part-" + padded(task, 5) + '-' + std::string{job_id} + (partitioned ? ".c" : "-c") + padded(file, 3) +
         ".tfrecord" + ending;
}

}  // namespace detail

}  // namespace v0
}  // namespace distrib
