// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/cluster/environment.hpp>
#include <distrib/core/bytes.hpp>
#include <distrib/core/decl.hpp>
#include <distrib/hadoop/job_conf.hpp>
#include <distrib/hadoop/raw_bytes.hpp>
#include <distrib/hadoop/serve_streaming.hpp>

#include <chrono>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <type_traits>

namespace distrib {
inline namespace v0 {
namespace hadoop {

namespace detail {

/// Standard input, output and error of this process, or other descriptors, which it does not close.
///
/// Threads: one at a time.
class DescriptorLink {
 public:
  explicit DescriptorLink(int in = 0, int out = 1, int err = 2) noexcept : in_{in}, out_{out}, err_{err} {}

  /// Waits for at least one byte. Returns the number of bytes read; 0 at the end, and after a failure, which sets `ec`.
  DISTRIB_DECL auto read_some(std::span<std::byte> space, std::error_code& ec) const -> std::size_t;

  /// Writes all of `bytes`.
  void write(ByteView bytes, std::error_code& ec) const { write_to(out_, bytes, ec); }

  /// Writes a line for Hadoop to standard error. Ignores failures.
  void tell(std::string_view line) const {
    std::error_code ignored;
    write_to(err_, as_bytes(std::string{line} + "\n"), ignored);
  }

 private:
  DISTRIB_DECL static void write_to(int descriptor, ByteView bytes, std::error_code& ec);

  int in_;
  int out_;
  int err_;
};

}  // namespace detail

/// Performs the task for which Hadoop Streaming started this program. Returns 0, for `main` to return. `roles`: a
/// Mapper, a Reducer, or both; the same program may be `-mapper` and `-reducer`, because Hadoop says which of them it
/// is. Start the job with `-io rawbytes`, or with `-io typedbytes` for `run_streaming<TypedBytes>`.
///
/// Status, progress and counters of the context go to standard error, as lines that Hadoop understands.
///
/// Errors: throws what a role throws, and `std::system_error`. Hadoop then discards what the program has written.
template <StreamingCodec Codec = RawBytes, class... Roles>
  requires StreamingRoles<std::remove_cvref_t<Roles>...>
auto run_streaming(Roles&&... roles) -> int {
  detail::DescriptorLink link;
  constexpr std::size_t most_bytes = (std::size_t{1} << 31) - 1;
  serve_streaming<Codec>(
      link, JobConf::of(Environment::of_process()), [] { return std::chrono::steady_clock::now(); }, most_bytes,
      roles...);
  return 0;
}

// The unconstrained overload: the same parameter list, so that the constrained one wins whenever its concept holds.
template <StreamingCodec Codec = RawBytes, class... Roles> auto run_streaming(Roles&&...) -> int {
  // A named bool, so that compilers add no explanation of their own.
  constexpr bool is_task = StreamingRoles<std::remove_cvref_t<Roles>...>;
  static_assert(is_task,
                "distrib: a task of Streaming is a Mapper, which has map(ByteView key, ByteView value, TaskContext&), "
                "a Reducer, which has reduce(ByteView key, Values&, TaskContext&), or one of each, and nothing else");
  return 1;
}

}  // namespace hadoop
}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/hadoop/impl/run_streaming.ipp>
#endif
