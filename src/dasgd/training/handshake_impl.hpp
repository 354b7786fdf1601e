/**
 * @file handshake_impl.hpp
 *
 * Implementation of the handshake.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_TRAINING_HANDSHAKE_IMPL_HPP
#define DASGD_TRAINING_HANDSHAKE_IMPL_HPP

// In case it hasn't been included yet.
#include "handshake.hpp"

#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#if defined(__GNUG__)
#include <cxxabi.h>
#endif

namespace dasgd {

DASGD_INLINE std::string ExactText(const double value)
{
  char text[32];
  for (int digits = 6; digits <= 17; ++digits)
  {
    std::snprintf(text, sizeof(text), "%.*g", digits, value);
    if (std::strtod(text, nullptr) == value)
      break;
  }
  return text;
}

DASGD_INLINE std::string ExactText(const size_t value)
{ return std::to_string(value); }

DASGD_INLINE std::string ExactText(const bool value)
{ return value ? "true" : "false"; }

DASGD_INLINE void Handshake::Require(const std::string& name,
                                     const std::string& value,
                                     const std::string& remedy)
{
  fields.push_back(Field{ name, value, remedy });
}

DASGD_INLINE void Handshake::Require(const std::string& name,
                                     const double value)
{ Require(name, ExactText(value)); }

DASGD_INLINE void Handshake::Require(const std::string& name,
                                     const size_t value)
{ Require(name, ExactText(value)); }

DASGD_INLINE void Handshake::Require(const std::string& name, const bool value)
{ Require(name, ExactText(value)); }

DASGD_INLINE void Handshake::Problem(const std::string& text)
{
  if (problem.empty())
    problem = text;
}

DASGD_INLINE void Handshake::Compare(std::vector<std::istringstream>& texts,
                                     const std::string& caller) const
{
  // Field by field, so that the most important difference is reported.
  for (const Field& field : fields)
  {
    std::string first, other;
    std::getline(texts[0], first);
    for (size_t i = 1; i < texts.size(); ++i)
    {
      std::getline(texts[i], other);
      if (other != first)
      {
        throw std::invalid_argument(caller + ": ranks 0 and " +
            std::to_string(i) + " disagree on " + field.name + ": " + first +
            " and " + other + "; " + field.remedy + ".");
      }
    }
  }
}

DASGD_INLINE void Handshake::Agree(const MpiCommunicator& comm,
                                   const std::string& caller) const
{
  // What may go over several lines comes first, with its size.
  std::string mine;
  for (const std::string* text : { &misuse, &failure })
    mine += std::to_string(text->size()) + '\n' + *text;
  for (const Field& field : fields)
    mine += field.value + '\n';
  mine += problem;
  const std::vector<std::string> all = comm.Gather(mine);

  std::vector<std::istringstream> texts;
  std::vector<std::string> failures;
  for (size_t i = 0; i < all.size(); ++i)
  {
    size_t at = 0;
    const auto next = [&]()
    {
      const size_t begin = all[i].find('\n', at) + 1;
      const size_t size = std::stoul(all[i].substr(at, begin - at));
      at = begin + size;
      return all[i].substr(begin, size);
    };
    const std::string misused = next();
    if (!misused.empty())
    {
      mpi::RefuseThreads(caller + ": rank " + std::to_string(i) + ": " +
          misused + ".");
    }
    failures.push_back(next());
    texts.emplace_back(all[i].substr(at));
  }
  for (size_t i = 0; i < all.size(); ++i)
  {
    if (!failures[i].empty())
    {
      throw std::runtime_error(caller + ": rank " + std::to_string(i) +
          " failed before training began: " + failures[i]);
    }
  }
  Compare(texts, caller);
  for (size_t i = 0; i < texts.size(); ++i)
  {
    const std::string text = texts[i].str();
    const std::streamoff at = texts[i].tellg();
    const std::string theirs = (at < 0) ? "" : text.substr(size_t(at));
    if (!theirs.empty())
    {
      throw std::invalid_argument(caller + ": rank " + std::to_string(i) +
          ": " + theirs);
    }
  }
}

} // namespace dasgd

#endif
