// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/decl.hpp>
#include <distrib/ps/cut/object_action.hpp>
#include <distrib/record/object_store.hpp>
#include <distrib/sim/dice.hpp>

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace distrib {
inline namespace v0 {
namespace sim {

/// What a `Bucket` does to requests. A value.
struct BucketFaults {
  unsigned slow_percent = 0;  ///< So many of 100 requests are performed much later than the others.
  unsigned lost_percent = 0;  ///< So many of 100 answers are lost.
  bool in_parts = false;  ///< A write is an upload in parts, which another process may abort before it is complete.
  bool late_lists = false;  ///< A list may lack what was written last: no store for cuts.
};

/// A bucket of an object store, as far as `ObjectCutsCore` uses one. Each request is performed as a whole, in any order
/// and at any time, also long after its process has given it up or died. Its answer may be lost.
///
/// Threads: one at a time. Lifetime: the dice must outlive it.
class Bucket {
 public:
  using Request = std::uint64_t;

  /// A request that was performed.
  struct Performed {
    Request request = 0;
    ObjectAction::Kind kind{};
    std::string key;
    ObjectAnswer answer;  ///< Says `lost` if the process does not get it.
    bool changed = false;  ///< True if objects have changed, or may have.
  };

  Bucket(Dice& dice, BucketFaults faults) : dice_{dice}, faults_{faults} {}
  Bucket(const Bucket&) = delete;
  auto operator=(const Bucket&) -> Bucket& = delete;

  /// Sends a request. It stays under way until it is performed.
  auto send(ObjectAction action) -> Request {
    waiting_.push_back({++last_, std::move(action), dice_.percent(faults_.slow_percent)});
    return last_;
  }

  /// Performs one of the requests that are due; returns nothing if none is. A slow one is seldom due.
  DISTRIB_DECL auto perform_one() -> std::optional<Performed>;
  /// Performs any request, also a slow one; returns nothing if there is none.
  DISTRIB_DECL auto perform_any() -> std::optional<Performed>;

  /// True if the request is slow, and still under way: its process may give it up.
  [[nodiscard]] auto is_slow(Request request) const -> bool {
    for (const Waiting& one : waiting_)
      if (one.request == request) return one.slow;
    return false;
  }
  [[nodiscard]] auto under_way() const noexcept -> std::size_t { return waiting_.size(); }

  /// From now on it is a good store.
  void heal() noexcept { faults_ = {.in_parts = faults_.in_parts}; }

  /// The objects, by key.
  [[nodiscard]] auto objects() const noexcept -> const std::map<std::string, ObjectBytes>& { return objects_; }
  [[nodiscard]] auto uploads() const noexcept -> std::size_t { return uploads_.size(); }

 private:
  struct Waiting {
    Request request = 0;
    ObjectAction action;
    bool slow = false;
    std::uint64_t upload = 0;  // of a write in parts that has begun
  };

  DISTRIB_DECL auto perform(std::size_t at) -> std::optional<Performed>;
  DISTRIB_DECL auto answer(const ObjectAction& action) -> ObjectAnswer;
  DISTRIB_DECL void write(const std::string& key, ObjectBytes bytes);

  Dice& dice_;
  BucketFaults faults_;
  std::vector<Waiting> waiting_;
  Request last_ = 0;
  std::map<std::string, ObjectBytes> objects_;
  std::vector<std::string> written_;  // the keys, the last one last
  std::map<std::uint64_t, std::string> uploads_;
  std::uint64_t last_upload_ = 0;
};

}  // namespace sim
}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/sim/impl/bucket.ipp>
#endif
