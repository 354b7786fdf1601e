/**
 * @file host_check.hpp
 *
 * Which machines can be reached.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_BINDINGS_RANKS_HOST_CHECK_HPP
#define DASGD_BINDINGS_RANKS_HOST_CHECK_HPP

#include "rank_source.hpp"

namespace dasgd {
namespace cli {

/**
 * Those machines on which a command can be started, the way mpirun would start
 * it: by ssh, or by what OMPI_MCA_plm_rsh_agent or HYDRA_LAUNCHER_EXEC names.
 * All are asked at the same time, and given ten seconds.
 */
std::vector<Host> HostsThatAnswer(const std::vector<Host>& hosts);

} // namespace cli
} // namespace dasgd

#endif
