// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/bytes.hpp>
#include <distrib/core/decl.hpp>
#include <distrib/core/protowire.hpp>
#include <distrib/rpc/method.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace distrib {
inline namespace v0 {

// The methods of a worker of a coordinator. Heads are protowire; unknown fields are skipped. Arguments and results are
// bodies.

/// Begins a session, or continues it on a new connection. A new session ends the one before it: its functions are
/// stopped, its per-worker values are dropped.
struct HelloRequest {
  std::uint64_t session = 0;  ///< A random number of the coordinator's process.
  std::uint32_t worker = 0;   ///< Index that the coordinator takes the worker for.
  std::uint32_t workers = 0;  ///< Number of workers.
  std::string functions;      ///< `FunctionList::digest`.

  DISTRIB_DECL void encode(WireWriter& head) const;
  [[nodiscard]] DISTRIB_DECL auto decode(ByteView head) -> bool;
};
struct HelloReply {
  std::uint64_t process = 0;  ///< A random number of the worker's process.

  DISTRIB_DECL void encode(WireWriter& head) const;
  [[nodiscard]] DISTRIB_DECL auto decode(ByteView head) -> bool;
};

/// Runs a function. The body has its arguments.
struct RunRequest {
  std::uint64_t session = 0;
  std::uint64_t process = 0;  ///< The process that is meant; another one refuses.
  std::uint64_t run = 0;      ///< Unique in the session.
  std::uint32_t function = 0;  ///< `method_id` of its name.
  std::uint64_t resource = 0;  ///< Not 0: keep the result on the worker under this number, and return nothing.
  SharedBuffer body = {};

  DISTRIB_DECL void encode(WireWriter& head) const;
  [[nodiscard]] DISTRIB_DECL auto decode(ByteView head) -> bool;
};
/// How the run ended. The body has the result.
struct RunReply {
  std::vector<std::byte> error;  ///< As `encode_error` writes it; empty: no error.
  /// The parameter servers that could not be reached, if that is the error. At most `most_ps`.
  std::vector<std::uint32_t> unreachable_ps;
  SharedBuffer body = {};

  static constexpr std::size_t most_ps = 4096;

  DISTRIB_DECL void encode(WireWriter& head) const;
  [[nodiscard]] DISTRIB_DECL auto decode(ByteView head) -> bool;
};

/// Asks a function to stop. Answered at once; the answer to Run says when it has ended.
struct StopRequest {
  std::uint64_t session = 0;
  std::uint64_t run = 0;

  DISTRIB_DECL void encode(WireWriter& head) const;
  [[nodiscard]] DISTRIB_DECL auto decode(ByteView head) -> bool;
};

struct Hello : Method<"distrib.coordinator.Hello", HelloRequest, HelloReply> {};
struct RunFunction : Method<"distrib.coordinator.Run", RunRequest, RunReply> {};
struct StopFunction : Method<"distrib.coordinator.Stop", StopRequest, Empty> {};
/// Ends the worker: answered when it has said goodbye to the parameter servers. Then its process ends.
struct EndWorker : Method<"distrib.coordinator.End", Empty, Empty> {};

}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/coordinator/impl/messages.ipp>
#endif
