// SPDX-License-Identifier: Apache-2.0
#include <distrib/stream_log/log_home.hpp>

#include "support/catch.hpp"
#include "support/disorderly_objects.hpp"
#include "support/map_objects.hpp"
#include "support/sanitizers.hpp"
#include "support/temp_directory.hpp"

#include <distrib/core/bytes.hpp>
#include <distrib/record/any_object_store.hpp>
#include <distrib/record/error.hpp>
#include <distrib/stream_log/error.hpp>
#include <distrib/stream_log/stream_log_files.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

namespace {

using distrib::detail::DirectoryHome;
using distrib::detail::StoreHome;

// What both homes do.
template <distrib::detail::LogHome Home> void check_log_home(Home one, Home other) {
  distrib::Error error;
  CHECK(one.names(error).empty());
  CHECK_FALSE(error);
  CHECK(one.add("log-1", distrib::as_bytes("first"), error));
  CHECK_FALSE(other.add("log-1", distrib::as_bytes("second"), error));
  CHECK_FALSE(error);
  CHECK(other.add("log-2", distrib::as_bytes("second"), error));
  std::vector<std::string> names = one.names(error);
  std::ranges::sort(names);
  CHECK(names == std::vector<std::string>{"log-1", "log-2"});
  CHECK(distrib::as_text(other.read("log-1", error)) == "first");
  CHECK_FALSE(error);
  other.remove("log-1");
  other.remove("log-1");
  CHECK(one.read("log-1", error).empty());
  CHECK(error.code == distrib::failure::not_found);
  CHECK(one.place("log-1").ends_with("run/log/log-1"));
}

}  // namespace

TEST_CASE("homes of a log: a version is added once, in a directory and in a store") {
  const support::TempDirectory directory;
  const std::string path = (directory / "run/log").string();
  check_log_home(DirectoryHome{path}, DirectoryHome{path});
  const auto bucket = std::make_shared<support::MapObjects>();
  const StoreHome home{"map://bucket/run/log", support::map_stores(bucket)};
  check_log_home(home, home);
  const auto at_the_root = std::make_shared<support::MapObjects>();
  StoreHome root{"map://bucket/", support::map_stores(at_the_root)};
  distrib::Error error;
  CHECK(root.add("log-1", distrib::as_bytes("first"), error));
  CHECK(root.names(error) == std::vector<std::string>{"log-1"});
}

TEST_CASE("homes of a log: a store that cannot keep it is refused, before anything is written there") {
  distrib::Error error;
  StoreHome closed{"map://bucket/run/log", {}};
  CHECK_FALSE(closed.add("log-1", distrib::as_bytes("first"), error));
  CHECK(error.code == distrib::record_errc::no_object_store);
  CHECK(error.where == "map://bucket/run/log");
  const auto bucket = std::make_shared<support::MapObjects>();
  bucket->honours_conditions = false;
  StoreHome careless{"map://bucket/run/log", support::map_stores(bucket)};
  CHECK_FALSE(careless.add("log-1", distrib::as_bytes("first"), error));
  CHECK(error.code == distrib::stream_errc::no_conditions);
  CHECK(error.where == "map://bucket/run/log/.conditions");
  CHECK(bucket->count("run/log/log-") == 0);
}

TEST_CASE("homes of a log: a store that is away, or refuses without a reason, is named") {
  const auto bucket = std::make_shared<support::MapObjects>();
  StoreHome home{"map://bucket/run/log", support::map_stores(bucket)};
  distrib::Error error;
  CHECK(home.add("log-1", distrib::as_bytes("first"), error));
  bucket->fail = [](const std::string&) { return support::MapObjects::away(); };
  CHECK(home.names(error).empty());
  CHECK(error.code == distrib::failure::unavailable);
  CHECK(error.where.starts_with("map://bucket/run/log"));
  CHECK_FALSE(home.add("log-2", distrib::as_bytes("second"), error));
  CHECK(error.code == distrib::failure::unavailable);
  // Removed by another process just after it was refused: that happens. Again and again: it does not.
  bucket->fail = [](const std::string& request) {
    return request.starts_with("put") ? support::MapObjects::mismatch() : std::error_code{};
  };
  for (int i = 0; i < 7; ++i) {
    CHECK_FALSE(home.add("log-2", distrib::as_bytes("second"), error));
    CHECK_FALSE(error);
  }
  CHECK_FALSE(home.add("log-2", distrib::as_bytes("second"), error));
  CHECK(error.code == distrib::failure::mismatch);
}

