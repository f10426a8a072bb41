// SPDX-License-Identifier: Apache-2.0
// Training from topics of Kafka. Needs the component distrib::kafka, so it is not part of ecosystem.hpp.
#pragma once

#include <distrib/kafka/error.hpp>
#include <distrib/kafka/follow_topic.hpp>
#include <distrib/kafka/kafka_properties.hpp>
