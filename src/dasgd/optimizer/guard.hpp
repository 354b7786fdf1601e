/**
 * @file guard.hpp
 *
 * What the user's code throws is kept until all ranks know of it.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_OPTIMIZER_GUARD_HPP
#define DASGD_OPTIMIZER_GUARD_HPP

#include <exception>
#include <string>

namespace dasgd {

//! Run something of the user's; keep what it throws, unless something was.
template<typename ActionType>
void Guard(std::exception_ptr& exception, ActionType&& action)
{
  try
  {
    action();
  }
  catch (...)
  {
    if (!exception)
      exception = std::current_exception();
  }
}

//! What an exception says; nothing if there is none.
inline std::string ExceptionText(const std::exception_ptr& exception)
{
  if (!exception)
    return "";
  try
  {
    std::rethrow_exception(exception);
  }
  catch (const std::exception& e)
  {
    return (*e.what() == '\0') ? "an exception without a text" : e.what();
  }
  catch (...)
  {
    return "an exception that is not a std::exception";
  }
}

} // namespace dasgd

#endif
