// SPDX-License-Identifier: Apache-2.0
#include <distrib/net/pool_ahead.hpp>

#include "support/catch.hpp"

#include <atomic>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

using distrib::IoPool;
using distrib::PoolAhead;

namespace {

/// Squares numbers; throws for 13.
struct Square {
  struct Piece {
    int number = 0;
    int square = 0;
  };
  static constexpr bool is_waited_for = true;

  void operator()(Piece& piece, const std::atomic<bool>&) const {
    if (piece.number == 13) throw std::runtime_error{"13"};
    piece.square = piece.number * piece.number;
  }
};
static_assert(distrib::WorkAhead<Square>);

/// Returns the squares of 0 .. count - 1; as many as there are pieces are wanted ahead.
auto squares(PoolAhead<Square>& ahead, int count, bool helping) -> std::vector<int> {
  std::vector<int> all;
  std::size_t asked = 0;
  for (std::size_t taken = 0; taken < static_cast<std::size_t>(count); ++taken) {
    for (; asked < std::min(taken + ahead.size(), static_cast<std::size_t>(count)); ++asked) {
      ahead[asked % ahead.size()].number = static_cast<int>(asked);
      ahead.want_ahead(asked % ahead.size());
    }
    const std::size_t at = taken % ahead.size();
    all.push_back(helping ? ahead.finish_helping(at).square : ahead.finish(at).square);
  }
  return all;
}

/// Counters of pieces that record their thread, and wait until the test opens their gate.
struct Gates {
  std::atomic<int> begun = 0;
  std::atomic<int> made = 0;
  std::atomic<bool> saw_dropped = false;

  void wait_until_begun(int count) {
    for (int seen = begun; seen < count; seen = begun) begun.wait(seen);
  }
  void wait_until_made(int count) {
    for (int seen = made; seen < count; seen = made) made.wait(seen);
  }
};

template <bool Waited> struct Gated {
  struct Piece {
    std::atomic<bool>* open = nullptr;
    std::thread::id by = {};
  };
  static constexpr bool is_waited_for = Waited;

  void operator()(Piece& piece, const std::atomic<bool>& dropped) const {
    piece.by = std::this_thread::get_id();
    gates->begun.fetch_add(1);
    gates->begun.notify_all();
    if (piece.open != nullptr) piece.open->wait(false);
    if (dropped) gates->saw_dropped = true;
    gates->made.fetch_add(1);
    gates->made.notify_all();
  }

  std::shared_ptr<Gates> gates = std::make_shared<Gates>();
};

void open(std::atomic<bool>& gate) {
  gate = true;
  gate.notify_all();
}

}  // namespace

TEST_CASE("PoolAhead: the same results with any pool and any number of pieces", "[net]") {
  const std::vector<int> expected{0, 1, 4, 9, 16, 25, 36, 49, 64, 81};
  for (const bool helping : {false, true})
    for (const std::size_t pieces : {1U, 2U, 3U, 20U}) {
      CAPTURE(helping, pieces);
      PoolAhead<Square> alone{nullptr, pieces, Square{}};
      CHECK(squares(alone, 10, helping) == expected);
      for (const std::size_t threads : {1U, 3U}) {
        IoPool pool{threads};
        PoolAhead<Square> ahead{&pool, pieces, Square{}};
        CHECK(ahead.size() == pieces);
        CHECK(squares(ahead, 10, helping) == expected);
      }
    }
}

TEST_CASE("PoolAhead: a stopped pool, or the caller's own pool, does not change the results", "[net]") {
  for (const bool helping : {false, true}) {
    IoPool stopped{1};
    stopped.stop();
    PoolAhead<Square> ahead{&stopped, 4, Square{}};
    CHECK(squares(ahead, 10, helping).back() == 81);
    IoPool own{1};
    int last = 0;
    asio::post(own.executor(), [&] {
      PoolAhead<Square> of_own{&own, 4, Square{}};
      last = squares(of_own, 10, helping).back();
    });
    own.join();
    CHECK(last == 81);
  }
}

TEST_CASE("PoolAhead: finish throws the exception of the work until the piece is wanted again", "[net]") {
  IoPool pool{2};
  for (IoPool* with : {static_cast<IoPool*>(nullptr), &pool}) {
    PoolAhead<Square> ahead{with, 2, Square{}};
    ahead[0].number = 13;
    ahead[1].number = 3;
    ahead.want_ahead(0);
    ahead.want_ahead(1);
    CHECK_THROWS_WITH(ahead.finish(0), "13");
    CHECK_THROWS_WITH(ahead.finish_helping(0), "13");
    CHECK(ahead.finish(1).square == 9);
    ahead[0].number = 4;
    ahead.want(0);
    CHECK(ahead.finish(0).square == 16);
  }
}

