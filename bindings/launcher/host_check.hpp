/**
 * @file host_check.hpp
 *
 * Which machines can be reached.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_BINDINGS_LAUNCHER_HOST_CHECK_HPP
#define DASGD_BINDINGS_LAUNCHER_HOST_CHECK_HPP

#include "rank_source.hpp"

namespace dasgd {
namespace cli {

/**
 * Those machines on which a command can be started, the way mpirun would start
 * it: by ssh, or by what OMPI_MCA_plm_rsh_agent or HYDRA_LAUNCHER_EXEC names.
 * All are asked at the same time, and given ten seconds.  Within an allocation
 * of Slurm none is asked, unless such an agent is named.
 */
std::vector<Host> HostsThatAnswer(const std::vector<Host>& hosts);

//! The command that must succeed for a machine to be among them.
std::string HostCheckText(const Host& host);

} // namespace cli
} // namespace dasgd

#endif
