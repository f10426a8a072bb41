// SPDX-License-Identifier: Apache-2.0
// Modules of LibTorch as models. Needs the component distrib::libtorch, so it is not part of ecosystem.hpp.
#pragma once

#include <distrib/libtorch/error.hpp>
#include <distrib/libtorch/load.hpp>
#include <distrib/libtorch/torch_model.hpp>
#include <distrib/libtorch/torch_options.hpp>
#include <distrib/libtorch/torch_rows.hpp>
#include <distrib/libtorch/torch_task.hpp>
#include <distrib/libtorch/torch_tensor.hpp>
