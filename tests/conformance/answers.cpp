// SPDX-License-Identifier: Apache-2.0
#include "answers.hpp"

#include <distrib/core/sha256.hpp>

#include <exception>
#include <map>
#include <new>
#include <optional>
#include <system_error>
#include <utility>

namespace conformance {

namespace {

auto all_groups() -> std::map<std::string_view, Group> {
  std::map<std::string_view, Group> groups;
  for (const auto& family :
       {record_groups(), example_groups(), data_groups(), cluster_groups(), resolver_groups(), placement_groups(),
        file_groups(), optimizer_groups(), embedding_groups(), accumulator_groups(), hook_groups(), spark_groups()})
    for (const Group& group : family) groups.emplace(group.name, group);
  return groups;
}

auto error(std::string kind) -> Json { return {{"error", std::move(kind)}}; }

auto answer_of(const Group& group, const Json& input) -> Json try {
  return group.answer(input);
} catch (const Refused& refused) {
  return error(refused.kind);
} catch (const Unsupported&) {
  return {{"unsupported", true}};
} catch (const Json::exception&) {  // a question that does not have the expected form
  return {{"unsupported", true}};
} catch (const std::system_error& failure) {
  return error(group.kind(failure.code()));
} catch (const std::exception&) {
  return error("INTERNAL");
}

}  // namespace

auto status_of(const std::error_code& code) -> std::string {
  using distrib::failure;
  if (code == failure::corrupt) return "DATA_LOSS";
  if (code == failure::not_found) return "NOT_FOUND";
  if (code == failure::unsupported) return "UNIMPLEMENTED";
  if (code == failure::exhausted) return "RESOURCE_EXHAUSTED";
  if (code == failure::invalid_argument || code == failure::mismatch) return "INVALID_ARGUMENT";
  return "INTERNAL";
}

auto exception_of(const std::error_code&) -> std::string { return "ValueError"; }

auto answer(const Json& question) -> Json {
  static const std::map<std::string_view, Group> groups = all_groups();
  if (!question.is_object() || !question.contains("group") || !question["group"].is_string())
    return error("INVALID_ARGUMENT");
  const auto found = groups.find(question["group"].get_ref<const std::string&>());
  if (found == groups.end()) return {{"unsupported", true}};
  return answer_of(found->second, question.contains("input") ? question["input"] : Json::object());
}

auto answer_line(std::string_view line) -> std::string {
  const Json question = Json::parse(line, nullptr, false);
  if (question.is_discarded() || !question.is_object() || !question.contains("id") || !question.contains("group"))
    return error("INVALID_ARGUMENT").dump();
  const Json reply{{"id", question["id"]}, {"output", answer(question)}};
  return reply.dump(-1, ' ', false, Json::error_handler_t::replace);
}

auto copy(distrib::ByteView bytes) -> Bytes { return {bytes.begin(), bytes.end()}; }

auto to_hex(distrib::ByteView bytes) -> std::string { return distrib::to_hex(bytes); }

auto from_hex(const Json& text) -> Bytes {
  const auto digit = [](char c) -> int {
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    throw Refused{"INVALID_ARGUMENT"};
  };
  const auto& digits = text.get_ref<const std::string&>();
  if (digits.size() % 2 != 0) throw Refused{"INVALID_ARGUMENT"};
  Bytes bytes;
  for (std::size_t i = 0; i < digits.size(); i += 2)
    bytes.push_back(static_cast<std::byte>(digit(digits[i]) * 16 + digit(digits[i + 1])));
  return bytes;
}

}  // namespace conformance
