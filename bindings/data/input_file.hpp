/**
 * @file input_file.hpp
 *
 * A file that an option names and that is read.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_BINDINGS_DATA_INPUT_FILE_HPP
#define DASGD_BINDINGS_DATA_INPUT_FILE_HPP

#include "load.hpp"

#include <ranks/ranks.hpp>

#include <fstream>
#include <new>
#include <sstream>
#include <stdexcept>
#include <string>

namespace dasgd {
namespace cli {

//! A file, which exists, and the option that names it.
struct InputFile
{
  /**
   * @param given The value of the option.
   * @param name The option, for messages.
   * @param sharded Does '{rank}' stand for the number of this rank?
   */
  InputFile(const std::string& given,
            const std::string& name,
            const bool sharded) : path(given), name(name)
  {
    const size_t at = path.find("{rank}");
    if (sharded && at != std::string::npos)
      path.replace(at, 6, std::to_string(Rank()));
    const std::string reason = ReadProblem(path);
    if (!reason.empty())
    {
      throw std::invalid_argument("Cannot open file '" + path + "', given with "
          + name + ": " + reason + "; " + (at == std::string::npos || sharded ?
          "check the name!" : "is --sharded missing?"));
    }
  }

  //! Do something with it; what goes wrong is told with the option.
  template<typename ActionType>
  auto Read(ActionType&& action) const
  {
    try
    {
      return action();
    }
    catch (const std::bad_alloc&)
    {
      throw;
    }
    catch (const std::exception& e)
    {
      throw std::invalid_argument("Loading from '" + path + "', given with " +
          name + ", failed; " + e.what() + "!");
    }
  }

  //! All of it.
  std::string Text() const
  {
    std::ostringstream text;
    text << std::ifstream(path).rdbuf();
    return text.str();
  }

  std::string path, name;
};

} // namespace cli
} // namespace dasgd

#endif
