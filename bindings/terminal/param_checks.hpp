/**
 * @file param_checks.hpp
 *
 * mlpack's checks of parameters, for files that do not know the binding.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_BINDINGS_TERMINAL_PARAM_CHECKS_HPP
#define DASGD_BINDINGS_TERMINAL_PARAM_CHECKS_HPP

#include "log.hpp"

#if defined(DASGD_MLPACK_FRONT_END)
// mlpack's own macros need the binding's name; its checks have `params`.
#include "params.hpp"

#include <front_end/mlpack/bindings/cli/value_text.hpp>
#define BINDING_IGNORE_CHECK(X) false
#define PRINT_PARAM_STRING(X) dasgd::cli::OptionText(params, X)
#define PRINT_PARAM_VALUE(X, QUOTES) dasgd::cli::ValueText(X, QUOTES)
#else
#include <mlpack/bindings/cli/check_macros.hpp>
#endif

#include <mlpack/core/util/param_checks.hpp>

#endif
