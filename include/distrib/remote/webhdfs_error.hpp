// SPDX-License-Identifier: Apache-2.0
// Of the optional component distrib::http.
#pragma once

#include <distrib/core/error.hpp>

#include <string_view>
#include <system_error>

namespace distrib {
inline namespace v0 {

/// Why HDFS refused. The place names name node or data node, operation and path, and has the class and the message of
/// Hadoop's exception. What the network or HTTP refuses comes as an `http_errc`.
enum class webhdfs_errc {
  bad_url = 1,  ///< No hdfs:// or (s)webhdfs:// URL with a path, or no name node is known. Name one in the options.
  no_such_file,  ///< FileNotFoundException: there is no such path, or it is no file. Check it.
  denied,  ///< AccessControlException: the user may not. Check `WebHdfsOptions::user`, or the path's rights.
  unauthenticated,  ///< The cluster wants to know who asks. Give a delegation token (`hdfs fetchdt`), or a new one.
  exists,  ///< FileAlreadyExistsException. Choose another name, or allow it to be replaced.
  not_directory,  ///< A part of the path is a file. Check it.
  is_directory,  ///< A directory stands where a file is to be. Choose another name.
  not_empty,  ///< PathIsNotEmptyDirectoryException: delete it with all that is in it, or leave it.
  standby,  ///< None of the name nodes that were named is the active one. Name all of them.
  not_ready,  ///< Safe mode, or a RetriableException, for longer than was waited. Look at the name node.
  no_room,  ///< A quota is used up. Delete something, or raise it.
  unsupported,  ///< The cluster does not know the operation, or not for this path. The place says which.
  not_done,  ///< The answer is "false": Hadoop did not do it, and does not say why. Check both paths.
  bad_answer,  ///< What came is no answer of WebHDFS. Check that host and port are those of WebHDFS or HttpFS.
  refused,  ///< Another exception of Hadoop's; the place has it.
  closed,  ///< Bytes were written to a file that was closed. Write first, close last.
};

namespace detail {
inline constexpr ErrorText webhdfs_texts[] = {
    {webhdfs_errc::bad_url, failure::invalid_argument, "not the URL of something in HDFS, or no name node is known"},
    {webhdfs_errc::no_such_file, failure::not_found, "there is no such file"},
    {webhdfs_errc::denied, failure::io, "the user may not"},
    {webhdfs_errc::unauthenticated, failure::io, "the cluster does not know who asks"},
    {webhdfs_errc::exists, failure::io, "it is there already"},
    {webhdfs_errc::not_directory, failure::invalid_argument, "a part of the path is no directory"},
    {webhdfs_errc::is_directory, failure::invalid_argument, "a directory is in the way"},
    {webhdfs_errc::not_empty, failure::io, "the directory is not empty"},
    {webhdfs_errc::standby, failure::unavailable, "no name node that was named is the active one"},
    {webhdfs_errc::not_ready, failure::unavailable, "the name node is not ready"},
    {webhdfs_errc::no_room, failure::exhausted, "a quota is used up"},
    {webhdfs_errc::unsupported, failure::unsupported, "the cluster cannot do this"},
    {webhdfs_errc::not_done, failure::io, "Hadoop did not do it"},
    {webhdfs_errc::bad_answer, failure::corrupt, "not an answer of WebHDFS"},
    {webhdfs_errc::refused, failure::io, "Hadoop refused"},
    {webhdfs_errc::closed, failure::invalid_argument, "the file is closed"},
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

/// What an exception of Hadoop's means, by its class, without the package.
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
