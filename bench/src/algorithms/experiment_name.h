#pragma once

namespace bench {

/// The word that begins the experiment; it is asked for before MPI_Init, too.
constexpr const char *algorithms_experiment = "algorithms";

} // namespace bench
