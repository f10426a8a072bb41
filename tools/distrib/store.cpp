// SPDX-License-Identifier: Apache-2.0
// `distrib store check`: what credentials may do in an object store, and what the store honours.
#include "store.hpp"

#include "report.hpp"

#include <distrib/core/bytes.hpp>
#include <distrib/core/error.hpp>
#include <distrib/core/json_text.hpp>
#include <distrib/core/paths.hpp>

#ifdef DISTRIB_TOOLS_HTTP
#include <distrib/core/sha256.hpp>
#include <distrib/remote/s3/s3_client.hpp>
#include <distrib/remote/s3/s3_error.hpp>
#include <distrib/remote/s3/s3_location.hpp>
#include <distrib/remote/s3/s3_writer.hpp>
#include <distrib/rpc/nonce.hpp>
#endif

#include <CLI/CLI.hpp>

#include <algorithm>
#include <optional>
#include <string>
#include <system_error>
#include <vector>

namespace tools {

void add_store(CLI::App& app, StoreOptions& options, int& code) {
  CLI::App* store = app.add_subcommand("store", "Works on object stores.");
  store->require_subcommand(1);
  CLI::App* check = store->add_subcommand("check",
                                          "Says what the credentials may do, and what the store honours. Writes some\n"
                                          "small objects and one of 5 MiB below URL, and removes them.");
  check->add_option("URL", options.url, "s3://BUCKET/PREFIX, gs://BUCKET/PREFIX or s3+http://HOST:PORT/BUCKET/PREFIX")
      ->required();
  check->add_flag("--read-only", options.read_only, "Write nothing: only list and read");
  check->add_flag("--json", options.json, "Print one JSON object per line, one for each check");
  check->footer(
      "Export logs and the logs of streams also need conditional writes: `put if absent` and `replace if version`.\n"
      "Exit code: 0 everything that data and checkpoints need works, 64 wrong usage, 66 there is no such\n"
      "bucket, 69 no answer, 74 something that is needed does not work.\n"
      "Example: distrib store check s3://bucket/run");
  check->callback([&options, &code] { code = store_check(options); });
}

#ifdef DISTRIB_TOOLS_HTTP

namespace {

using distrib::as_bytes;
using distrib::Error;
using distrib::ObjectInfo;
using distrib::s3_errc;

/// Makes checks and reports them.
class Checks {
 public:
  Checks(Report& report, distrib::S3Client& client, std::string prefix)
      : report_{report}, client_{client}, prefix_{std::move(prefix)} {}
  Checks(const Checks&) = delete;
  auto operator=(const Checks&) -> Checks& = delete;
  ~Checks() {
    for (const std::string& key : made_) {  // what a failed check left
      Error ignored;
      client_.remove(key, ignored);
    }
  }

  /// Returns false if the bucket cannot be listed for a reason that makes all else pointless.
  auto list(bool to_read) -> bool {
    Error error;
    const std::vector<std::string> found = first_of(client_, to_read ? prefix_ : prefix_ + ".distrib-check-", error);
    if (!needed("list", "ListBucket", error)) return false;
    if (!found.empty()) first_ = found.front();
    return true;
  }

  void read_first() {
    if (first_.empty()) return tell("read", "nothing to read", true);
    Error error;
    ObjectInfo info;
    static_cast<void>(client_.get_end(first_, 1, info, error));
    needed("read", "GetObject", error);
  }

  void write() {
    Error error;
    const std::string key = make("a");
    const std::string version = client_.put(key, as_bytes("first"), error);
    if (!needed("write", "PutObject", error)) return;
    const std::vector<std::byte> read = client_.get(key, 100, error);
    if (!error && distrib::as_text(read) != "first") error = {s3_errc::bad_answer, key + ": other bytes came back"};
    needed("read", "GetObject", error);
    const bool listed = lists(key, error);
    needed_property("list after write", listed, error);
    Error second;
    client_.put(key, as_bytes("second"), second);
    if (second) return static_cast<void>(needed("replace", "PutObject", second));
    const std::vector<std::byte> again = client_.get(key, 100, second);
    needed_property("read after replace", distrib::as_text(again) == "second", second);
    conditions(key, version);
    copy(key);
    parts();
    remove(key);
  }

 private:
  static auto first_of(distrib::S3Client& client, const std::string& prefix, Error& error) -> std::vector<std::string> {
    std::vector<std::string> keys;
    for (const ObjectInfo& info : client.list_first(prefix, error))  // the bucket may have millions
      if (keys.empty() && info.bytes != 0) keys.push_back(info.key);
    return keys;
  }

  auto make(const std::string& name) -> std::string {
    made_.push_back(prefix_ + ".distrib-check-" + nonce_ + '-' + name);
    return made_.back();
  }

