// SPDX-License-Identifier: Apache-2.0
#include "expect.hpp"
#include "targets.hpp"

#include <distrib/coordinator/function_worker.hpp>
#include <distrib/coordinator/messages.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace fuzz {

namespace {

struct KeptOnWorker {
  std::uint64_t number = 0;
};
struct MakeKept {
  static constexpr std::string_view name = "make_kept";
  auto operator()(distrib::FunctionContext&, std::uint64_t number) const -> KeptOnWorker { return {number}; }
};
/// Takes one argument of each kind, and returns their sizes.
struct TakeAll {
  static constexpr std::string_view name = "take_all";
  auto operator()(distrib::FunctionContext&, KeptOnWorker& kept, int number, const std::string& text,
                  const std::vector<double>& list, const std::vector<std::byte>& bytes) const
      -> std::vector<std::uint64_t> {
    return {kept.number, static_cast<std::uint64_t>(number), text.size(), list.size(), bytes.size()};
  }
};
using CoordinatedFunctions = distrib::FunctionList<MakeKept, TakeAll>;

/// What decodes is encoded to bytes that decode to the same bytes again.
template <class Message> void message_of(ByteView input) {
  Message first;
  if (!first.decode(input)) return;
  distrib::WireWriter once, twice;
  first.encode(once);
  Message second;
  expect(second.decode(once.view()), "what was encoded decodes");
  second.encode(twice);
  expect(Bytes(once.view().begin(), once.view().end()) == Bytes(twice.view().begin(), twice.view().end()),
         "the same bytes again");
}

}  // namespace

void coordinator(ByteView input) {
  message_of<distrib::HelloRequest>(input);
  message_of<distrib::HelloReply>(input);
  message_of<distrib::RunRequest>(input);
  message_of<distrib::RunReply>(input);
  message_of<distrib::StopRequest>(input);

  distrib::detail::FunctionRun run;
  distrib::FunctionContext context{run};
  distrib::detail::Resources resources;
  for (const auto& [id, function] : distrib::detail::TableOf<CoordinatedFunctions>::make())
    for (const std::uint64_t resource : {std::uint64_t{0}, std::uint64_t{1}}) {
      distrib::SharedBuffer result;
      const distrib::Error error = function.call(context, resources, resource, input, result);
      expect(!error || error.code == distrib::coordinator_errc::bad_arguments, "only bad arguments are an error");
      if (result != nullptr) expect(result->size() <= 128, "the result has five numbers");
    }
}

}  // namespace fuzz
