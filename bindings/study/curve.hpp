/**
 * @file curve.hpp
 *
 * The loss of one run at certain times, and the file in which it is kept.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_BINDINGS_STUDY_CURVE_HPP
#define DASGD_BINDINGS_STUDY_CURVE_HPP

#include <data/text.hpp>

#include <algorithm>

namespace dasgd {
namespace study {

//! A curve: losses and accuracies, when, and after how many gradients.
struct Curve
{
  std::vector<double> seconds, gradients, losses, accuracies;

  void Add(const double time,
           const double count,
           const double loss,
           const double accuracy)
  {
    seconds.push_back(time);
    gradients.push_back(count);
    losses.push_back(loss);
    accuracies.push_back(accuracy);
  }

  void Save(const std::string& path) const
  {
    SaveFile(path, [&](std::ostream& out)
    {
      out << "seconds,gradients,loss,accuracy\n";
      for (size_t i = 0; i < losses.size(); ++i)
      {
        out << NumberText(seconds[i]) << "," << NumberText(gradients[i]) << ","
            << NumberText(losses[i]) << "," << NumberText(accuracies[i])
            << "\n";
      }
    });
  }

  //! @return False if there is no loss in the file, or no file.
  bool Load(const std::string& path)
  {
    std::ifstream file(path);
    std::string line;
    std::getline(file, line);
    while (std::getline(file, line))
    {
      const std::vector<std::string> fields = CsvFields(line);
      const double loss = (fields.size() < 4) ? Unknown : NumberOf(fields[2]);
      if (std::isfinite(loss))
      {
        Add(NumberOf(fields[0]), NumberOf(fields[1]), loss,
            NumberOf(fields[3]));
      }
    }
    return !losses.empty();
  }

  //! Parts of wrong answers.
  std::vector<double> Errors() const
  {
    std::vector<double> errors;
    for (const double accuracy : accuracies)
      errors.push_back(1 - accuracy);
    return errors;
  }

  //! Value of a quantity where others, as losses, first meet the target,
  //! between two copies on a straight line.
  static double Crossing(const std::vector<double>& values,
                         const std::vector<double>& quantity,
                         const double target)
  {
    for (size_t i = 0; i < values.size(); ++i)
    {
      if (!(values[i] <= target))
        continue;
      if (i == 0 || !std::isfinite(values[i - 1]) ||
          values[i - 1] <= values[i])
        return quantity[i];
      const double part = (values[i - 1] - target) /
          (values[i - 1] - values[i]);
      return quantity[i - 1] + part * (quantity[i] - quantity[i - 1]);
    }
    return Unknown;
  }

  /**
   * The value, as of losses, at some time or after some gradients, between
   * copies on a straight line.  A run that has stopped counts with its last.
   */
  static double At(const std::vector<double>& values,
                   const std::vector<double>& where,
                   const double place)
  {
    for (size_t i = 0; i < where.size(); ++i)
    {
      if (where[i] < place)
        continue;
      if (i == 0 || where[i] <= where[i - 1])
        return values[i];
      const double part = (place - where[i - 1]) / (where[i] - where[i - 1]);
      return values[i - 1] + part * (values[i] - values[i - 1]);
    }
    return values.back();
  }

  /**
   * The losses at the start, after a quarter of the time budget and at its end,
   * from which a target is made.  The last two are medians over a stretch of
   * time, whatever the noise of the moment; none if the run was over before.
   */
  std::vector<double> Reference(const double budget) const
  {
    if (seconds.empty() || seconds.back() < 0.9 * budget)
      return {};
    const auto median = [&](const double from, const double to)
    {
      std::vector<double> all;
      for (size_t i = 0; i <= 32; ++i)
        all.push_back(At(losses, seconds, budget * (from + (to - from) *
            double(i) / 32)));
      std::sort(all.begin(), all.end());
      return all[all.size() / 2];
    };
    return { losses.front(), median(0.2, 0.3), median(0.75, 1) };
  }
};

} // namespace study
} // namespace dasgd

#endif
