// SPDX-License-Identifier: Apache-2.0
// Where the log of a followed stream lies in drawn runs: a directory that loses power, or a store whose requests are
// late, and whose answers are lost.
#pragma once

#include "support/map_objects.hpp"

#include <distrib/core/bytes.hpp>
#include <distrib/core/error.hpp>
#include <distrib/sim/dice.hpp>
#include <distrib/stream_log/log_home.hpp>
#include <distrib/stream_log/stream_log_files.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

namespace simulation::followed {

/// A mistake that is planted around the shipped code: in what it stands on, in what it is told, or in what is made of
/// its answers.
enum class Mistake {
  none,
  order_of_listing,  ///< Each process has a log of its own, so its batches are in the order in which it sees files.
  file_not_synced,  ///< A version is told before its bytes are durable.
  name_not_synced,  ///< A version is told before its name is durable.
  reader_trusts,  ///< A process does not make durable what it reads.
  rename_for_link,  ///< A version replaces another one of its number.
  refusal_counts,  ///< A version that was refused counts as written.
  lost_answer_counts,  ///< So does a version whose write was not answered.
  no_condition,  ///< The store writes a version although it is there.
  no_look_after_write,  ///< A process does not look whether there are newer versions after it has written its own.
  restore_takes_log_back,  ///< A Restore takes back the log of the cut.
  log_only_in_cuts,  ///< A start takes the log of the cut.
  let_go_too_early,  ///< What is before the newest cut is let go.
  forgets_at_once,  ///< A source that one listing does not have is forgotten.
  believes_at_once,  ///< A source that one look does not find is gone.
  grown_tail,  ///< The tail of a file that has grown is read from the front of the file.
  tail_of_another,  ///< The tail of a file that was replaced is logged.
  sums_not_compared,  ///< What is read is not compared with the log.
  gone_is_left_out,  ///< Records that are gone are left out of their batch.
  expired_is_left_out,  ///< Records that a partition has dropped are left out of the log.
};

/// A directory in memory that all processes share. It forgets what is not durable when it loses power, as `sim::Disk`.
class SharedDirectory {
 public:
  /// Decides what is left. Of bytes that were not synced: a beginning. Of changes of names that were not synced: any.
  void lose_power(distrib::sim::Dice& dice) {
    Names left = durable_;
    for (const auto& [path, file] : changes_) {
      if (!dice.percent(50)) continue;
      if (file != nullptr) left[path] = file;
      else left.erase(path);
    }
    for (auto& [path, file] : left) {
      if (!file->is_synced) file->bytes.resize(dice.below(file->bytes.size() + 1));
      file->is_synced = true;
    }
    names_ = left;
    durable_ = std::move(left);
    changes_.clear();
  }
  [[nodiscard]] auto names(const std::string& directory) const -> std::vector<std::string> {
    std::vector<std::string> found;
    for (const auto& entry : names_)
      if (entry.first.starts_with(directory + "/")) found.push_back(entry.first.substr(directory.size() + 1));
    return found;
  }
  [[nodiscard]] auto bytes(const std::string& path) const -> const std::vector<std::byte>* {
    const auto found = names_.find(path);
    return found == names_.end() ? nullptr : &found->second->bytes;
  }
  void write(const std::string& path, distrib::ByteView bytes) {
    auto file = std::make_shared<File>();
    file->bytes.assign(bytes.begin(), bytes.end());
    set(path, std::move(file));
  }
  void sync(const std::string& path) {
    if (const auto found = names_.find(path); found != names_.end()) found->second->is_synced = true;
  }
  void sync_names() {
    durable_ = names_;
    changes_.clear();
  }
  /// Gives a file a second name; it replaces another file.
  void link(const std::string& from, const std::string& to) { set(to, names_.at(from)); }
  void remove(const std::string& path) {
    if (names_.erase(path) != 0) changes_.emplace_back(path, nullptr);
  }
  /// Removes a name durably.
  void forget(const std::string& path) {
    names_.erase(path);
    durable_.erase(path);
    std::erase_if(changes_, [&path](const auto& change) { return change.first == path; });
  }

