/**
 * @file edge_list.hpp
 *
 * Edges of a graph, as texts and files give them.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_TOPOLOGY_EDGE_LIST_HPP
#define DASGD_TOPOLOGY_EDGE_LIST_HPP

#include "shape.hpp"

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <system_error>

namespace dasgd {
namespace detail {

using Edge = std::pair<size_t, size_t>;

//! A file that was meant for something else should end here, and soon.
constexpr size_t maxLineLength = 1024;
constexpr size_t maxLines = size_t(1) << 22;

//! What is wrong with an edge; empty if nothing is.
inline std::string Problem(const Edge& edge)
{
  if (std::max(edge.first, edge.second) >= maxRanks)
  {
    return "ranks may be numbered up to " +
        std::to_string(maxRanks - 1) + "; correct the number";
  }
  if (edge.first == edge.second)
  {
    return "this joins rank " + std::to_string(edge.first) + " to itself; "
        "remove it";
  }
  return "";
}

/**
 * Read a decimal number and move `at` behind it.  Larger numbers than any that
 * is allowed come out as one that is too large, not as one that wrapped round.
 *
 * @return false if there is no digit.
 */
inline bool ReadNumber(const std::string& text, size_t& at, size_t& number)
{
  const size_t begin = at;
  number = 0;
  for (; at < text.size() && text[at] >= '0' && text[at] <= '9'; ++at)
  {
    number = std::min(10 * number + size_t(text[at] - '0'),
        maxRanks + 1);
  }
  return at > begin;
}

//! Read `0 1`, `0-1` or `0,1`.  @return what is wrong; empty if nothing is.
inline std::string ReadEdge(const std::string& text, Edge& edge)
{
  size_t at = 0;
  const auto skipBlanks = [&]()
  {
    at = std::min(text.find_first_not_of(" \t\r", at), text.size());
  };

  skipBlanks();
  bool valid = ReadNumber(text, at, edge.first);
  if (at < text.size() && text[at] == '-')
  {
    ++at; // No blanks here: `0 -1` is a negative number to most people.
  }
  else
  {
    skipBlanks();
    if (at < text.size() && text[at] == ',')
      ++at;
    skipBlanks();
  }
  valid = valid && ReadNumber(text, at, edge.second);
  skipBlanks();
  if (!valid || at < text.size())
    return "this is not an edge; write two ranks, such as 0-1";
  return Problem(edge);
}

/**
 * Edges with commas between them.
 *
 * @param topology The whole text, for messages.
 */
inline std::vector<Edge> ReadEdges(const std::string& topology,
                                   const std::string& text)
{
  std::vector<Edge> edges;
  for (size_t at = 0; !text.empty() && at <= text.size();)
  {
    const size_t end = std::min(text.find(',', at), text.size());
    const std::string item = text.substr(at, end - at);
    Edge edge;
    const std::string problem = ReadEdge(item, edge);
    if (!problem.empty())
    {
      throw std::invalid_argument("topology '" + Shown(topology) + "', edge '" +
          Shown(item) + "': " + problem);
    }
    edges.push_back(edge);
    at = end + 1;
  }
  return edges;
}

//! Add the edge of a line, if it has one.  @return what is wrong; empty if
//! nothing is.
inline std::string ReadEdgeLine(const std::string& line,
                                const size_t number,
                                std::vector<Edge>& edges)
{
  if (line.size() > maxLineLength)
  {
    return "the line is longer than " + std::to_string(maxLineLength) +
        " characters; write one edge per line";
  }
  if (number > maxLines)
  {
    return "the file has more than " + std::to_string(maxLines) +
        " lines; write each edge once";
  }
  const std::string text = line.substr(0, line.find('#'));
  if (text.find_first_not_of(" \t\r") == std::string::npos)
    return "";
  edges.emplace_back();
  return ReadEdge(text, edges.back());
}

inline std::vector<Edge> ReadEdgeFile(const std::string& path)
{
  const std::string name = "topology file '" + path + "'";
  const auto unreadable = [&](const std::string& what)
  {
    const std::string reason =
        std::generic_category().message(errno != 0 ? errno : EIO);
    return std::runtime_error(name + " cannot be " + what + ": " + reason +
        "; give the path of an edge list that every rank can read");
  };

  errno = 0;
  std::ifstream file(path, std::ios::binary);
  if (!file)
    throw unreadable("opened");

  std::vector<Edge> edges;
  std::string line;
  size_t lines = 0;
  for (int c = 0; c != std::char_traits<char>::eof();)
  {
    ++lines;
    line.clear();
    for (c = file.get(); c != std::char_traits<char>::eof() && c != '\n' &&
        line.size() <= maxLineLength; c = file.get())
    {
      line.push_back(char(c));
    }
    if (file.bad())
      throw unreadable("read");
    const std::string problem = ReadEdgeLine(line, lines, edges);
    if (!problem.empty())
    {
      throw std::invalid_argument(name + ", line " + std::to_string(lines) +
          ", '" + Shown(line) + "': " + problem);
    }
  }
  return edges;
}

} // namespace detail
} // namespace dasgd

#endif
