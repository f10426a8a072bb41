// SPDX-License-Identifier: Apache-2.0
// Part of the optional component distrib::http.
#pragma once

#include <distrib/core/error.hpp>

#include <string_view>
#include <system_error>

namespace distrib {
inline namespace v0 {

/// Why HDFS refused. The place in the error names the name node or data node, the operation and the path, and quotes
/// class and message of Hadoop's exception. Failures of the network and of HTTP are an `http_errc`.
enum class webhdfs_errc {
  bad_url = 1,  ///< Not an hdfs:// or (s)webhdfs:// URL with a path, or no name node is known. Name one in the options.
  no_such_file,  ///< FileNotFoundException: the path does not exist, or is not a file. Check it.
  denied,  ///< AccessControlException: no permission. Check `WebHdfsOptions::user`, or the permissions of the path.
  unauthenticated,  ///< The cluster requires authentication. Pass a delegation token (`hdfs fetchdt`), or a new one.
  exists,  ///< FileAlreadyExistsException: the target exists. Choose another name, or allow it to be replaced.
  not_directory,  ///< A part of the path is a file, not a directory. Check the path.
  is_directory,  ///< The path is a directory, but a file is needed. Choose another name.
  not_empty,  ///< PathIsNotEmptyDirectoryException: the directory has entries. Delete it recursively, or keep it.
  standby,  ///< None of the given name nodes is the active one. Name all of them in `WebHdfsOptions::namenodes`.
  /// Safe mode, RetriableException, or a busy server (status 429, 500, 502 to 504), for longer than all attempts. Check
  /// the name node.
  not_ready,
  no_room,  ///< A quota is exceeded. Delete something, or raise the quota.
  unsupported,  ///< The cluster does not support the operation, or not for this path. The place says which.
  not_done,  ///< The answer is "false": Hadoop did not do it and does not say why. Check both paths.
  bad_answer,  ///< The answer is not from WebHDFS. Check that host and port belong to WebHDFS or HttpFS.
  refused,  ///< Hadoop sent another exception. The place quotes it.
  closed,  ///< Bytes were written after `close`. Write first, close last.
  changed,  ///< The file was replaced while it was read. Read it again.
};

namespace detail {
inline constexpr ErrorText webhdfs_texts[] = {
    {webhdfs_errc::bad_url, failure::invalid_argument,
     "not a URL of HDFS with a path, or no name node is known: pass hdfs://HOST/PATH"},
    {webhdfs_errc::no_such_file, failure::not_found, "the file does not exist: check the path"},
    {webhdfs_errc::denied, failure::io,
     "the user has no permission: check the user of the options, and the permissions of the path"},
    {webhdfs_errc::unauthenticated, failure::io, "the cluster requires authentication: pass a delegation token"},
    {webhdfs_errc::exists, failure::io, "the target already exists: choose another name, or allow it to be replaced"},
    {webhdfs_errc::not_directory, failure::invalid_argument, "a part of the path is not a directory: check the path"},
    {webhdfs_errc::is_directory, failure::invalid_argument,
     "the path is a directory, but a file is needed: choose another name"},
    {webhdfs_errc::not_empty, failure::io, "the directory is not empty: remove it recursively, or keep it"},
    {webhdfs_errc::standby, failure::unavailable, "none of the given name nodes is active: name all of them"},
    {webhdfs_errc::not_ready, failure::unavailable, "the name node is not ready: try again later"},
    {webhdfs_errc::no_room, failure::exhausted, "a quota is exceeded: delete something, or raise the quota"},
    {webhdfs_errc::unsupported, failure::unsupported,
     "the cluster does not support this operation: avoid what is named here"},
    {webhdfs_errc::not_done, failure::io, "Hadoop did not do it, and gave no reason: check the paths"},
    {webhdfs_errc::bad_answer, failure::corrupt, "the answer is not from WebHDFS: check host and port"},
    {webhdfs_errc::refused, failure::io, "Hadoop refused: correct the cause that its exception names"},
    {webhdfs_errc::closed, failure::invalid_argument, "the file is closed: write before close"},
    {webhdfs_errc::changed, failure::mismatch, "the file was replaced while it was read: read it again"},
};

/// Category "distrib.webhdfs".
[[nodiscard]] inline auto webhdfs_category() noexcept -> const std::error_category& {
  static const TableCategory category{"distrib.webhdfs", webhdfs_texts};
  return category;
}

}  // namespace detail

[[nodiscard]] inline auto make_error_code(webhdfs_errc value) noexcept -> std::error_code {
  return {static_cast<int>(value), detail::webhdfs_category()};
}

namespace detail {

/// Returns the meaning of an exception of Hadoop, by the name of its class without the package.
[[nodiscard]] constexpr auto webhdfs_meaning(std::string_view exception) noexcept -> webhdfs_errc {
  constexpr struct {
    std::string_view exception;
    webhdfs_errc meaning;
  } known[] = {
      {"FileNotFoundException", webhdfs_errc::no_such_file},
      {"PathNotFoundException", webhdfs_errc::no_such_file},
      {"AccessControlException", webhdfs_errc::denied},
      {"AuthorizationException", webhdfs_errc::denied},
      {"SecurityException", webhdfs_errc::unauthenticated},
      {"InvalidToken", webhdfs_errc::unauthenticated},
      {"AuthenticationException", webhdfs_errc::unauthenticated},
      {"FileAlreadyExistsException", webhdfs_errc::exists},
      {"ParentNotDirectoryException", webhdfs_errc::not_directory},
      {"PathIsNotEmptyDirectoryException", webhdfs_errc::not_empty},
      {"StandbyException", webhdfs_errc::standby},
      {"ObserverRetryOnActiveException", webhdfs_errc::standby},
      {"SafeModeException", webhdfs_errc::not_ready},
      {"RetriableException", webhdfs_errc::not_ready},
      {"NSQuotaExceededException", webhdfs_errc::no_room},
      {"DSQuotaExceededException", webhdfs_errc::no_room},
      {"QuotaByStorageTypeExceededException", webhdfs_errc::no_room},
      {"QuotaExceededException", webhdfs_errc::no_room},
      {"UnsupportedOperationException", webhdfs_errc::unsupported},
  };
  for (const auto& row : known)
    if (row.exception == exception) return row.meaning;
  return webhdfs_errc::refused;
}

}  // namespace detail

}  // namespace v0
}  // namespace distrib

template <> struct std::is_error_code_enum<distrib::webhdfs_errc> : std::true_type {};
