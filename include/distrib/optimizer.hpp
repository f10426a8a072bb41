// SPDX-License-Identifier: Apache-2.0
// Update rules and schedules.
#pragma once

#include <distrib/optimizer/adagrad.hpp>
#include <distrib/optimizer/adam.hpp>
#include <distrib/optimizer/adamw.hpp>
#include <distrib/optimizer/amsgrad.hpp>
#include <distrib/optimizer/any_updater.hpp>
#include <distrib/optimizer/centered_rmsprop.hpp>
#include <distrib/optimizer/error.hpp>
#include <distrib/optimizer/ftrl.hpp>
#include <distrib/optimizer/gradient_clipping.hpp>
#include <distrib/optimizer/hyper_parameters.hpp>
#include <distrib/optimizer/lazy_adam.hpp>
#include <distrib/optimizer/learning_rate.hpp>
#include <distrib/optimizer/momentum.hpp>
#include <distrib/optimizer/moving_average.hpp>
#include <distrib/optimizer/rmsprop.hpp>
#include <distrib/optimizer/sgd.hpp>
#include <distrib/optimizer/torch_adagrad.hpp>
#include <distrib/optimizer/torch_adam.hpp>
#include <distrib/optimizer/torch_rmsprop.hpp>
#include <distrib/optimizer/updater.hpp>
#include <distrib/optimizer/updater_list.hpp>
