// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/ps/cut/object_action.hpp>

#include <coroutine>
#include <exception>
#include <optional>
#include <utility>
#include <vector>

namespace distrib {
inline namespace v0 {
namespace detail {

/// Where a sequence of requests stands: the calls that are under way, the innermost last, and the request that it waits
/// for. It must outlive the sequence, and stay where it is.
struct ObjectDialogue {
  std::vector<std::coroutine_handle<>> calls;
  std::optional<ObjectAction> asked;
  ObjectAnswer answer;

  /// Goes on until a request is asked for, or all calls have returned.
  void run() {
    while (!asked && !calls.empty()) {
      const std::coroutine_handle<> call = calls.back();
      call.resume();
      if (call.done()) calls.pop_back();
    }
  }
};

/// `co_await ObjectRequest{action}` in an `ObjectSteps` returns the answer.
struct ObjectRequest {
  ObjectAction action;
  ObjectDialogue* dialogue = nullptr;

  [[nodiscard]] auto await_ready() const noexcept -> bool { return false; }
  template <class Promise> void await_suspend(std::coroutine_handle<Promise> call) {
    dialogue = call.promise().dialogue;
    dialogue->asked = std::move(action);
  }
  auto await_resume() -> ObjectAnswer { return std::exchange(dialogue->answer, {}); }
};

/// A function that asks an object store one request after the other, as a coroutine that knows no thread and no store.
/// It begins when it is awaited, or by `start`. Its frame and those of the calls in it end with it.
template <class T> class ObjectSteps {
 public:
  struct promise_type {
    ObjectDialogue* dialogue = nullptr;
    std::optional<T> value;
    std::exception_ptr thrown;

    auto get_return_object() -> ObjectSteps {
      return ObjectSteps{std::coroutine_handle<promise_type>::from_promise(*this)};
    }
    auto initial_suspend() noexcept -> std::suspend_always { return {}; }
    auto final_suspend() noexcept -> std::suspend_always { return {}; }
    void return_value(T result) { value = std::move(result); }
    void unhandled_exception() { thrown = std::current_exception(); }
  };

  ObjectSteps() = default;
  ObjectSteps(ObjectSteps&& other) noexcept : call_{std::exchange(other.call_, {})} {}
  auto operator=(ObjectSteps&& other) noexcept -> ObjectSteps& {
    std::swap(call_, other.call_);
    return *this;
  }
  ~ObjectSteps() {
    if (call_) call_.destroy();
  }

  /// Makes it the outermost call of `dialogue`, which `run` then performs.
  void start(ObjectDialogue& dialogue) {
    call_.promise().dialogue = &dialogue;
    dialogue.calls.push_back(call_);
  }
  /// Returns what it returned, or throws what it threw. Only once, and only when all calls have returned.
  auto result() -> T {
    if (call_.promise().thrown) std::rethrow_exception(call_.promise().thrown);
    return std::move(*call_.promise().value);
  }

  [[nodiscard]] auto await_ready() const noexcept -> bool { return false; }
  template <class Promise> void await_suspend(std::coroutine_handle<Promise> caller) {
    start(*caller.promise().dialogue);
  }
  auto await_resume() -> T { return result(); }

 private:
  explicit ObjectSteps(std::coroutine_handle<promise_type> call) : call_{call} {}

  std::coroutine_handle<promise_type> call_;
};

}  // namespace detail
}  // namespace v0
}  // namespace distrib