 private:
  struct File {
    std::vector<std::byte> bytes;
    bool is_synced = false;
  };
  using Names = std::map<std::string, std::shared_ptr<File>>;

  void set(const std::string& path, std::shared_ptr<File> file) {
    names_[path] = file;
    changes_.emplace_back(path, std::move(file));
  }

  Names names_;
  Names durable_;
  std::vector<std::pair<std::string, std::shared_ptr<File>>> changes_;  // of names, since they were synced
};

/// What a process does between two requests: others may act.
using Pause = std::function<void()>;

/// The files of `DirectoryHomeOn` for one process.
class SharedFiles {
 public:
  /// `linked`: called when the process has given a version its name.
  SharedFiles(SharedDirectory& directory, std::size_t process, Pause pause, Pause linked, Mistake mistake)
      : directory_{&directory},
        process_{process},
        pause_{std::move(pause)},
        linked_{std::move(linked)},
        mistake_{mistake} {}

  auto names(const std::string& directory, std::error_code& ec) const -> std::vector<std::string> {
    pause_();
    ec.clear();
    return directory_->names(directory);
  }
  auto read(const std::string& path, std::size_t, std::error_code& ec) const -> std::vector<std::byte> {
    pause_();
    reads_ = true;
    const std::vector<std::byte>* const bytes = directory_->bytes(path);
    ec = bytes == nullptr ? std::make_error_code(std::errc::no_such_file_or_directory) : std::error_code{};
    return bytes == nullptr ? std::vector<std::byte>{} : *bytes;
  }
  void sync(const std::string& path, std::error_code& ec) const {
    pause_();
    ec.clear();
    if (directory_->bytes(path) == nullptr) ec = std::make_error_code(std::errc::no_such_file_or_directory);
    else if (mistake_ != Mistake::reader_trusts) directory_->sync(path);
  }
  void sync_name(const std::string&, std::error_code& ec) const {
    pause_();
    ec.clear();
    if (mistake_ == (reads_ ? Mistake::reader_trusts : Mistake::name_not_synced)) return;
    directory_->sync_names();
  }
  void make_directories(const std::string&, std::error_code& ec) const { ec.clear(); }
  auto write_hidden(const std::string& path, distrib::ByteView bytes, std::error_code& ec) const -> std::string {
    pause_();
    reads_ = false;
    ec.clear();
    std::string hidden = path;
    hidden.insert(path.rfind('/') + 1, 1, '.');
    hidden += ".tmp" + std::to_string(process_) + "-" + std::to_string(++written_);
    directory_->write(hidden, bytes);
    pause_();
    if (mistake_ != Mistake::file_not_synced) directory_->sync(hidden);
    return hidden;
  }
  void link(const std::string& from, const std::string& to, std::error_code& ec) const {
    pause_();
    ec.clear();
    if (directory_->bytes(from) == nullptr) ec = std::make_error_code(std::errc::no_such_file_or_directory);
    else if (directory_->bytes(to) != nullptr && mistake_ != Mistake::rename_for_link)
      ec = std::make_error_code(std::errc::file_exists);
    else directory_->link(from, to);
    if (!ec) linked_();
  }
  void remove(const std::string& path) const {
    pause_();
    directory_->remove(path);
  }

 private:
  SharedDirectory* directory_;
  std::size_t process_;
  Pause pause_;
  Pause linked_;
  Mistake mistake_;
  mutable bool reads_ = false;  // the last file was read, not written
  mutable std::uint64_t written_ = 0;
};

/// What may happen to a request to a store.
enum class RequestFate { done, lost, unanswered, late };

/// A client of a store for one process: requests are lost, performed without an answer, or performed long after the
/// process has given them up.
class LateClient : public support::MapClient {
 public:
  using Draw = std::function<RequestFate()>;
  using Postpone = std::function<void(std::function<void()>)>;  // performs it some time later