namespace {

using support::MapObjects;

/// A mistake of a home in a store.
enum class HomeMistake {
  none,
  writes_anyway,  ///< A version is written although it is there.
  believes_refusals,  ///< A version that was refused counts as added.
  believes_failures,  ///< So does a version whose request failed.
  hides_failures_of_names,  ///< A store that is away has no versions.
  hides_failures_of_read,  ///< A version that cannot be read is empty.
  forgets_directory,  ///< All logs of a bucket lie in one place.
  lists_keys,  ///< Names are keys, with the directory.
  lists_all,  ///< What lies in a directory whose name begins like this one's is listed, too.
  removes_nothing,
  trusts_the_store,  ///< It is not asked whether it has conditions.
  tries_for_ever,  ///< A store that refuses without a reason is asked again and again.
};

/// What `StoreHome` asks of its store, if it makes a mistake.
class MistakenClient : public support::DisorderlyClient {
 public:
  MistakenClient(std::shared_ptr<MapObjects> bucket, std::function<bool()> disturb, HomeMistake mistake)
      : DisorderlyClient{std::move(bucket), std::move(disturb)}, mistake_{mistake} {}

  auto info(const std::string& key, distrib::Error& error) -> distrib::ObjectInfo {
    return DisorderlyClient::info(place(key), error);
  }
  auto get(const std::string& key, std::uint64_t most, distrib::Error& error) -> std::vector<std::byte> {
    return DisorderlyClient::get(place(key), most, error);
  }
  auto put_if_absent(const std::string& key, distrib::ByteView bytes, distrib::Error& error) -> std::string {
    const bool is_version = key.find("log-") != std::string::npos;
    if (mistake_ == HomeMistake::writes_anyway && is_version) return put(place(key), bytes, error);
    std::string version = DisorderlyClient::put_if_absent(place(key), bytes, error);
    if (mistake_ == HomeMistake::trusts_the_store && !is_version) error = {MapObjects::mismatch(), key};
    return version;
  }
  void remove(const std::string& key, distrib::Error& error) {
    if (mistake_ != HomeMistake::removes_nothing) DisorderlyClient::remove(place(key), error);
  }
  auto list(const std::string& prefix, distrib::Error& error) -> std::vector<distrib::ObjectInfo> {
    const std::string directory = prefix.substr(0, prefix.rfind('/'));
    std::vector<distrib::ObjectInfo> all =
        DisorderlyClient::list(mistake_ == HomeMistake::lists_all ? directory : place(prefix), error);
    for (distrib::ObjectInfo& one : all) {
      const std::string name = one.key.substr(one.key.rfind('/') + 1);
      if (mistake_ == HomeMistake::forgets_directory || mistake_ == HomeMistake::lists_all)
        one.key = directory + '/' + name;
      if (mistake_ == HomeMistake::lists_keys) one.key = directory + '/' + one.key;
    }
    return all;
  }

 private:
  [[nodiscard]] auto place(const std::string& key) const -> std::string {
    return mistake_ == HomeMistake::forgets_directory ? key.substr(key.rfind('/') + 1) : key;
  }

  HomeMistake mistake_;
};

/// `StoreHome`, or what it would be with a mistake.
struct MistakenHome {
  StoreHome home;
  HomeMistake mistake;

  auto names(distrib::Error& error) -> std::vector<std::string> {
    std::vector<std::string> found = home.names(error);
    if (mistake == HomeMistake::hides_failures_of_names) error = {};
    return found;
  }
  auto read(const std::string& name, distrib::Error& error) -> std::vector<std::byte> {
    std::vector<std::byte> bytes = home.read(name, error);
    if (mistake == HomeMistake::hides_failures_of_read) error = {};
    return bytes;
  }
  auto add(const std::string& name, distrib::ByteView bytes, distrib::Error& error) -> bool {
    const bool is_added = home.add(name, bytes, error);
    if (mistake == HomeMistake::believes_refusals && !error) return true;
    if (mistake == HomeMistake::tries_for_ever && error.code == distrib::failure::mismatch) error = {};
    if (mistake != HomeMistake::believes_failures || error.code != distrib::failure::unavailable) return is_added;
    error = {};
    return true;
  }
  void remove(const std::string& name) { home.remove(name); }
};

/// Processes that extend two logs of one bucket. A version is a text, which begins with the version before.
class DrawnHomes {
 public:
  DrawnHomes(std::uint32_t seed, HomeMistake mistake) : dice_{seed} {
    bucket_->honours_conditions = seed % 16 != 5;
    const bool refuses = seed % 16 == 9;
    bucket_->fail = [refuses](const std::string& request) {
      return refuses && request.starts_with("put") && request.find("log-") != std::string::npos ? MapObjects::mismatch()
                                                                                                : std::error_code{};
    };
    is_usable_ = bucket_->honours_conditions && !refuses;
    for (std::size_t log = 0; log < 2; ++log)
      for (int process = 0; process < 3; ++process) {
        const std::string url = log == 0 ? "run/log" : "run/log2";
        const auto open = [this, url, mistake](const std::string&, distrib::Error& error) {
          error = {};
          const auto disturbed = [this] { return disturb(); };
          return distrib::ObjectDirectory{distrib::AnyObjectStore{MistakenClient{bucket_, disturbed, mistake}}, url,
                                          url};
        };
        processes_.push_back({{StoreHome{"map://bucket/" + url, open}, mistake}, log, false});
      }
  }