TEST_CASE("PoolAhead: the pool makes only pieces of want_ahead; the caller makes pieces not begun", "[net]") {
  IoPool pool{1};
  const Gated<true> work;
  Gates& gates = *work.gates;
  std::atomic<bool> gate = false;
  PoolAhead<Gated<true>> ahead{&pool, 3, work};
  ahead[0].open = &gate;
  ahead.want_ahead(0);
  gates.wait_until_begun(1);  // the only thread of the pool is busy with piece 0
  ahead.want(1);
  ahead.want_ahead(2);
  CHECK(ahead.finish(2).by == std::this_thread::get_id());
  CHECK(ahead.finish(1).by == std::this_thread::get_id());
  open(gate);
  CHECK(ahead.finish(0).by != std::this_thread::get_id());
  CHECK(gates.made == 3);
}

TEST_CASE("PoolAhead: finish_helping makes other pieces while the pool makes the wanted one", "[net]") {
  IoPool pool{1};
  const Gated<true> work;
  Gates& gates = *work.gates;
  std::atomic<bool> gate = false;
  PoolAhead<Gated<true>> ahead{&pool, 3, work};
  ahead[1].open = &gate;
  ahead.want_ahead(1);
  gates.wait_until_begun(1);
  ahead.want_ahead(0);
  ahead.want_ahead(2);
  std::thread opener{[&] {
    gates.wait_until_made(2);  // both other pieces, which only the caller can make
    open(gate);
  }};
  CHECK(ahead.finish_helping(1).by != std::this_thread::get_id());
  CHECK(ahead[0].by == std::this_thread::get_id());
  CHECK(ahead[2].by == std::this_thread::get_id());
  opener.join();
}

TEST_CASE("PoolAhead: drop waits for pieces that are being made; others are not begun", "[net]") {
  IoPool pool{1};
  const Gated<true> work;
  Gates& gates = *work.gates;
  std::atomic<bool> gate = false;
  std::thread opener;
  {
    PoolAhead<Gated<true>> ahead{&pool, 3, work};
    ahead[0].open = &gate;
    for (std::size_t i = 0; i < 3; ++i) ahead.want_ahead(i);
    gates.wait_until_begun(1);
    opener = std::thread{[&] { open(gate); }};
    ahead.drop();
    CHECK(gates.made == 1);
    ahead.want(1);  // the ring can still be used
    CHECK(ahead.finish(1).by == std::this_thread::get_id());
    gate = false;
    ahead.want_ahead(0);
    gates.wait_until_begun(3);
    opener.join();
    opener = std::thread{[&] { open(gate); }};
  }
  CHECK(gates.made == 3);
  opener.join();
  pool.join();
  CHECK(gates.made == 3);  // piece 2 was never made
}

TEST_CASE("PoolAhead: without is_waited_for the destructor does not wait, and the work sees dropped", "[net]") {
  IoPool pool{1};
  const Gated<false> work;
  Gates& gates = *work.gates;
  std::atomic<bool> gate = false;
  {
    PoolAhead<Gated<false>> ahead{&pool, 2, work};
    ahead[0].open = &gate;
    ahead.want_ahead(0);
    ahead.want_ahead(1);
    gates.wait_until_begun(1);
  }
  CHECK(gates.made == 0);  // the destructor did not wait
  open(gate);
  pool.join();
  CHECK(gates.saw_dropped);
  CHECK(gates.made == 1);
}

TEST_CASE("PoolAhead: after a move the pieces have the same addresses", "[net]") {
  IoPool pool{2};
  PoolAhead<Square> first{&pool, 2, Square{}};
  first[0].number = 5;
  first[1].number = 6;
  first.want_ahead(0);
  first.want_ahead(1);
  const Square::Piece* const piece = &first[0];
  PoolAhead<Square> second{std::move(first)};
  CHECK(first.size() == 0);  // NOLINT: no pieces are left
  CHECK(&second.finish(0) == piece);
  PoolAhead<Square> third;
  CHECK(third.size() == 0);
  third = std::move(second);
  CHECK(third.finish(1).square == 36);
}
