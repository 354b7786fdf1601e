/**
 * @file guard_impl.hpp
 *
 * Implementation of texts of exceptions.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_CORE_GUARD_IMPL_HPP
#define DASGD_CORE_GUARD_IMPL_HPP

// In case it hasn't been included yet.
#include "guard.hpp"

namespace dasgd {

DASGD_INLINE std::string ExceptionText(const std::exception_ptr& exception)
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
