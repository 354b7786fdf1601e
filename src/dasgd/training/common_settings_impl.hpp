/**
 * @file common_settings_impl.hpp
 *
 * Implementation of the attributes that all optimizers have.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_TRAINING_COMMON_SETTINGS_IMPL_HPP
#define DASGD_TRAINING_COMMON_SETTINGS_IMPL_HPP

// In case it hasn't been included yet.
#include "common_settings.hpp"

#include <cmath>
#include <sstream>

namespace dasgd {

DASGD_INLINE std::string CommonSettings::Validate(
    const bool plain,
    const std::string& policy) const
{
  const auto number = [](const double value)
  {
    std::ostringstream text;
    text << value;
    return text.str();
  };
  if (!UsesAutoStep() && !(std::isfinite(stepSize) && stepSize >= 0))
  {
    return "StepSize() is " + number(stepSize) + ", but must be a finite "
        "number of at least 0, or AutoStep.";
  }
  if (UsesAutoStep() &&
      !plain)
  {
    return "StepSize() is AutoStep, which knows plain steps only, but the "
        "update policy is " + policy + "; give a "
        "number.";
  }
  if (!(std::isfinite(smoothness) && smoothness >= 0))
  {
    return "Smoothness() is " + number(smoothness) + ", but must be a finite "
        "number above 0, or 0 if it is not known.";
  }
  if (!(exchangeShare > 0 && exchangeShare <= 1))
  {
    return "ExchangeShare() is " + number(exchangeShare) + ", but must be "
        "positive and at most 1; with 1, no frame waits.";
  }
  const auto chosen = [](const double value)
  { return value == Automatic || (std::isfinite(value) && value >= 0); };
  if (!chosen(stalenessDamping))
  {
    return "StalenessDamping() is " + number(stalenessDamping) + ", but must "
        "be a finite number above 0, 0 to leave steps as they are, or "
        "Automatic.";
  }
  if (!chosen(lookAhead))
  {
    return "LookAhead() is " + number(lookAhead) + ", but must be a finite "
        "number above 0, 0 for the plain update policy, or Automatic.";
  }
  if (window > 4096)
  {
    return "Window() is " + std::to_string(window) + ", but must be from 1 "
        "to 4096, or 0 to have it chosen.";
  }
  if (batchSize == 0)
    return "BatchSize() is 0, but must be at least 1.";
  if (!(checkpointEvery >= 0))
  {
    return "CheckpointEvery() is " + number(checkpointEvery) + ", but must "
        "be at least 0 seconds.";
  }
  return format.Validate();
}

} // namespace dasgd

#endif
