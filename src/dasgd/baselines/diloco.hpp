/**
 * @file diloco.hpp
 *
 * Steps of one's own, and a step of all along their mean.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_BASELINES_DILOCO_HPP
#define DASGD_BASELINES_DILOCO_HPP

#include "local_sgd.hpp"

namespace dasgd {

/**
 * DiLoCo (Douillard et al., "DiLoCo: distributed low-communication training of
 * language models", 2023): each rank takes Period() steps of its own; the mean
 * of what they have changed is a gradient, along which all take a step of
 * OuterStepSize() with Nesterov's momentum, OuterMomentum().
 */
struct DilocoTraits
{
  static constexpr const char* Name() { return "DiLoCo"; }
  static constexpr Averaged averaged = Averaged::Models;

  class Options
  {
   public:
    //! Get after how many steps of each rank all take one (default 500).
    size_t Period() const { return period; }
    //! Modify after how many steps of each rank all take one.
    size_t& Period() { return period; }

    //! Get the size of the step of all (default 0.7).
    double OuterStepSize() const { return outer.size; }
    //! Modify the size of the step of all.
    double& OuterStepSize() { return outer.size; }

    //! Get the momentum of the step of all (default 0.9).
    double OuterMomentum() const { return outer.momentum; }
    //! Modify the momentum of the step of all.
    double& OuterMomentum() { return outer.momentum; }

   private:
    size_t period = 500;
    OuterStep outer{ 0.7, 0.9 };
  };

  static std::string Validate(const Options& options)
  {
    const double size = options.OuterStepSize();
    const double momentum = options.OuterMomentum();
    if (!(size > 0 && size < 1e300))
    {
      return "OuterStepSize() is " + std::to_string(size) + ", but must be a "
          "number above 0.";
    }
    if (!(momentum >= 0 && momentum < 1))
    {
      return "OuterMomentum() is " + std::to_string(momentum) + ", but must be "
          "at least 0 and less than 1.";
    }
    return ValidatePeriod(options.Period());
  }
  template<typename HandshakeType>
  static void Agree(const Options& options, HandshakeType& handshake)
  {
    handshake.Require("Period()", options.Period());
    handshake.Require("OuterStepSize()", options.OuterStepSize());
    handshake.Require("OuterMomentum()", options.OuterMomentum());
  }
  static size_t Period(const Options& options) { return options.Period(); }
  static OuterStep Outer(const Options& options)
  { return { options.OuterStepSize(), options.OuterMomentum() }; }
};

} // namespace dasgd

#endif
