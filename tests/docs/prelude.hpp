/**
 * @file prelude.hpp
 *
 * What a piece of a program in the documentation may take for granted.  It is
 * compiled as the body of a function, after this.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_TESTS_DOCS_PRELUDE_HPP
#define DASGD_TESTS_DOCS_PRELUDE_HPP

#include <iostream>

#include <ensmallen.hpp>

#include <dasgd.hpp>

//! A separable function, and where to start from.
inline ens::test::SphereFunction function(100);
inline arma::mat coordinates(100, 1, arma::fill::ones);

//! A data set with one label per column, in three classes.
inline arma::mat data(10, 120, arma::fill::randu);
inline arma::Row<size_t> labels =
    arma::randi<arma::Row<size_t>>(120, arma::distr_param(0, 2));

#endif
