/**
 * @file check_macros.hpp
 *
 * The macros that mlpack's param_checks.hpp is written with.  They do not name
 * the binding, so that its functions are the same in all files of a program.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_FRONT_END_CHECK_MACROS_HPP
#define DASGD_FRONT_END_CHECK_MACROS_HPP

#include "documentation.hpp"

#define BINDING_IGNORE_CHECK(X) dasgd::cli::IgnoreCheck(X)
#define PRINT_PARAM_STRING(X) dasgd::cli::ParamText(X)
#define PRINT_PARAM_VALUE(X, QUOTES) dasgd::cli::ValueText(X, QUOTES)

#endif
