// SPDX-License-Identifier: Apache-2.0
// Policies of your own: an updater (Signum), a placement, a hook. Each is a value with the members that its concept
// needs.
#include <distrib/ecosystem.hpp>

#include <array>
#include <cmath>
#include <cstdio>
#include <exception>
#include <span>
#include <string>

// m = momentum * m + (1 - momentum) * g, then w -= learning_rate * sign(m): every weight moves by the same distance.
struct Signum {
  static constexpr std::string_view name = "signum";

  distrib::LearningRate learning_rate = 0.1F;
  float momentum = 0.5F;

  auto slots() const -> std::array<distrib::Slot, 1> { return {{{.name = "Signum"}}}; }
  static void fields(auto& self, auto& field) {
    field("learning_rate", self.learning_rate);
    field("momentum", self.momentum);
  }
  auto describe() const -> std::string { return distrib::describe_fields(*this); }
  static auto parse(std::string_view text) -> std::optional<Signum> { return distrib::parse_fields<Signum>(text); }
  auto operator==(const Signum&) const -> bool = default;
  void apply(distrib::UpdateStep step, std::span<const float> gradient, std::span<const float> from,
             std::span<float> to, std::span<const std::span<float>> slot_blocks) const {
    const std::span<float> mean = slot_blocks[0];  // the only one of slots()
    for (std::size_t i = 0; i < to.size(); ++i) {
      mean[i] = momentum * mean[i] + (1 - momentum) * gradient[i];
      to[i] = from[i] - std::copysign(learning_rate.at(step.count), mean[i]);
    }
  }
};

struct LastTaskStrategy {
  auto place(const distrib::PlacementRequest&, std::uint32_t num_tasks) -> std::uint32_t { return num_tasks - 1; }
};

// Prints the loss at every `steps`-th step, or at the next step that has an event: in a cluster some have none.
struct PrintEach {
  distrib::Step steps = 1;
  distrib::Step next = 0;  // the step to print
  void on_start(const distrib::JobStart& start) { wait_from(start.first_step); }  // not 0 if the job continues
  void on_step(const distrib::StepDone& done) {
    if (done.step < next) return;
    std::printf("step %d: loss %.4f\n", static_cast<int>(done.step), double{done.loss});
    wait_from(done.step);
  }
  void wait_from(distrib::Step step) { next = step - step % steps + steps; }
};

// The model: one number, which moves to the mean of the data.
struct Middle {
  using Variables = distrib::VariableList<distrib::Variable<"middle", float, 0>>;
  struct Example {
    float x;
  };
  auto variables() const -> Variables { return {{{}}}; }
  auto gradients(const distrib::Batch<Example>& batch, const distrib::Values<Variables>& values,
                 distrib::Gradients<Variables>& gradients, distrib::StepContext) const -> float {
    float loss = 0;
    for (const float x : batch.column(&Example::x)) {
      const float error = distrib::get<"middle">(values)() - x;
      distrib::get<"middle">(gradients)() += error / static_cast<float>(batch.size());
      loss += error * error / 2 / static_cast<float>(batch.size());
    }
    return loss;
  }
};

auto main() -> int try {
  const std::string file = "10_own_policies.tfrecord";
  const auto schema = distrib::schema<Middle::Example>(distrib::feature("x", &Middle::Example::x));
  distrib::RecordWriter writer{file};
  for (const float x : {1.0F, 2.0F, 4.0F, 5.0F}) writer.append(distrib::ExampleWriter{schema}.write({x}));
  writer.close();

  auto trainer = distrib::train(Middle{})
                     .with_data(distrib::tfrecords(file).schema(schema).batch(4))
                     .with_updater(Signum{.learning_rate = distrib::Linear{0.5F, 0.0F, 40}})
                     .with_placement(LastTaskStrategy{})
                     .with_hooks(distrib::StopAtStep{40}, PrintEach{10})
                     .build();
  const int code = trainer.run();
  std::remove(file.c_str());
  return code == 0 && std::abs(trainer.result().loss - 1.25F) < 0.001F ? 0 : 1;  // half of the variance remains
} catch (const std::exception& error) {
  std::fprintf(stderr, "error: %s\n", error.what());
  return 1;
}
