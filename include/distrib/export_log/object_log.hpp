// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/bytes.hpp>
#include <distrib/core/error.hpp>
#include <distrib/export_log/error.hpp>
#include <distrib/export_log/head_store.hpp>
#include <distrib/export_log/log_objects.hpp>
#include <distrib/record/object_store.hpp>
#include <distrib/record/second_write.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace distrib {
inline namespace v0 {

/// An export log in a bucket of an object store. Models `HeadStore`. `head` is replaced by a conditional write, and all
/// other objects are written only if they do not exist. There are stores that ignore conditions: before the first write
/// this object writes PREFIX/.conditions twice, and refuses a store that allows it (`no_conditions`).
///
/// Errors: `no_conditions`, `missing_object`, `bad_object`; otherwise those of the store, with its place.
///
/// Threads: those of the store, one at a time. Any number of processes. The store must outlive it.
template <ObjectStore Store>
class ObjectLog {
 public:
  /// `prefix`: the beginning of all keys, without a '/' at its end; empty: none.
  ObjectLog(Store& store, std::string prefix) : store_{&store}, prefix_{std::move(prefix)} {}

  /// See `HeadStore`. One request if the head is the same as at the last call. Otherwise three: it asks for the version
  /// before and after the object was read, so that it belongs to what was read.
  [[nodiscard]] auto read_head(Error& error) -> std::optional<StampedHead> {
    constexpr int attempts = 8;  // a position is seldom committed between two requests
    const std::string key = key_of(std::string{log_head_name});
    for (int attempt = 0; attempt < attempts; ++attempt) {
      const ObjectInfo before = store_->info(key, error);
      if (is_absent(error)) return std::nullopt;
      if (error) return std::nullopt;
      if (last_ && last_->version == before.version) return last_;
      const std::vector<std::byte> bytes = store_->get(key, max_log_text_bytes, error);
      if (error) return std::nullopt;
      const ObjectInfo after = store_->info(key, error);
      if (error) return std::nullopt;
      if (before.version != after.version) continue;
      std::optional<LogHead> head = parse_log_head(as_text(ByteView{bytes}), error);
      if (!head) {
        error.where = key + ", " + error.where;
        return std::nullopt;
      }
      last_ = {std::move(*head), after.version};
      return last_;
    }
    error = {export_errc::bad_object, key + " changes all the time"};
    return std::nullopt;
  }

  /// See `HeadStore`.
  auto swap_head(const std::string& version, const LogHead& head, Error& error) -> bool {
    if (!has_conditions(error)) return false;
    const std::string key = key_of(std::string{log_head_name});
    const std::string text = to_text(head);
    if (version.empty()) store_->put_if_absent(key, as_bytes(text), error);
    else store_->replace_if_version(key, as_bytes(text), version, error);
    if (!error) return true;
    if (error.code != failure::mismatch && error.code != failure::not_found) return false;
    // Another process was faster, if there is another head; otherwise the error stays.
    Error ignored;
    const ObjectInfo now = store_->info(key, ignored);
    if (!ignored && now.version != version) error = {};
    return false;
  }

  /// See `HeadStore`.
  [[nodiscard]] auto get(const std::string& name, std::uint64_t most_bytes, Error& error) const
      -> std::vector<std::byte> {
    std::vector<std::byte> bytes = store_->get(key_of(name), most_bytes, error);
    if (error.code == failure::not_found) error = {export_errc::missing_object, error.where};
    if (error) bytes.clear();
    return bytes;
  }

  /// See `HeadStore`.
  void put(const std::string& name, ByteView bytes, Error& error) {
    if (!has_conditions(error)) return;
    store_->put_if_absent(key_of(name), bytes, error);
    if (error.code != failure::mismatch) return;
    Error ignored;
    static_cast<void>(store_->info(key_of(name), ignored));
    if (!ignored) error = {};  // it is there, with the same bytes
  }

  /// See `HeadStore`.
  void remove(const std::string& name, Error& error) { store_->remove(key_of(name), error); }

 private:
  [[nodiscard]] auto key_of(const std::string& name) const -> std::string {
    return prefix_.empty() ? name : prefix_ + "/" + name;
  }

  // Clears an error that says that there is no object.
  static auto is_absent(Error& error) -> bool {
    if (error.code != failure::not_found) return false;
    error = {};
    return true;
  }

  // True if the store refuses to write an object that exists. Asked once.
  auto has_conditions(Error& error) -> bool {
    error = {};
    if (has_conditions_) return true;
    const std::string key = key_of(".conditions");
    has_conditions_ = detail::refuses_second_write(*store_, key, error);
    if (error) return false;
    if (!has_conditions_) error = {export_errc::no_conditions, key};
    return has_conditions_;
  }

  Store* store_;
  std::string prefix_;
  bool has_conditions_ = false;
  std::optional<StampedHead> last_;  // as it was read last
};

}  // namespace v0
}  // namespace distrib
