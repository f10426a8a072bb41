// SPDX-License-Identifier: Apache-2.0
// A linear model whose variables are read from a text when the program runs, trained with two groups of variables.
#include <distrib/data/tfrecords.hpp>
#include <distrib/example/example_writer.hpp>
#include <distrib/optimizer/momentum.hpp>
#include <distrib/record/record_writer.hpp>
#include <distrib/train/builder.hpp>

#include <array>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

struct Linear {
  using Variables = distrib::RuntimeVariables;
  struct Example {
    std::array<float, 3> x;
    float y;
  };
  Variables list;

  auto variables() const -> Variables { return list; }

  // A group of columns for each variable but the last, which is the bias.
  auto gradients(const distrib::Batch<Example>& batch, const distrib::Values<Variables>& values,
                 distrib::Gradients<Variables>& gradients, distrib::StepContext) const -> float {
    const float share = 1 / static_cast<float>(batch.size());
    float loss = 0;
    for (std::size_t i = 0; i < batch.size(); ++i) {
      const auto [x, y] = batch[i];
      float error = get(values, "bias")() - y;
      std::size_t column = 0;
      for (std::size_t v = 0; v + 1 < values.size(); ++v)
        for (const float weight : get(values, list.infos()[v].name)) error += weight * x[column++];
      column = 0;
      for (std::size_t v = 0; v + 1 < values.size(); ++v)
        for (float& weight : get(gradients, list.infos()[v].name)) weight += 2 * error * x[column++] * share;
      get(gradients, "bias")() += 2 * error * share;
      loss += error * error * share;
    }
    return loss;
  }
};

auto read_variables(const std::string& text) -> distrib::RuntimeVariables {
  std::vector<distrib::VariableInfo> list;
  std::istringstream words{text};
  std::string name;
  for (std::int64_t columns = 0; words >> name >> columns;)
    list.push_back(distrib::runtime_variable(name, std::array{columns}));
  list.push_back(distrib::runtime_variable("bias", {}));
  return distrib::RuntimeVariables{std::move(list)};
}

constexpr auto x = distrib::feature("x", &Linear::Example::x);
constexpr auto y = distrib::feature("y", &Linear::Example::y);

auto main() -> int try {
  const std::string file = "29_run_time_variables.tfrecord";
  distrib::ExampleWriter example{distrib::schema<Linear::Example>(x, y)};
  distrib::RecordWriter writer{file};
  distrib::Philox random{7, 0, 0};
  const auto number = [&random] { return 2 * distrib::uniform01(random()) - 1; };
  for (int i = 0; i < 1000; ++i) {
    const std::array at{number(), number(), number()};
    writer.append(example.write({at, 2 * at[0] - 3 * at[1] + 0.5F * at[2] + 1}));
  }
  writer.close();

  const Linear model{read_variables("size 2 age 1")};
  for (const distrib::VariableInfo& variable : model.list.infos())
    std::printf("%s %s\n", variable.name.c_str(), to_string(variable.shape).c_str());
  const distrib::Momentum fast{.learning_rate = 0.05F, .momentum = 0.9F}, slow{.learning_rate = 0.02F};
  auto builder = distrib::train(model)
                     .with_data(distrib::tfrecords(file).schema(x, y).shuffle(1).batch(32))
                     .with_updater(fast)
                     .with_updater([](auto& variable) { return variable.shape.rank() == 0; }, slow)
                     .with_hooks(distrib::StopAtStep{300});
  auto trainer = builder.build();
  const int code = trainer.run();
  std::printf("loss %.3f\n", double{trainer.result().loss});
  try {
    static_cast<void>(builder.with_updater("sizes", slow).build());
  } catch (const std::exception& error) {
    std::printf("%s\n", error.what());
  }
  std::filesystem::remove(file);
  return code;
} catch (const std::exception& error) {
  std::fprintf(stderr, "error: %s\n", error.what());
  return 1;
}
