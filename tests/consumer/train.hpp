/**
 * @file train.hpp
 *
 * What the two source files of the consumer project share.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_TESTS_CONSUMER_TRAIN_HPP
#define DASGD_TESTS_CONSUMER_TRAIN_HPP

#include <armadillo>

//! Minimises a separable quadratic function from the given point on.
void Train(arma::mat& coordinates);

//! Where its minimum is.
arma::vec Minimum();

#endif
