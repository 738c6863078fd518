#pragma once

#include "operations/collectives/call.h"

#include <mpi.h>

// Persistent collectives: MPI 4's, or Open MPI's extension of the same, or none. CMake has probed the library for them;
// its version says nothing (Open MPI 5 has them and calls itself MPI 3.1).
#if defined(BENCH_MPI_PERSISTENT)
#define BENCH_PERSISTENT_NAME(Name) MPI_##Name##_init
#define BENCH_PERSISTENT_PREFIX "MPI"
#elif defined(BENCH_MPIX_PERSISTENT)
#include <mpi-ext.h>
#define BENCH_PERSISTENT_NAME(Name) MPIX_##Name##_init
#define BENCH_PERSISTENT_PREFIX "MPIX"
#endif

namespace bench {

/// The forms of a collective: BENCH_FORMS(Bcast, bcast) are MPI_Bcast, MPI_Ibcast and MPI_Bcast_init.
#ifdef BENCH_PERSISTENT_NAME
#define BENCH_FORMS(Name, name)                                                                                        \
    ::bench::Forms { MPI_##Name, MPI_I##name, BENCH_PERSISTENT_NAME(Name) }
constexpr bool have_persistent_collectives = true;
#else
#define BENCH_FORMS(Name, name)                                                                                        \
    ::bench::Forms { MPI_##Name, MPI_I##name, nullptr }
constexpr bool have_persistent_collectives = false;
#define BENCH_PERSISTENT_PREFIX "MPI"
#endif
constexpr const char *persistent_prefix = BENCH_PERSISTENT_PREFIX; // of its functions' names

} // namespace bench
