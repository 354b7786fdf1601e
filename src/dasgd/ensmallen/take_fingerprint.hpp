/**
 * @file take_fingerprint.hpp
 *
 * Asks a separable function a few questions whose answers tell its data from
 * other data.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_ENSMALLEN_TAKE_FINGERPRINT_HPP
#define DASGD_ENSMALLEN_TAKE_FINGERPRINT_HPP

#include "../core/fingerprint.hpp"
#include "../core/random.hpp"
#include "layer_statistics.hpp"

#include <cstring>
#include <limits>
#include <utility>

namespace dasgd {

/**
 * Evaluate the function on a few points.  The function's own exceptions do not
 * come out: it then has no fingerprint, and will throw in the training as well.
 *
 * @param function The function; Evaluate() of a few points is called up to five
 *     times.
 * @param iterate The starting point, which is not changed.
 * @param here Memory for another point, of the same shape.
 * @param batchSize Points that the training evaluates at a time.
 */
template<typename FunctionType, typename MatType>
Fingerprint TakeFingerprint(FunctionType& function,
                            const MatType& iterate,
                            MatType& here,
                            const size_t batchSize)
{
  using ElemType = typename MatType::elem_type;
  Fingerprint print;
  print.tolerance = std::sqrt(double(std::numeric_limits<ElemType>::epsilon()));
  try
  {
    const size_t points = function.NumFunctions();
    const size_t count = std::min({ points, batchSize, size_t(8) });
    // BatchNorm would learn from what is evaluated here.
    if (count == 0 || (!statistics::HasMode<FunctionType>::value &&
        statistics::Exist(function)))
      return print;
    const statistics::Tested<FunctionType> tested(function);
    // Not where the training starts: at zero, a usual start, the loss of a
    // linear model is the same for all data.
    const auto evaluate = [&](const size_t begin)
    { return double(function.Evaluate(std::as_const(here), begin, count)); };
    const auto evaluateAt = [&](const std::uint64_t seed)
    {
      Random random(seed);
      for (ElemType& value : here)
        value = ElemType(random.Uniform(-1e-3, 1e-3));
      return evaluate(0);
    };
    const double elsewhere = evaluateAt(2);
    const double first = evaluateAt(1);
    print.known = (evaluate(0) == first);
    print.objectives.fill(first);
    for (size_t i = 1; i < Fingerprint::Places && elsewhere != first; ++i)
    {
      print.objectives[i] = evaluate(i * (points - count) /
          (Fingerprint::Places - 1));
    }
    for (const double objective : print.objectives)
      print.known = print.known && std::isfinite(objective);
    // A network looks at its own parameters.  It is asked for its first points
    // only: mlpack's recurrent ones read beyond their data if Evaluate() begins
    // elsewhere.
    if (elsewhere == first)
    {
      for (const ElemType value : iterate)
      {
        const double number = double(value);
        std::uint64_t bits = 0;
        std::memcpy(&bits, &number, sizeof(bits));
        print.start = Mix(print.start, bits);
      }
    }
  }
  catch (...)
  {
    print.known = 0;
  }
  return print;
}

} // namespace dasgd

#endif
