/**
 * @file handshake.hpp
 *
 * The opening of a run: all ranks must mean the same.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_OPTIMIZER_HANDSHAKE_HPP
#define DASGD_OPTIMIZER_HANDSHAKE_HPP

#include "../transport/mpi_communicator.hpp"

#include <cstdio>
#include <cstdlib>
#include <sstream>
#include <typeinfo>
#if defined(__GNUG__)
#include <cxxabi.h>
#endif

namespace dasgd {

//! A type's name as one would write it.
template<typename Type>
std::string TypeName()
{
  const char* name = typeid(Type).name();
#if defined(__GNUG__)
  int status = 0;
  char* readable = abi::__cxa_demangle(name, nullptr, nullptr, &status);
  const std::string text = (status == 0) ? readable : name;
  std::free(readable);
  return text;
#else
  return name;
#endif
}

//! A number, as short as tells it from any other.
inline std::string ExactText(const double value)
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
inline std::string ExactText(const size_t value)
{ return std::to_string(value); }
inline std::string ExactText(const bool value)
{ return value ? "true" : "false"; }

/**
 * What each rank brings to a run.  Agree() compares it over all ranks; a
 * difference, or a problem on any rank, is one and the same exception on all of
 * them, so that nobody starts and nobody waits.
 */
class Handshake
{
 public:
  //! Something that must be equal on all ranks.
  void Require(const std::string& name,
               const std::string& value,
               const std::string& remedy = "give every rank the same")
  {
    fields.push_back(Field{ name, value, remedy });
  }

  void Require(const std::string& name, const double value)
  { Require(name, ExactText(value)); }

  void Require(const std::string& name, const size_t value)
  { Require(name, ExactText(value)); }

  void Require(const std::string& name, const bool value)
  { Require(name, ExactText(value)); }

  //! Something is wrong on this rank; the first one counts.
  void Problem(const std::string& text)
  {
    if (problem.empty())
      problem = text;
  }

  /**
   * Compare; throws std::invalid_argument on every rank if something differs.
   *
   * @param caller Named in messages.
   */
  void Agree(const MpiCommunicator& comm, const std::string& caller) const
  {
    std::string mine;
    for (const Field& field : fields)
      mine += field.value + '\n';
    mine += problem;
    const std::vector<std::string> all = comm.Gather(mine);

    // Field by field, so that what matters most is told first.
    std::vector<std::istringstream> texts;
    for (const std::string& text : all)
      texts.emplace_back(text);
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

 private:
  struct Field
  {
    std::string name;
    std::string value;
    std::string remedy;
  };

  std::vector<Field> fields;
  std::string problem;
};

} // namespace dasgd

#endif
