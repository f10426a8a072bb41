// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "records.hpp"

#include <distrib/core/error.hpp>
#include <distrib/record/any_byte_source.hpp>
#include <distrib/record/byte_source.hpp>

#include <string>
#include <vector>

namespace tools {

/// True if a name is a URL of a file on another machine: hdfs, webhdfs, swebhdfs, http, https, s3, gs, s3+http,
/// s3+https.
[[nodiscard]] auto is_remote(const std::string& name) noexcept -> bool;

/// Returns the files that a URL stands for: for http and https the URL itself, without asking the server. On failure
/// sets `error`, also if this command was built without the component http.
[[nodiscard]] auto find_remote(const std::string& url, const RecordsOptions& options, distrib::Error& error)
    -> std::vector<std::string>;

/// Returns a source of the bytes of one of these files. A failure, also to open the file, is an error of its reads.
[[nodiscard]] auto open_remote(const std::string& url, const RecordsOptions& options) -> distrib::AnyByteSource;

}  // namespace tools
