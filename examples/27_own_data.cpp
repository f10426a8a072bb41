// SPDX-License-Identifier: Apache-2.0
// Data that are in memory already: a type of your own gives a trainer its batches from a vector. No file is written.
#include <distrib/core/sha256.hpp>
#include <distrib/data/batch_source.hpp>
#include <distrib/data/order/elements.hpp>
#include <distrib/example/example_parser.hpp>
#include <distrib/example/example_writer.hpp>
#include <distrib/train/builder.hpp>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

struct Point {
  float x, y;
};
constexpr auto point_schema =
    distrib::schema<Point>(distrib::feature("x", &Point::x), distrib::feature("y", &Point::y));

// Dataset and BatchSource in one type, because there is nothing to open. Copies share the points.
class Points {
 public:
  using ExampleType = Point;

  // `points` must not be empty.
  Points(std::vector<Point> points, std::uint64_t batch_size, std::uint64_t seed)
      : points_{std::make_shared<const std::vector<Point>>(std::move(points))},
        batch_size_{batch_size},
        order_{distrib::elements(points_->size()).shuffle(seed).repeat().open()} {}

  auto open() const -> Points { return *this; }

  // For training: any batch by its number, shuffled anew in each epoch, without end.
  void fill(std::uint64_t number, distrib::Batch<Point>& batch) const {
    Order order = order_;  // a copy, because an order may be used by one thread only
    const std::uint64_t first = number * batch_size_;
    put(batch_size_, [&](std::uint64_t i) { return order.at(0, first + i); }, batch);
  }
  auto batch_size() const -> std::uint64_t { return batch_size_; }
  auto batches() const -> std::optional<std::uint64_t> { return std::nullopt; }

  // For evaluation: each point once.
  void fill_in_order(std::uint64_t number, distrib::Batch<Point>& batch) const {
    const std::uint64_t first = number * batch_size_;
    put(std::min(batch_size_, records() - first), [first](std::uint64_t i) { return first + i; }, batch);
  }
  auto in_order_batches() const -> std::uint64_t { return (records() + batch_size_ - 1) / batch_size_; }
  auto records() const -> std::uint64_t { return points_->size(); }

  // A part of the job's text: a worker with other points is refused. The hash is that of the records, because the bytes
  // of equal structs may differ: their padding, and pointers in them.
  auto describe() const -> std::string {
    distrib::ExampleWriter writer{point_schema};
    distrib::Sha256 hash;
    for (const Point& point : *points_) hash.update(writer.write(point));
    return "points " + std::to_string(records()) + " batch " + std::to_string(batch_size_) + order_.describe() +
           " sha256 " + distrib::to_hex(hash.finish());
  }

 private:
  using Order = decltype(distrib::elements(0).shuffle(0).repeat().open());

  // A batch is filled through a schema, so each point becomes a record for a moment.
  void put(std::uint64_t count, auto index_of, distrib::Batch<Point>& batch) const {
    distrib::ExampleWriter writer{point_schema};
    distrib::ExampleParser parser{point_schema, batch, count};
    distrib::Error error;
    for (std::uint64_t i = 0; i < count; ++i) parser.add(writer.write((*points_)[index_of(i)]), error);
    distrib::throw_if(error);
    parser.finish();
  }

  std::shared_ptr<const std::vector<Point>> points_;
  std::uint64_t batch_size_;
  Order order_;
};

struct Line {  // y = slope * x
  using Variables = distrib::VariableList<distrib::Variable<"slope", float, 0>>;
  using Example = Point;
  auto variables() const -> Variables { return {{{}}}; }

  auto gradients(const distrib::Batch<Point>& batch, const distrib::Values<Variables>& values,
                 distrib::Gradients<Variables>& gradients, distrib::StepContext) const -> float {
    const float share = 1 / static_cast<float>(batch.size());
    float loss = 0;
    for (std::size_t i = 0; i < batch.size(); ++i) {
      const auto [x, y] = batch[i];
      const float error = distrib::get<"slope">(values)() * x - y;
      distrib::get<"slope">(gradients)() += 2 * error * x * share;
      loss += error * error * share;
    }
    return loss;
  }
  auto evaluate(const distrib::Batch<Point>& batch, const distrib::Values<Variables>& values) const
      -> distrib::Metrics {
    distrib::Gradients<Variables> unused{variables()};
    return {batch.size(), {{"loss", gradients(batch, values, unused, {})}}};
  }
};

auto main() -> int try {
  std::vector<Point> points;
  for (float x = -1; x < 1; x += 1.0F / 64) points.push_back({x, 2 * x});
  const Points data{points, 24, 7};
  auto trainer = distrib::train(Line{})
                     .with_data(data)
                     .with_updater(distrib::Sgd{.learning_rate = 0.2F})
                     .with_hooks(distrib::StopAtStep{100}, distrib::Evaluate{data})
                     .with_local_mode({.workers = 2})
                     .build();
  const int code = trainer.run();
  const distrib::Metrics& measured = trainer.result().metrics;
  std::printf("loss of %d points: %.3f\n", static_cast<int>(measured.examples), measured.find("loss").value());
  return code == 0 && measured.examples == points.size() && measured.find("loss") < 1e-4 ? 0 : 1;
} catch (const std::exception& error) {
  std::fprintf(stderr, "error: %s\n", error.what());
  return 1;
}
