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

/// A disk on which plans are performed as on a real one, and which forgets what a real one may forget. It is a directory
/// of real files, so that all code that reads finds them: what the operating system shows while there is power. Of what
/// was not made durable it remembers how it was before, and `lose_power()` decides by dice what is left:
/// - of a file that was written and not synced, a prefix of any length;
/// - of files made, renamed and removed since their directory was synced, any of these things, or none.
///
/// What a sync has acknowledged stays. Threads: one at a time. Scheduler and dice must outlive it.
class Disk {
 public:
  /// What a plan throws that was stopped in its middle because its process dies there.
  struct Stopped {};

  /// Performs plans on the disk: what a `CutStore` is given. A value; the disk must outlive it.
  class Files {
   public:
    explicit Files(Disk& disk) noexcept : disk_{&disk} {}
    /// Throws as `perform(plan)` does, and `Stopped`.
    void operator()(std::span<const FileAction> plan) const { disk_->perform_all(plan); }
    /// Seconds since 1970, by the simulated clock.
    [[nodiscard]] auto now() const noexcept -> double { return disk_->seconds(); }

   private:
    Disk* disk_;
  };

  /// Makes `directory`, which must not be there yet; above it all must. Throws `std::system_error` that names it.
  Disk(std::string directory, Scheduler& scheduler, Dice& dice)
      : directory_{std::move(directory)}, scheduler_{scheduler}, dice_{dice} {
    if (::mkdir(directory_.c_str(), 0777) != 0)
      throw_if(distrib::detail::cannot_write(directory_, {errno, std::generic_category()}));
  }
  Disk(const Disk&) = delete;
  auto operator=(const Disk&) -> Disk& = delete;

  /// Removes the directory with all that is in it.
  ~Disk() {
    std::error_code ignored;
    for (const std::string& name : distrib::detail::list_directory(directory_, ignored))
      ::unlink(distrib::detail::join_path(directory_, name).c_str());
    ::rmdir(directory_.c_str());
  }

  [[nodiscard]] auto directory() const noexcept -> const std::string& { return directory_; }
  [[nodiscard]] auto files() noexcept -> Files { return Files{*this}; }

  /// Performs `actions` more and throws `Stopped` at the next one; `go_on` ends that.
  void stop_after(std::size_t actions) noexcept { left_ = actions; }
  void go_on() noexcept { left_ = std::numeric_limits<std::size_t>::max(); }

  /// There is no room before `until`: what is written comes to a part of it, and fails with `checkpoint_errc::no_room`.
  void fill(Instant until) noexcept { full_until_ = std::max(full_until_, until); }
  [[nodiscard]] auto is_full() const noexcept -> bool { return scheduler_.now() < full_until_; }

  /// The machine loses its power: see above.
  DISTRIB_DECL void lose_power();

  /// One bit of a durable file is another one from now on, until `mend`. False: there is no such file, or it is empty, or
  /// that was done to it before.
  DISTRIB_DECL auto flip_bit(const std::string& path) -> bool;
  /// The bit is as it was.
  DISTRIB_DECL void mend(const std::string& path);

 private:
  /// What a name stands for. Several may, while a rename is not durable.
  struct File {
    std::vector<std::byte> bytes;
    bool synced = false;
    std::optional<std::size_t> flipped;  // this bit of it
  };
  using Names = std::map<std::string, std::shared_ptr<File>>;

  /// Of the directory. `file` null: removed.
  struct Change {
    std::string path;
    std::string from;
    std::shared_ptr<File> file;
  };

  [[nodiscard]] auto seconds() const noexcept -> double {
    return 1e9 + std::chrono::duration<double>{scheduler_.now().time_since_epoch()}.count();
  }

  // As `perform(plan, error)`: what it has written and not renamed when it fails is removed.
  DISTRIB_DECL void perform_all(std::span<const FileAction> plan);

  DISTRIB_DECL void perform_one(const FileAction& action, Error& error);

  // A name that is there keeps its file, as with O_TRUNC: what that held is gone whatever follows.
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
  Names names_;  // as the files are seen
  Names durable_;  // of these the directory was synced
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
