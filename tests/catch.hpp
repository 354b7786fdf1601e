/**
 * @file catch.hpp
 *
 * Makes Catch2 version 2 and version 3 look alike to the tests: in both, Approx
 * is a global name and Catch::Matchers::ContainsSubstring() exists.  A file
 * that has its own main() defines CATCH_CONFIG_RUNNER before it includes this,
 * and may then use Catch::Session.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_TESTS_CATCH_HPP
#define DASGD_TESTS_CATCH_HPP

#if __has_include(<catch2/catch_all.hpp>)

#include <catch2/catch_all.hpp>

using Catch::Approx;

#else

#include <string>

#include <catch2/catch.hpp>

namespace Catch {
namespace Matchers {

//! Version 3 reserves Contains() for ranges and calls the string matcher this.
inline StdString::ContainsMatcher ContainsSubstring(const std::string& text)
{
  return Contains(text);
}

} // namespace Matchers
} // namespace Catch

#endif

#endif
