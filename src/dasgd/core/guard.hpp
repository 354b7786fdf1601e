/**
 * @file guard.hpp
 *
 * Keeps an exception of the user's code until all ranks know of it.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_CORE_GUARD_HPP
#define DASGD_CORE_GUARD_HPP

#include "config.hpp"

#include <exception>
#include <string>

namespace dasgd {

//! Call a function of the user's and keep the first exception.
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

//! The text of an exception; empty if there is none.
std::string ExceptionText(const std::exception_ptr& exception);

} // namespace dasgd

#ifndef DASGD_COMPILED
#include "guard_impl.hpp"
#endif

#endif
