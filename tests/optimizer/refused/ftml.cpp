/**
 * @file ftml.cpp
 *
 * Must not compile: a policy whose steps cannot be sent to other ranks.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#include <dasgd.hpp>

int main()
{
  ens::test::SGDTestFunction function;
  arma::mat iterate = function.GetInitialPoint<arma::mat>();
  dasgd::DASGD<ens::FTMLUpdate> optimizer;
  optimizer.Optimize(function, iterate);
}