  auto lists(const std::string& key, Error& error) -> bool {
    const auto found = client_.list(key, error);
    return std::any_of(found.begin(), found.end(), [&](const ObjectInfo& info) { return info.key == key; });
  }

  void conditions(const std::string& key, const std::string& old_version) {
    Error error;
    client_.put_if_absent(key, as_bytes("third"), error);
    tell_condition("put if absent", error);
    const std::string fresh = make("b");
    client_.put_if_absent(fresh, as_bytes("new"), error);
    if (error) tell("put if absent, new object", error.code.message(), false);
    client_.replace_if_version(key, as_bytes("fourth"), old_version, error);
    tell_condition("replace if version", error);
  }

  void copy(const std::string& key) {
    Error error;
    client_.copy(key, make("c"), error);
    tell("copy", error ? error.code.message() : "yes", !error);
  }

  void parts() {
    Error error;
    const std::string key = make("parts");
    constexpr std::size_t part = 5 << 20;
    const std::vector<std::byte> bytes(part + 1);
    distrib::S3Writer writer{client_.session(), key, part};
    writer.write(bytes, error);
    writer.close(error);
    if (needed("write in parts", "PutObject", error)) {
      const ObjectInfo info = client_.info(key, error);
      needed_property("size of the parts together", info.bytes == bytes.size(), error);
    }
    const std::string left = make("left");
    {
      distrib::S3Writer dropped{client_.session(), left, part};
      dropped.write(bytes, error);
    }
    const auto uploads = client_.uploads(left, error);
    if (error) tell("abort uploads", error.code.message() + " (AbortMultipartUpload, ListMultipartUploads)", false);
    else tell("abort uploads", uploads.empty() ? "yes" : "no: set a lifecycle rule", uploads.empty());
  }

  void remove(const std::string& key) {
    Error error;
    client_.remove(key, error);
    if (!needed("delete", "DeleteObject", error)) return;
    const bool listed = lists(key, error);
    needed_property("list after delete", !listed, error);
    Error gone;
    static_cast<void>(client_.info(key, gone));
    needed_property("read after delete", gone.code == s3_errc::no_such_object,
                    gone.code == s3_errc::no_such_object ? Error{} : gone);
  }

  /// Reports an operation that data or checkpoints need. Returns true if it worked.
  auto needed(const std::string& what, const std::string& permission, const Error& error) -> bool {
    if (!error) tell(what, "yes", true);
    else if (error.code == s3_errc::denied) {
      tell(what, "no: the permission " + permission + " is missing", false);
      report_.failure(error, exit_io);
    } else {
      tell(what, "no: " + error.code.message(), false);
      report_.failure(error);
    }
    return !error;
  }
  void needed_property(const std::string& what, bool holds, const Error& error) {
    if (error) return static_cast<void>(needed(what, "GetObject", error));
    tell(what, holds ? "yes" : "no: not for checkpoints", holds);
    if (!holds) report_.worst(exit_io);
  }
  /// Reports a write that the store must refuse. Data and checkpoints do not need that, export logs and streams do.
  void tell_condition(const std::string& what, const Error& error) {
    const bool honoured = error.code == s3_errc::condition_failed;
    const std::string reason = !error ? "ignored: it replaced the object" : "no: " + error.code.message();
    tell(what, honoured ? "yes" : reason + ": not for export logs and streams", honoured);
  }

  void tell(const std::string& what, const std::string& text, bool good) {
    if (report_.json())
      report_.line(distrib::JsonObject{}.add("check", what).add("result", text).add("good", good).text());
    else report_.line(what + std::string(what.size() < 30 ? 30 - what.size() : 1, ' ') + text);
  }

  Report& report_;
  distrib::S3Client& client_;
  std::string prefix_;
  std::string nonce_ = distrib::to_hex(distrib::ByteView{distrib::draw_nonce()}.first(8));
  std::string first_;  // an object to read
  std::vector<std::string> made_;
};

}  // namespace

auto store_check(const StoreOptions& options) -> int {
  Report report{options.json};
  try {
    Error error;
    const distrib::S3Location location = distrib::S3Location::parse(options.url, error);
    throw_if(error);
    distrib::S3Client client{options.url};
    std::string prefix = location.key;
    if (!prefix.empty() && !prefix.ends_with('/')) prefix += '/';
    Checks checks{report, client, prefix};
    if (!checks.list(options.read_only)) return report.finish();
    if (options.read_only) checks.read_first();
    else checks.write();
  } catch (const std::system_error& error) {
    report.failure(distrib::error_of(error));
  }
  return report.finish();
}

#else

auto store_check(const StoreOptions& options) -> int {
  Report report{options.json};
  report.refuse(distrib::detail::shown_name(options.url),
                "built without the component http: install libcpp-httplib-dev and pkg-config, then build again");
  return report.finish();
}

#endif

}  // namespace tools
