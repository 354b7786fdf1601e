/**
 * @file suggest.hpp
 *
 * What somebody may have meant.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_BINDINGS_TERMINAL_SUGGEST_HPP
#define DASGD_BINDINGS_TERMINAL_SUGGEST_HPP

#include <algorithm>
#include <string>
#include <vector>

namespace dasgd {

//! Number of letters to change, add or drop to make one word of the other.
inline size_t Distance(const std::string& a, const std::string& b)
{
  std::vector<size_t> row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j)
    row[j] = j;
  for (size_t i = 1; i <= a.size(); ++i)
  {
    size_t diagonal = row[0];
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j)
    {
      const size_t changed = diagonal + (a[i - 1] != b[j - 1]);
      diagonal = row[j];
      row[j] = std::min({ changed, row[j] + 1, row[j - 1] + 1 });
    }
  }
  return row[b.size()];
}

//! The known word that is nearest, or nothing if none is near.
inline std::string Nearest(const std::string& word,
                           const std::vector<std::string>& known)
{
  // Nobody mistypes a name into something this long, and it takes time.
  if (word.size() > 32)
    return "";

  std::string best;
  size_t least = std::max<size_t>(1, word.size() / 2) + 1;
  for (const std::string& name : known)
  {
    const size_t distance = Distance(word, name);
    if (distance < least)
    {
      least = distance;
      best = name;
    }
  }
  return best;
}

//! "; did you mean 'x'?" if a known word is near, else nothing.
inline std::string Suggest(const std::string& word,
                           const std::vector<std::string>& known)
{
  const std::string best = Nearest(word, known);
  return best.empty() ? "" : "; did you mean '" + best + "'?";
}

} // namespace dasgd

#endif
