// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "support/map_objects.hpp"

#include <distrib/core/bytes.hpp>
#include <distrib/core/error.hpp>
#include <distrib/record/object_store.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace support {

/// A client of a bucket in a disorder that a test draws: before and after each write, and after each read, it calls
/// `disturb`, in which other clients may act. If that is true, the request, or its answer, is lost.
class DisorderlyClient : public MapClient {
 public:
  DisorderlyClient(std::shared_ptr<MapObjects> bucket, std::function<bool()> disturb)
      : MapClient{std::move(bucket)}, disturb_{std::move(disturb)} {}

  auto info(const std::string& key, distrib::Error& error) -> distrib::ObjectInfo {
    return answer(MapClient::info(key, error), error);
  }
  auto get(const std::string& key, std::uint64_t most, distrib::Error& error) -> std::vector<std::byte> {
    return answer(MapClient::get(key, most, error), error);
  }
  auto put(const std::string& key, distrib::ByteView bytes, distrib::Error& error) -> std::string {
    if (is_lost(error)) return {};
    return answer(MapClient::put(key, bytes, error), error);
  }
  auto put_if_absent(const std::string& key, distrib::ByteView bytes, distrib::Error& error) -> std::string {
    if (is_lost(error)) return {};
    return answer(MapClient::put_if_absent(key, bytes, error), error);
  }
  auto replace_if_version(const std::string& key, distrib::ByteView bytes, const std::string& version,
                          distrib::Error& error) -> std::string {
    if (is_lost(error)) return {};
    return answer(MapClient::replace_if_version(key, bytes, version, error), error);
  }
  auto list(const std::string& prefix, distrib::Error& error) -> std::vector<distrib::ObjectInfo> {
    return answer(MapClient::list(prefix, error), error);
  }

 private:
  auto is_lost(distrib::Error& error) -> bool {
    if (!disturb_()) return false;
    error = {MapObjects::away(), "lost"};
    return true;
  }
  // What was done stays done.
  template <class T> auto answer(T made, distrib::Error& error) -> T { return is_lost(error) ? T{} : std::move(made); }

  std::function<bool()> disturb_;
};

}  // namespace support
