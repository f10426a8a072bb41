// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/train/hooks/object_uploads.hpp>

#include <distrib/ps/cut/object_access.hpp>
#include <distrib/ps/cut/object_checkpoints.hpp>

namespace distrib {
inline namespace v0 {
namespace detail {

[[nodiscard]] inline auto opened_directory(const std::string& url, const OpenObjectStore& open) -> ObjectDirectory {
  Error error;
  return or_throw(open_directory(url, open, error), error);
}

}  // namespace detail

DISTRIB_DECL ObjectUploads::ObjectUploads(const ObjectDirectory& directory)
    : BackgroundWrites{directory.url,
                       [to = directory](const std::string& name, ByteView content, Error& error) mutable {
                         to.store.put(to.root.empty() ? name : to.root + '/' + name, content, error);
                       }} {}

DISTRIB_DECL ObjectUploads::ObjectUploads(const std::string& url, const OpenObjectStore& open)
    : ObjectUploads{detail::opened_directory(url, open)} {}

}  // namespace v0
}  // namespace distrib