  /// Returns what is wrong; empty: nothing.
  auto run() -> std::string {
    for (int i = 0; i < 80 && wrong_.empty(); ++i) extend(dice_() % processes_.size());
    calm_ = true;
    for (std::size_t log = 0; log < 2 && wrong_.empty() && is_usable_; ++log) {
      extend(log * 3);
      if (bucket_->count(log == 0 ? "run/log/log-" : "run/log2/log-") > kept_versions + 1) wrong_ = "old versions stay";
    }
    return wrong_;
  }

 private:
  static constexpr std::uint64_t kept_versions = 24;  // more than others make in the middle of an attempt

  struct Process {
    MistakenHome home;
    std::size_t log;
    bool is_busy;
  };

  // Another process acts, or the answer is lost.
  auto disturb() -> bool {
    if (calm_ || depth_ > 3) return false;
    if (dice_() % 6 == 0) extend(dice_() % processes_.size());
    return dice_() % 24 == 0;
  }

  void extend(std::size_t number) {
    Process& process = processes_[number];
    if (process.is_busy || !wrong_.empty()) return;
    process.is_busy = true;
    ++depth_;
    const std::string own = (process.log == 0 ? 'a' : 'b') + std::to_string(next_++) + ';';
    int attempts = 0;
    while (wrong_.empty() && !attempt(process, own))
      if (++attempts == 200) wrong_ = "it stands still";
    --depth_;
    process.is_busy = false;
  }

  // True if the log has the entry now, or will never have it.
  auto attempt(Process& process, const std::string& own) -> bool {
    distrib::Error error;
    std::uint64_t newest = 0;
    std::string& told = told_[process.log];
    const std::string before = told;
    for (const std::string& name : process.home.names(error))
      newest = std::max(newest, distrib::detail::stream_log_version(name).value_or(0));
    if (error) return false;
    std::string text;
    if (newest != 0) {
      const std::vector<std::byte> bytes = process.home.read(distrib::detail::stream_log_name(newest), error);
      if (error) return false;
      text = distrib::as_text(bytes);
    }
    if (text.find(process.log == 0 ? 'b' : 'a') != std::string::npos)
      return wrong_ = "it has entries of another log", true;
    if (!text.starts_with(before)) return wrong_ = text + " is read, and " + before + " was told", true;
    if (text.size() > told.size()) told = text;
    if ((';' + text).find(';' + own) != std::string::npos) return true;
    const bool is_added =
        process.home.add(distrib::detail::stream_log_name(newest + 1), distrib::as_bytes(text + own), error);
    if (error.code == distrib::stream_errc::no_conditions || error.code == distrib::failure::mismatch) {
      if (is_usable_) wrong_ = "a store that can keep the log is refused";
      return true;
    }
    if (!is_added) return false;
    if (!is_usable_) return wrong_ = "a store that cannot keep the log is used", true;
    distrib::Error ignored;
    for (const std::string& name : process.home.names(ignored))
      if (distrib::detail::stream_log_version(name).value_or(newest) + kept_versions <= newest)
        process.home.remove(name);
    // Others may have gone on meanwhile: the version is part of what they were told.
    const std::string version = text + own;
    if (!version.starts_with(told) && !told.starts_with(version))
      return wrong_ = version + " and " + told + " were told", true;
    if (version.size() > told.size()) told = version;
    return true;
  }

  std::mt19937 dice_;
  std::shared_ptr<MapObjects> bucket_ = std::make_shared<MapObjects>();
  std::vector<Process> processes_;
  std::array<std::string, 2> told_;
  std::string wrong_;
  bool is_usable_ = true;
  bool calm_ = false;
  int depth_ = 0;
  int next_ = 0;
};

}  // namespace

TEST_CASE("homes of a log: a store loses nothing in drawn orders, and each planted mistake is found") {
  constexpr std::uint32_t most = DISTRIB_TEST_ADDRESS_SANITIZER ? 40 : 100;
  for (std::uint32_t seed = 0; seed < most / 2; ++seed) {
    CAPTURE(seed);
    CHECK(DrawnHomes{seed, HomeMistake::none}.run().empty());
  }
  for (int mistake = 1; mistake <= static_cast<int>(HomeMistake::tries_for_ever); ++mistake) {
    CAPTURE(mistake);
    std::uint32_t seed = 0;
    while (seed < most && DrawnHomes{seed, static_cast<HomeMistake>(mistake)}.run().empty()) ++seed;
    CHECK(seed < most);
  }
}
