/**
 * @file confusion.cpp
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#include "confusion.hpp"

#include <algorithm>
#include <iomanip>
#include <map>
#include <sstream>

namespace dasgd {
namespace cli {

std::set<size_t> FirstNumbers(const size_t count)
{
  std::set<size_t> numbers;
  for (size_t i = 0; i < count; ++i)
    numbers.insert(numbers.end(), i);
  return numbers;
}

double Accuracy(const arma::Row<size_t>& predictions,
                const arma::Row<size_t>& labels)
{
  return double(arma::accu(predictions == labels)) /
      double(std::max<size_t>(1, labels.n_elem));
}

std::string ConfusionText(const arma::Row<size_t>& predictions,
                          const arma::Row<size_t>& labels,
                          std::set<size_t> classes,
                          const std::vector<std::string>& names)
{
  classes.insert(labels.begin(), labels.end());
  classes.insert(predictions.begin(), predictions.end());
  std::map<std::pair<size_t, size_t>, size_t> counts;
  size_t most = *classes.rbegin();
  for (size_t i = 0; i < labels.n_elem; ++i)
    most = std::max(most, ++counts[{ labels[i], predictions[i] }]);

  std::ostringstream text;
  text << "test accuracy " << std::fixed << std::setprecision(2)
      << 100 * Accuracy(predictions, labels) << " % ("
      << arma::accu(predictions == labels) << " of " << labels.n_elem << ")\n";
  if (classes.size() > 30)
    return text.str();

  const auto name = [&](const size_t label)
  {
    return label < names.size() ? names[label].substr(0, 12) :
        std::to_string(label);
  };
  size_t longest = std::to_string(most).size(), first = 6;
  for (const size_t label : classes)
  {
    longest = std::max(longest, name(label).size());
    first = std::max(first, name(label).size() + 2);
  }
  const int width = int(2 + longest);
  text << "\nconfusion matrix: rows are classes, columns predictions\n\n"
      << std::setw(int(first)) << "";
  for (const size_t predicted : classes)
    text << std::setw(width) << name(predicted);
  text << "   right\n";
  for (const size_t label : classes)
  {
    text << std::setw(int(first)) << name(label);
    size_t points = 0;
    for (const size_t predicted : classes)
    {
      const size_t count = counts[{ label, predicted }];
      text << std::setw(width) << count;
      points += count;
    }
    if (points > 0)
    {
      text << std::setw(6) << std::setprecision(1)
          << 100 * double(counts[{ label, label }]) / double(points) << " %";
    }
    text << "\n";
  }
  return text.str();
}

} // namespace cli
} // namespace dasgd
