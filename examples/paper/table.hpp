/**
 * @file table.hpp
 *
 * A CSV file that grows by a row for each run, and knows which it has.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_EXAMPLES_PAPER_TABLE_HPP
#define DASGD_EXAMPLES_PAPER_TABLE_HPP

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <set>
#include <sstream>
#include <stdexcept>
#include <string>

namespace example {

//! Rows have keys, their first columns, so that an interrupted sweep goes on
//! where it was.
class Table
{
 public:
  /**
   * @param path The file; made if it is not there.
   * @param head Its first line.
   * @param keys How many columns tell rows apart.
   */
  Table(const std::string& path, const std::string& head, const size_t keys) :
      path(path), keys(keys)
  {
    std::ifstream in(path);
    std::string line;
    if (std::getline(in, line))
    {
      if (line != head)
      {
        throw std::runtime_error(path + " has the columns \"" + line +
            "\" and not \"" + head + "\"; move it away");
      }
      while (std::getline(in, line))
        known.insert(Key(line));
      return;
    }
    Append(head);
  }

  bool Has(const std::string& key) const { return known.count(key) > 0; }

  //! Add a row; it is in the file when this returns.
  void Add(const std::string& row)
  {
    Append(row);
    known.insert(Key(row));
  }

 private:
  std::string Key(const std::string& row) const
  {
    size_t end = 0;
    for (size_t i = 0; i < keys && end != std::string::npos; ++i)
      end = row.find(',', end + (i > 0));
    return row.substr(0, end);
  }

  void Append(const std::string& line)
  {
    std::ofstream out(path, std::ios::app);
    out << line << std::endl;
    if (!out)
      throw std::runtime_error("cannot write " + path + ": " +
          std::strerror(errno));
  }

  std::string path;
  size_t keys;
  std::set<std::string> known;
};

//! A row of comma-separated values.
template<typename FirstType, typename... RestTypes>
std::string Row(const FirstType& first, const RestTypes&... rest)
{
  std::ostringstream out;
  out.precision(10);
  out << first;
  ((out << ',' << rest), ...);
  return out.str();
}

} // namespace example

#endif
