/**
 * @file text.hpp
 *
 * Numbers, lists, rows of a table and small files of "key=value" lines.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_BINDINGS_DATA_TEXT_HPP
#define DASGD_BINDINGS_DATA_TEXT_HPP

#include <dasgd/files/whole_file.hpp>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <limits>
#include <locale>
#include <map>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

namespace dasgd {
namespace study {

//! What is not known.
constexpr double Unknown = std::numeric_limits<double>::quiet_NaN();

//! A number as short as it can be; empty if it is not known.  A large one is
//! rounded to a whole one, since 11862 is easier to read than 1.186e+04.
inline std::string NumberText(const double value, const int digits = 10)
{
  if (!std::isfinite(value))
    return "";
  if (std::abs(value) >= std::pow(10, digits) - 0.5 && std::abs(value) < 1e15)
    return std::to_string(std::llround(value));
  std::ostringstream text;
  text.imbue(std::locale::classic());
  text.precision(digits);
  text << value;
  return text.str();
}

/**
 * Read a number; the text must be nothing else.
 *
 * @return False if it is no finite number.
 */
inline bool ReadNumber(const std::string& text, double& value)
{
  std::istringstream stream(text);
  stream.imbue(std::locale::classic());
  char rest = 0;
  return bool(stream >> value) && !(stream >> rest) && std::isfinite(value);
}

//! A number that may be missing.
inline double NumberOf(const std::string& text)
{
  double value = Unknown;
  return ReadNumber(text, value) ? value : Unknown;
}

//! Without blanks at both ends.
inline std::string Trim(const std::string& text)
{
  const size_t begin = text.find_first_not_of(" \t\r\n");
  const size_t end = text.find_last_not_of(" \t\r\n");
  return (begin == std::string::npos) ? "" :
      text.substr(begin, end - begin + 1);
}

//! The parts of a list; an empty list has none.
inline std::vector<std::string> Split(const std::string& text, const char at)
{
  std::vector<std::string> parts;
  if (Trim(text).empty())
    return parts;
  std::string part;
  std::istringstream stream(text);
  while (std::getline(stream, part, at))
    parts.push_back(Trim(part));
  if (text.back() == at)
    parts.emplace_back();
  return parts;
}

inline std::string Join(const std::vector<std::string>& parts,
                        const std::string& between)
{
  std::string all;
  for (size_t i = 0; i < parts.size(); ++i)
    all += (i == 0 ? "" : between) + parts[i];
  return all;
}

//! In one line.
inline std::string OneLine(std::string text)
{
  for (char& c : text)
    c = (static_cast<unsigned char>(c) < 32) ? ' ' : c;
  return Trim(text);
}

//! A row of a table in the CSV format, with its end.
inline std::string CsvRow(const std::vector<std::string>& fields)
{
  std::string row;
  for (size_t i = 0; i < fields.size(); ++i)
  {
    const std::string field = OneLine(fields[i]);
    row += (i == 0) ? "" : ",";
    if (field.find_first_of(",\"") == std::string::npos)
    {
      row += field;
      continue;
    }
    row += '"';
    for (const char c : field)
      row += (c == '"') ? "\"\"" : std::string(1, c);
    row += '"';
  }
  return row + "\n";
}

//! The fields of such a row.
inline std::vector<std::string> CsvFields(const std::string& row)
{
  std::vector<std::string> fields(1);
  bool quoted = false;
  for (size_t i = 0; i < row.size(); ++i)
  {
    const char c = row[i];
    if (c == '"' && quoted && i + 1 < row.size() && row[i + 1] == '"')
      fields.back() += row[i++];
    else if (c == '"')
      quoted = !quoted;
    else if (c == ',' && !quoted)
      fields.emplace_back();
    else if (c != '\n' && c != '\r')
      fields.back() += c;
  }
  return fields;
}

/**
 * Names with values, in the order in which they were set; a file of them has a
 * line "name=value" for each.
 */
class Entries
{
 public:
  void Set(const std::string& name, const std::string& value)
  {
    for (auto& entry : entries)
    {
      if (entry.first == name)
      {
        entry.second = OneLine(value);
        return;
      }
    }
    entries.emplace_back(name, OneLine(value));
  }
  void Set(const std::string& name, const double value)
  { Set(name, NumberText(value)); }

  bool Has(const std::string& name) const
  {
    for (const auto& entry : entries)
    {
      if (entry.first == name)
        return true;
    }
    return false;
  }

  //! The value; empty if there is none.
  std::string Text(const std::string& name) const
  {
    for (const auto& entry : entries)
    {
      if (entry.first == name)
        return entry.second;
    }
    return "";
  }
  double Number(const std::string& name) const { return NumberOf(Text(name)); }
  size_t Count(const std::string& name) const
  {
    const double value = Number(name);
    return (value >= 0) ? size_t(value) : 0;
  }

  const std::vector<std::pair<std::string, std::string>>& All() const
  { return entries; }

  void Save(const std::string& path) const
  {
    SaveFile(path, [&](std::ostream& out)
    {
      for (const auto& entry : entries)
        out << entry.first << "=" << entry.second << "\n";
    });
  }

  //! @return False if there is no such file.
  bool Load(const std::string& path)
  {
    entries.clear();
    std::ifstream file(path);
    if (!file)
      return false;
    std::string line;
    while (std::getline(file, line))
    {
      const size_t equals = line.find('=');
      if (equals != std::string::npos)
        Set(line.substr(0, equals), line.substr(equals + 1));
    }
    return true;
  }

 private:
  std::vector<std::pair<std::string, std::string>> entries;
};

//! "1 rank", "2 ranks".
inline std::string Counted(const size_t count, const std::string& what)
{ return std::to_string(count) + " " + what + (count == 1 ? "" : "s"); }

} // namespace study
} // namespace dasgd

#endif
