// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/checkpoint/perform.hpp>
#include <distrib/core/decl.hpp>
#include <distrib/core/error.hpp>
#include <distrib/core/files.hpp>
#include <distrib/core/io_action.hpp>
#include <distrib/core/paths.hpp>
#include <distrib/sim/dice.hpp>
#include <distrib/sim/scheduler.hpp>

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

namespace distrib {
inline namespace v0 {
namespace sim {

/// A disk that performs plans as a real disk does, and that may forget what a real disk may forget when it loses power.
/// It is a directory of real files, so that all code that reads can read them; they are what the operating system shows
/// while there is power. The disk remembers the former state of everything that is not durable yet, and `lose_power()`
/// decides by dice what is left:
/// - of a file that was written and not synced: a prefix of any length, but not less than what was synced before bytes
///   were appended;
/// - of the creations, renames and removals since the last sync of the directory: any of them, or none.
///
/// What a sync has acknowledged stays.
///
/// Threads: one at a time. Lifetime: scheduler and dice must outlive it.
class Disk {
 public:
  /// Thrown by a plan that was stopped in its middle, because its process dies there.
  struct Stopped {};

  /// Performs plans on the disk; a `CutStore` gets this. A value; the disk must outlive it.
  class Files {
   public:
    explicit Files(Disk& disk) noexcept : disk_{&disk} {}
    /// Performs a plan. Throws what `perform(plan)` throws, and `Stopped`.
    void operator()(std::span<const FileAction> plan) const { disk_->perform_all(plan); }
    /// Returns the seconds since 1970 by the simulated clock.
    [[nodiscard]] auto now() const noexcept -> double { return disk_->seconds(); }

   private:
    Disk* disk_;
  };

  /// Creates `directory`, which must not exist; its parent must exist. Throws `std::system_error` that names it.
  Disk(std::string directory, Scheduler& scheduler, Dice& dice)
      : directory_{std::move(directory)}, scheduler_{scheduler}, dice_{dice} {
    if (::mkdir(directory_.c_str(), 0777) != 0)
      throw_if(distrib::detail::cannot_write(directory_, {errno, std::generic_category()}));
  }
  Disk(const Disk&) = delete;
  auto operator=(const Disk&) -> Disk& = delete;

  /// Removes the directory with everything in it.
  ~Disk() {
    std::error_code ignored;
    for (const std::string& name : distrib::detail::list_directory(directory_, ignored))
      ::unlink(distrib::detail::join_path(directory_, name).c_str());
    ::rmdir(directory_.c_str());
  }

  [[nodiscard]] auto directory() const noexcept -> const std::string& { return directory_; }
  [[nodiscard]] auto files() noexcept -> Files { return Files{*this}; }

  /// Lets it perform `actions` more actions, and then throw `Stopped` at the next ones, until `go_on` is called.
  void stop_after(std::size_t actions) noexcept { left_ = actions; }
  void go_on() noexcept { left_ = std::numeric_limits<std::size_t>::max(); }

  /// Makes the disk full before `until`: a write writes a part of its bytes, any number of them, and fails with
  /// `checkpoint_errc::no_room`. A later time that was given before stays.
  void fill(Instant until) noexcept { full_until_ = std::max(full_until_, until); }
  [[nodiscard]] auto is_full() const noexcept -> bool { return scheduler_.now() < full_until_; }

  /// Loses power: see above.
  DISTRIB_DECL void lose_power();

  /// Flips a random bit of a file that is synced, until `mend`, or until the file is written again. Returns false, and
  /// changes nothing, if there is no such file, or it is empty or not synced, or a bit of it is flipped already.
  DISTRIB_DECL auto flip_bit(const std::string& path) -> bool;
  /// Flips the bit back, if there is one.
  DISTRIB_DECL void mend(const std::string& path);

 private:
  /// The file that a name refers to. Several names may refer to one file.
  struct File {
    std::vector<std::byte> bytes;
    bool synced = false;
    std::size_t synced_bytes = 0;  // how many bytes cannot be lost
    std::optional<std::size_t> flipped;  // the bit that is flipped
  };
  using Names = std::map<std::string, std::shared_ptr<File>>;

  /// A change of the directory. `from`: the old name, if it was a rename. `file`: null if it was a removal.
  struct Change {
    std::string path;
    std::string from;
    std::shared_ptr<File> file;
  };

  [[nodiscard]] auto seconds() const noexcept -> double {
    return 1e9 + std::chrono::duration<double>{scheduler_.now().time_since_epoch()}.count();
  }

  // As `perform(plan, error)`: if the plan fails, removes the files that it has written and not renamed.
  DISTRIB_DECL void perform_all(std::span<const FileAction> plan);

  DISTRIB_DECL void perform_one(const FileAction& action, Error& error);

  // For `write` and `append`. If the name of a `write` exists, it keeps its file, as with O_TRUNC: the old bytes are
  // lost, whatever follows.
  DISTRIB_DECL void write(const FileAction& action, Error& error);

  void remove(const std::string& path) {
    if (names_.erase(path) == 0) return;
    ::unlink(path.c_str());
    changes_.push_back({path, {}, nullptr});
  }

  void flip(const std::string& path, File& file, std::size_t bit) {
    file.bytes[bit / 8] ^= std::byte{1} << bit % 8;
    file.flipped = bit;
    put(path, file);
  }

  DISTRIB_DECL void put(const std::string& path, const File& file);

  std::string directory_;
  Scheduler& scheduler_;
  Dice& dice_;
  Names names_;  // as readers see them
  Names durable_;  // as they were when the directory was synced last
  std::vector<Change> changes_;  // since then
  std::size_t left_ = std::numeric_limits<std::size_t>::max();
  Instant full_until_{};
};

}  // namespace sim
}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/sim/impl/disk.ipp>
#endif