  LateClient(std::shared_ptr<support::MapObjects> bucket, Pause pause, Draw draw, Postpone postpone, Mistake mistake)
      : MapClient{bucket},
        bucket_{std::move(bucket)},
        pause_{std::move(pause)},
        draw_{std::move(draw)},
        postpone_{std::move(postpone)},
        mistake_{mistake} {}

  auto info(const std::string& key, distrib::Error& error) -> distrib::ObjectInfo {
    return ask(error, [&] { return MapClient::info(key, error); });
  }
  auto get(const std::string& key, std::uint64_t most, distrib::Error& error) -> std::vector<std::byte> {
    return ask(error, [&] { return MapClient::get(key, most, error); });
  }
  auto put_if_absent(const std::string& key, distrib::ByteView bytes, distrib::Error& error) -> std::string {
    const bool has_condition = mistake_ != Mistake::no_condition || key.find("log-") == std::string::npos;
    return write(error, [bucket = bucket_, key, copy = std::vector(bytes.begin(), bytes.end()),
                         has_condition](distrib::Error& to) {
      MapClient client{bucket};
      return has_condition ? client.put_if_absent(key, copy, to) : client.put(key, copy, to);
    });
  }
  void remove(const std::string& key, distrib::Error& error) {
    write(error, [bucket = bucket_, key](distrib::Error& to) {
      MapClient{bucket}.remove(key, to);
      return std::string{};
    });
  }
  auto list(const std::string& prefix, distrib::Error& error) -> std::vector<distrib::ObjectInfo> {
    return ask(error, [&] { return MapClient::list(prefix, error); });
  }

 private:
  template <class F>
  auto ask(distrib::Error& error, F perform) -> decltype(perform()) {
    pause_();
    auto answer = perform();
    pause_();
    if (draw_() == RequestFate::done) return answer;
    error = {support::MapObjects::away(), "lost"};
    return {};
  }
  template <class F>
  auto write(distrib::Error& error, F perform) -> std::string {
    pause_();
    const RequestFate fate = draw_();
    std::string answer;
    if (fate == RequestFate::late)
      postpone_([perform] {
        distrib::Error ignored;
        perform(ignored);
      });
    else if (fate != RequestFate::lost) answer = perform(error);
    pause_();
    if (fate == RequestFate::done) return answer;
    error = {support::MapObjects::away(), "lost"};
    return {};
  }

  std::shared_ptr<support::MapObjects> bucket_;
  Pause pause_;
  Draw draw_;
  Postpone postpone_;
  Mistake mistake_;
};

/// A home with a mistake of the one that uses it.
template <distrib::detail::LogHome Home>
class MistakenHome {
 public:
  MistakenHome(Home home, Mistake mistake) : home_{std::move(home)}, mistake_{mistake} {}

  auto names(distrib::Error& error) -> std::vector<std::string> {
    std::vector<std::string> found = home_.names(error);
    if (blind_ > 0 && !error) {
      --blind_;
      found = {own_};
    }
    return found;
  }
  auto read(const std::string& name, distrib::Error& error) -> std::vector<std::byte> {
    return home_.read(name, error);
  }
  auto add(const std::string& name, distrib::ByteView bytes, distrib::Error& error) -> bool {
    bool is_added = home_.add(name, bytes, error);
    if (mistake_ == Mistake::refusal_counts && !error) is_added = true;
    if (mistake_ == Mistake::lost_answer_counts && error.code == distrib::failure::unavailable) {
      error = {};
      is_added = true;
    }
    if (mistake_ == Mistake::no_look_after_write && is_added) {
      own_ = name;
      blind_ = 2;
    }
    return is_added;
  }
  void remove(const std::string& name) { home_.remove(name); }
  auto place(const std::string& name) -> std::string { return home_.place(name); }

 private:
  Home home_;
  Mistake mistake_;
  std::string own_;
  int blind_ = 0;  // so often `names` is to say that there is only `own_`
};

}  // namespace simulation::followed
