/**
 * @file local_sgd.hpp
 *
 * Steps of one's own, and the mean of all models from time to time.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_BASELINES_LOCAL_SGD_HPP
#define DASGD_BASELINES_LOCAL_SGD_HPP

#include "../algorithms/round_worker.hpp"

#include <cstddef>
#include <string>

namespace dasgd {

//! Is a period one that there can be?
inline std::string ValidatePeriod(const size_t period)
{
  return (period >= 1 && period <= 65536) ? "" : "Period() is " +
      std::to_string(period) + ", but must be from 1 to 65536.";
}

/**
 * Local SGD (Stich, "Local SGD converges fast and communicates little", 2019):
 * each rank takes Period() steps of its own, then all models become their mean.
 */
struct LocalTraits
{
  static constexpr const char* Name() { return "LocalSGD"; }
  static constexpr Averaged averaged = Averaged::Models;

  class Options
  {
   public:
    //! Get after how many steps models are averaged (default 8).
    size_t Period() const { return period; }
    //! Modify after how many steps models are averaged.
    size_t& Period() { return period; }

   private:
    size_t period = 8;
  };

  static std::string Validate(const Options& options)
  { return ValidatePeriod(options.Period()); }
  template<typename HandshakeType>
  static void Agree(const Options& options, HandshakeType& handshake)
  { handshake.Require("Period()", options.Period()); }
  static size_t Period(const Options& options) { return options.Period(); }
  static OuterStep Outer(const Options&) { return OuterStep(); }
};

} // namespace dasgd

#endif
