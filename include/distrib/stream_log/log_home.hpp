// SPDX-License-Identifier: Apache-2.0
// What StreamLogFiles is made of.
#pragma once

#include <distrib/core/bytes.hpp>
#include <distrib/core/decl.hpp>
#include <distrib/core/error.hpp>
#include <distrib/core/paths.hpp>
#include <distrib/record/any_object_store.hpp>
#include <distrib/stream_log/stream_file.hpp>

#include <concepts>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

namespace distrib {
inline namespace v0 {
namespace detail {

/// Where the versions of a stream log lie, for any number of processes. Each is written once, whole, and never changes.
/// All functions set or clear `error`, and may block.
/// - `home.names(error)`: the names of all versions, in any order, perhaps with names of others; none if nothing was
///   added yet;
/// - `home.read(name, error)`: the bytes of a version, which are durable then; `failure::not_found` if it was removed;
/// - `home.add(name, bytes, error)`: adds a version, and is true when it is durable; false, without an error, if there
///   is a version of this name. After an error it may have been added;
/// - `home.remove(name)`: removes a version, or tries to;
/// - `home.place(name)`: the place of a version, for messages.
template <class H>
concept LogHome = requires(H& home, const std::string& name, ByteView bytes, Error& error) {
  { home.names(error) } -> std::same_as<std::vector<std::string>>;
  { home.read(name, error) } -> std::same_as<std::vector<std::byte>>;
  { home.add(name, bytes, error) } -> std::same_as<bool>;
  home.remove(name);
  { home.place(name) } -> std::same_as<std::string>;
};

/// What `DirectoryHome` asks of the operating system; tests simulate it. All functions set or clear `ec`, and paths are
/// in one directory. Nothing is durable before it was synced.
struct LogHomeFiles {
  /// Names in the directory; none if there is no directory.
  [[nodiscard]] DISTRIB_DECL auto names(const std::string& directory, std::error_code& ec) const
      -> std::vector<std::string>;
  /// The first `most` bytes of a file.
  [[nodiscard]] DISTRIB_DECL auto read(const std::string& path, std::size_t most, std::error_code& ec) const
      -> std::vector<std::byte>;
  /// Makes the bytes of a file durable.
  DISTRIB_DECL void sync(const std::string& path, std::error_code& ec) const;
  /// Makes the names in the directory of a file durable.
  DISTRIB_DECL void sync_name(const std::string& path, std::error_code& ec) const;
  /// Creates the directory and its parents, durably, if it is not there.
  DISTRIB_DECL void make_directories(const std::string& directory, std::error_code& ec) const;
  /// Writes the bytes into a file with a hidden name of its own beside `path`, makes them durable, and returns the path
  /// of the file. After a failure there is no file.
  [[nodiscard]] DISTRIB_DECL auto write_hidden(const std::string& path, ByteView bytes, std::error_code& ec) const
      -> std::string;
  /// Gives the file `from` the second name `to`; `file_exists` if there is a file of that name.
  DISTRIB_DECL void link(const std::string& from, const std::string& to, std::error_code& ec) const;
  /// Removes a name, or tries to.
  DISTRIB_DECL void remove(const std::string& path) const;
};

/// Versions as files of a directory, which is created for the first one. A file is complete and durable under a hidden
/// name before link(2) gives it its own, and fails for all processes but one. The file system must have hard links.
template <class Files>
class DirectoryHomeOn {
 public:
  explicit DirectoryHomeOn(std::string directory, Files files = {})
      : directory_{std::move(directory)}, files_{std::move(files)} {}

  /// With the hidden names of files that processes are writing, or that they left when they were killed.
  [[nodiscard]] auto names(Error& error) const -> std::vector<std::string> {
    std::error_code ec;
    std::vector<std::string> found = files_.names(directory_, ec);
    error = ec ? Error{ec, directory_} : Error{};
    return found;
  }

  // Its author may have been killed just before it made the file durable.
  [[nodiscard]] auto read(const std::string& name, Error& error) const -> std::vector<std::byte> {
    const std::string path = place(name);
    std::error_code ec;
    std::vector<std::byte> bytes = files_.read(path, max_stream_file_bytes + 1, ec);
    if (!ec) files_.sync(path, ec);
    if (!ec) files_.sync_name(path, ec);
    error = ec ? Error{ec, path} : Error{};
    return bytes;
  }

  auto add(const std::string& name, ByteView bytes, Error& error) -> bool {
    error = {};
    std::error_code ec;
    files_.make_directories(directory_, ec);
    if (ec) return error = {ec, directory_}, false;
    const std::string path = place(name);
    const std::string hidden = files_.write_hidden(path, bytes, ec);
    if (ec) return error = {ec, path}, false;
    files_.link(hidden, path, ec);
    const bool is_linked = !ec;
    // The hidden file is gone if other processes have made many versions meanwhile, and removed old ones.
    if (ec == std::errc::file_exists || ec == std::errc::no_such_file_or_directory) ec.clear();
    files_.remove(hidden);
    if (!ec && is_linked) files_.sync_name(path, ec);
    if (ec) error = {ec, path};
    return is_linked && !ec;
  }

  void remove(const std::string& name) { files_.remove(place(name)); }
  [[nodiscard]] auto place(const std::string& name) const -> std::string { return join_path(directory_, name); }

 private:
  std::string directory_;
  Files files_;
};

/// Versions as files of a directory of the operating system.
using DirectoryHome = DirectoryHomeOn<LogHomeFiles>;
static_assert(LogHome<DirectoryHome>);

/// Versions as objects of a store, which writes an object only if it is not there. Before the first write this object
/// writes `.conditions` twice, and refuses a store that allows it (`stream_errc::no_conditions`).
class StoreHome {
 public:
  /// Keeps its arguments; the store is opened when it is used first. Errors of all functions:
  /// `record_errc::no_object_store` if `open` is empty, and what it reports.
  StoreHome(std::string url, OpenObjectStore open) : url_{std::move(url)}, open_{std::move(open)} {}

  [[nodiscard]] DISTRIB_DECL auto names(Error& error) -> std::vector<std::string>;
  [[nodiscard]] DISTRIB_DECL auto read(const std::string& name, Error& error) -> std::vector<std::byte>;
  DISTRIB_DECL auto add(const std::string& name, ByteView bytes, Error& error) -> bool;
  DISTRIB_DECL void remove(const std::string& name);
  [[nodiscard]] DISTRIB_DECL auto place(const std::string& name) const -> std::string;

 private:
  DISTRIB_DECL auto is_open(Error& error) -> bool;
  [[nodiscard]] auto key_of(const std::string& name) const -> std::string {
    return opened_->root.empty() ? name : opened_->root + "/" + name;
  }
  DISTRIB_DECL void complete(const std::string& name, Error& error) const;

  std::string url_;
  OpenObjectStore open_;
  std::optional<ObjectDirectory> opened_;
  bool has_conditions_ = false;
  int refusals_ = 0;  // in turn, of objects that are not there
};
static_assert(LogHome<StoreHome>);

/// Holds a `LogHome` of any type. Moves; an object that was moved from may only be assigned to.
class AnyLogHome {
 public:
  template <LogHome H>
    requires(!std::same_as<H, AnyLogHome>)
  explicit AnyLogHome(H home) : home_{std::make_unique<Of<H>>(std::move(home))} {}

  [[nodiscard]] auto names(Error& error) -> std::vector<std::string> { return home_->names(error); }
  [[nodiscard]] auto read(const std::string& name, Error& error) -> std::vector<std::byte> {
    return home_->read(name, error);
  }
  auto add(const std::string& name, ByteView bytes, Error& error) -> bool { return home_->add(name, bytes, error); }
  void remove(const std::string& name) { home_->remove(name); }
  [[nodiscard]] auto place(const std::string& name) -> std::string { return home_->place(name); }

 private:
  struct Any {
    Any() = default;
    Any(const Any&) = delete;
    auto operator=(const Any&) -> Any& = delete;
    virtual ~Any() = default;
    virtual auto names(Error& error) -> std::vector<std::string> = 0;
    virtual auto read(const std::string& name, Error& error) -> std::vector<std::byte> = 0;
    virtual auto add(const std::string& name, ByteView bytes, Error& error) -> bool = 0;
    virtual void remove(const std::string& name) = 0;
    virtual auto place(const std::string& name) -> std::string = 0;
  };
  template <class H>
  struct Of final : Any {
    explicit Of(H of) : home{std::move(of)} {}
    auto names(Error& error) -> std::vector<std::string> override { return home.names(error); }
    auto read(const std::string& name, Error& error) -> std::vector<std::byte> override {
      return home.read(name, error);
    }
    auto add(const std::string& name, ByteView bytes, Error& error) -> bool override {
      return home.add(name, bytes, error);
    }
    void remove(const std::string& name) override { home.remove(name); }
    auto place(const std::string& name) -> std::string override { return home.place(name); }

    H home;
  };

  std::unique_ptr<Any> home_;
};
static_assert(LogHome<AnyLogHome>);

}  // namespace detail
}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/stream_log/impl/log_home.ipp>
#endif
