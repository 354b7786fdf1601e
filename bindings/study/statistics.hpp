/**
 * @file statistics.hpp
 *
 * What several runs say of a mean, and which means can be told apart.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_BINDINGS_STUDY_STATISTICS_HPP
#define DASGD_BINDINGS_STUDY_STATISTICS_HPP

#include <data/text.hpp>

#include <algorithm>

namespace dasgd {
namespace study {

//! The median; of an even number of values the mean of the middle two.
inline double Median(std::vector<double> values)
{
  if (values.empty())
    return Unknown;
  std::sort(values.begin(), values.end());
  const size_t middle = values.size() / 2;
  if (values.size() % 2 == 1)
    return values[middle];
  return (values[middle - 1] + values[middle]) / 2;
}

//! The 97.5 % quantile of Student's t distribution.
inline double StudentQuantile(const size_t degrees)
{
  static const double known[] = { 12.706, 4.303, 3.182, 2.776, 2.571, 2.447,
      2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160, 2.145, 2.131, 2.120,
      2.110, 2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064, 2.060, 2.056,
      2.052, 2.048, 2.045, 2.042 };
  constexpr size_t count = sizeof(known) / sizeof(known[0]);
  if (degrees == 0)
    return Unknown;
  return (degrees <= count) ? known[degrees - 1] : 1.96 + 2.46 /
      double(degrees);
}

/**
 * The mean of some runs with its 95 % confidence interval, by Student's t.  One
 * run has no interval.
 */
struct Estimate
{
  double mean = Unknown;
  double sd = Unknown;
  double low = Unknown;
  double high = Unknown;
  size_t count = 0;

  Estimate() = default;

  //! Of those values that are known.
  explicit Estimate(const std::vector<double>& values)
  {
    double sum = 0, squares = 0;
    for (const double value : values)
    {
      if (std::isfinite(value))
      {
        sum += value;
        ++count;
      }
    }
    if (count == 0)
      return;
    mean = sum / double(count);
    if (count < 2)
      return;
    for (const double value : values)
      squares += std::isfinite(value) ? (value - mean) * (value - mean) : 0;
    sd = std::sqrt(squares / double(count - 1));
    const double half = StudentQuantile(count - 1) * sd /
        std::sqrt(double(count));
    low = mean - half;
    high = mean + half;
  }

  bool HasInterval() const { return std::isfinite(low); }

  /**
   * Is it certain that this mean is below another one?  Intervals that do not
   * overlap are asked for, which is stricter than a test of the difference:
   * with eight algorithms there are many pairs to be wrong about.
   */
  bool Below(const Estimate& other) const
  { return HasInterval() && other.HasInterval() && high < other.low; }
};

/**
 * One mean divided by another.  The interval goes from one end of theirs to the
 * other, so that it holds 1 if, and only if, they cannot be distinguished.
 */
inline Estimate Ratio(const Estimate& above, const Estimate& below)
{
  Estimate ratio;
  ratio.mean = above.mean / below.mean;
  ratio.count = std::min(above.count, below.count);
  if (above.HasInterval() && below.low > 0)
  {
    ratio.low = std::max(0.0, above.low) / below.high;
    ratio.high = above.high / below.low;
  }
  return ratio;
}

//! The best and the worst place that a mean may have, from 1 on.
struct Place
{
  size_t first = 1;
  size_t last = 1;

  std::string Text() const
  {
    return std::to_string(first) + (first == last ? "" : "-" +
        std::to_string(last));
  }
};

//! The places of several means, the least first.
inline std::vector<Place> Places(const std::vector<Estimate>& all)
{
  std::vector<Place> places;
  for (const Estimate& one : all)
  {
    Place place;
    place.last = all.size();
    for (const Estimate& other : all)
    {
      place.first += other.Below(one);
      place.last -= one.Below(other);
    }
    places.push_back(place);
  }
  return places;
}

} // namespace study
} // namespace dasgd

#endif
