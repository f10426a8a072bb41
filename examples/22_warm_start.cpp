// SPDX-License-Identifier: Apache-2.0
// A training that starts from the values of another training, whose checkpoint has other names for them.
#include <distrib/checkpoint/save.hpp>
#include <distrib/data/tfrecords.hpp>
#include <distrib/example/example_writer.hpp>
#include <distrib/record/record_writer.hpp>
#include <distrib/train/builder.hpp>

#include <array>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

struct Scales {
  using Variables =
      distrib::VariableList<distrib::Variable<"weights", float, 1>, distrib::Variable<"wide/bias", float, 0>,
                            distrib::Variable<"head/bias", float, 0>>;
  struct Example {
    float x;
  };
  auto variables() const -> Variables { return {{{3}}, {{}}, {{}, distrib::ConstantInitializer{0.5F}}}; }

  // Prints the values that it starts from, and changes nothing.
  auto gradients(const distrib::Batch<Example>&, const distrib::Values<Variables>& values,
                 distrib::Gradients<Variables>&, distrib::StepContext) const -> float {
    const auto weights = distrib::get<"weights">(values);
    std::printf("weights %.1f %.1f %.1f, wide/bias %.1f, head/bias %.1f\n", double{weights(0)}, double{weights(1)},
                double{weights(2)}, double{distrib::get<"wide/bias">(values)()},
                double{distrib::get<"head/bias">(values)()});
    return 0;
  }
};

constexpr auto x = distrib::feature("x", &Scales::Example::x);

// Saves a checkpoint in which the parts of a variable are tensors of their own, not slices of one tensor.
void save_before() {
  const std::array<float, 4> numbers{1, 2, 3, 4};
  const auto bytes = std::as_bytes(std::span{numbers});
  const auto tensor = [](std::string name, const distrib::Shape& shape, std::span<const std::byte> of) {
    return distrib::BundlePart::TensorPiece{std::move(name), distrib::DType::float32, shape,
                                            distrib::Slice::whole(shape), of};
  };
  const std::vector<distrib::BundlePart> parts{
      {{tensor("weights/part_0", {2}, bytes.first(8)), tensor("weights/part_1", {1}, bytes.subspan(8, 4)),
        tensor("linear/bias", {}, bytes.last(4))},
       {}}};
  distrib::save_checkpoint("22_warm_start.out", "before", parts);
}

auto main() -> int try {
  save_before();
  distrib::RecordWriter writer{"22_warm_start.out/x.tfrecord"};
  writer.append(distrib::ExampleWriter{distrib::schema<Scales::Example>(x)}.write({1}));
  writer.close();
  const std::string before = "22_warm_start.out/before";
  const auto scales = distrib::train(Scales{})
                          .with_data(distrib::tfrecords("22_warm_start.out/x.tfrecord").schema(x).batch(1))
                          .with_hooks(distrib::StopAtStep{1});
  try {
    return scales.with_initial_checkpoint(before).build().run();
  } catch (const std::system_error& error) {
    const std::string text = error.what();
    std::printf("%s\n", text.substr(text.find("before: ")).c_str());
  }
  const auto warm = scales.with_initial_checkpoint(
      before, {.allow_missing = true, .names = {{"weights/part_*", "weights"}, {"linear/", "wide/"}}});
  const int code = warm.build().run();
  std::filesystem::remove_all("22_warm_start.out");
  return code;
} catch (const std::exception& error) {
  std::fprintf(stderr, "error: %s\n", error.what());
  return 1;
}
