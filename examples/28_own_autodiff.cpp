// SPDX-License-Identifier: Apache-2.0
// Gradients from automatic differentiation of one's own, here a tape. All that a trainer asks of a model is that
// derivatives are added to memory that it gives. The variables follow from the sizes of the layers, which only run time
// knows.
#include <distrib/core/runtime_variables.hpp>
#include <distrib/data/tfrecords.hpp>
#include <distrib/example/example_writer.hpp>
#include <distrib/optimizer/adam.hpp>
#include <distrib/record/record_writer.hpp>
#include <distrib/train/builder.hpp>

#include <array>
#include <cmath>
#include <cstdio>
#include <string>
#include <vector>

// Records a computation. A number is its position on the tape; number 0 is 0.
struct Tape {
  struct Entry {
    float value = 0;
    std::array<std::size_t, 2> of = {};  // the numbers that it was computed from
    std::array<float, 2> slopes = {};  // its derivatives by them
    float* gradient = nullptr;  // where the derivative of the result by it is added
  };
  std::vector<Entry> entries{1};
  auto add(Entry entry) -> std::size_t { return entries.push_back(entry), entries.size() - 1; }
  auto operator[](std::size_t a) const -> float { return entries[a].value; }
  auto sum(std::size_t a, std::size_t b) -> std::size_t { return add({(*this)[a] + (*this)[b], {a, b}, {1, 1}}); }
  auto product(std::size_t a, std::size_t b) -> std::size_t {
    return add({(*this)[a] * (*this)[b], {a, b}, {(*this)[b], (*this)[a]}});
  }
  auto tanh(std::size_t a) -> std::size_t {
    const float t = std::tanh((*this)[a]);
    return add({t, {a}, {1 - t * t}});
  }
  void backward(std::size_t result) const {
    std::vector<float> slopes(entries.size());
    slopes[result] = 1;
    for (std::size_t i = result; i > 0; --i) {
      for (std::size_t side = 0; side < 2; ++side) slopes[entries[i].of[side]] += slopes[i] * entries[i].slopes[side];
      if (entries[i].gradient != nullptr) *entries[i].gradient += slopes[i];
    }
  }
};

// y = the sum of a * tanh(b * x + c) over `terms` terms.
struct Curve {
  using Variables = distrib::RuntimeVariables;
  struct Example {
    float x, y;
  };
  std::int64_t terms;
  auto variables() const -> Variables {
    std::vector<distrib::VariableInfo> list;
    for (const char* name : {"a", "b", "c"})
      list.push_back({name, distrib::DType::float32, {terms}, distrib::UniformInitializer{-2, 2}});
    return Variables{list};
  }

  auto gradients(const distrib::Batch<Example>& batch, const distrib::Values<Variables>& values,
                 distrib::Gradients<Variables>& gradients, distrib::StepContext) const -> float {
    Tape tape;
    const auto count = static_cast<std::size_t>(terms);
    for (std::size_t v = 0; v < values.size(); ++v)
      for (std::size_t i = 0; i < count; ++i)
        tape.add({.value = reinterpret_cast<const float*>(values.data(v))[i],
                  .gradient = reinterpret_cast<float*>(gradients.data(v)) + i});
    std::size_t loss = 0;
    for (std::size_t r = 0; r < batch.size(); ++r) {
      const std::size_t x = tape.add({batch[r].x});
      std::size_t error = tape.add({-batch[r].y});
      for (std::size_t a = 1, b = a + count, c = b + count; a <= count; ++a, ++b, ++c)
        error = tape.sum(error, tape.product(a, tape.tanh(tape.sum(tape.product(b, x), c))));
      loss = tape.sum(loss, tape.product(error, error));
    }
    loss = tape.product(loss, tape.add({1 / static_cast<float>(batch.size())}));
    tape.backward(loss);
    return tape[loss];
  }
};

constexpr auto x = distrib::feature("x", &Curve::Example::x);
constexpr auto y = distrib::feature("y", &Curve::Example::y);

auto main() -> int {
  distrib::ExampleWriter example{distrib::schema<Curve::Example>(x, y)};
  distrib::RecordWriter writer{"28_own_autodiff.tfrecord"};
  for (float at = -3; at < 3; at += 0.01F) writer.append(example.write({at, std::sin(at)}));
  writer.close();
  auto trainer = distrib::train(Curve{.terms = 6})
                     .with_data(distrib::tfrecords("28_own_autodiff.tfrecord").schema(x, y).shuffle(1).batch(50))
                     .with_updater(distrib::Adam{.learning_rate = 0.02F})
                     .with_hooks(distrib::StopAtStep{1500})
                     .with_local_mode({.workers = 2})
                     .build();
  const bool found = trainer.run() == 0 && trainer.result().loss < 0.001F;
  std::remove("28_own_autodiff.tfrecord");
  std::printf("mean square error: %s\n", found ? "below 0.001" : "too large");
}
