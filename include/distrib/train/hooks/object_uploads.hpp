// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/decl.hpp>
#include <distrib/record/any_object_store.hpp>
#include <distrib/train/hooks/background_writes.hpp>

#include <string>

namespace distrib {
inline namespace v0 {

/// Writes small objects into a directory of an object store, on a thread of its own. The names are those below the
/// directory.
class ObjectUploads : public BackgroundWrites {
 public:
  /// Opens the directory; sends no request. Throws `record_errc::no_object_store` if `open` is empty, or what it reports.
  DISTRIB_DECL ObjectUploads(const std::string& url, const OpenObjectStore& open);

 private:
  DISTRIB_DECL explicit ObjectUploads(const ObjectDirectory& directory);
};

}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/train/hooks/impl/object_uploads.ipp>
#endif
