/* Wrappers of functions that create and name communicators, for the identities in communicators.c. MPI_Comm_spawn,
 * MPI_Comm_accept, MPI_Comm_connect and MPI_Comm_join are not wrapped: the communicator has processes of other jobs,
 * and gets its identity in the first call that uses it, like every communicator of unknown origin. */
#include "communicators.h"
#include "completion.h"
#include "frames.h"
#include "process.h"
#include "recorded_call.h"

/* X(Name, parameters, arguments, origin): `origin` is a hash of the creation that is the same on all processes of the
 * new communicator (communicators.h). */
#define MAKERS(X)                                                                                                      \
    X(Comm_dup, (MPI_Comm comm, MPI_Comm * newcomm), (comm, newcomm), communicators_child(comm))                       \
    X(Comm_dup_with_info, (MPI_Comm comm, MPI_Info info, MPI_Comm * newcomm), (comm, info, newcomm),                   \
      communicators_child(comm))                                                                                       \
    X(Comm_create, (MPI_Comm comm, MPI_Group group, MPI_Comm * newcomm), (comm, group, newcomm),                       \
      communicators_child(comm))                                                                                       \
    X(Comm_create_group, (MPI_Comm comm, MPI_Group group, int tag, MPI_Comm *newcomm), (comm, group, tag, newcomm),    \
      communicators_child_of_group(comm, group, tag))                                                                  \
    X(Comm_split, (MPI_Comm comm, int color, int order, MPI_Comm *newcomm), (comm, color, order, newcomm),             \
      communicators_child(comm))                                                                                       \
    X(Comm_split_type, (MPI_Comm comm, int type, int order, MPI_Info info, MPI_Comm *newcomm),                         \
      (comm, type, order, info, newcomm), communicators_child(comm))                                                   \
    X(Cart_create, (MPI_Comm comm, int ndims, const int dims[], const int periods[], int reorder, MPI_Comm *newcomm),  \
      (comm, ndims, dims, periods, reorder, newcomm), communicators_child(comm))                                       \
    X(Cart_sub, (MPI_Comm comm, const int remain[], MPI_Comm *newcomm), (comm, remain, newcomm),                       \
      communicators_child(comm))                                                                                       \
    X(Graph_create, (MPI_Comm comm, int nnodes, const int index[], const int edges[], int reorder, MPI_Comm *newcomm), \
      (comm, nnodes, index, edges, reorder, newcomm), communicators_child(comm))                                       \
    X(Dist_graph_create,                                                                                               \
      (MPI_Comm comm, int n, const int sources[], const int degrees[], const int destinations[], const int weights[],  \
       MPI_Info info, int reorder, MPI_Comm *newcomm),                                                                 \
      (comm, n, sources, degrees, destinations, weights, info, reorder, newcomm), communicators_child(comm))           \
    X(Dist_graph_create_adjacent,                                                                                      \
      (MPI_Comm comm, int indegree, const int sources[], const int sourceweights[], int outdegree,                     \
       const int destinations[], const int destweights[], MPI_Info info, int reorder, MPI_Comm *newcomm),              \
      (comm, indegree, sources, sourceweights, outdegree, destinations, destweights, info, reorder, newcomm),          \
      communicators_child(comm))                                                                                       \
    X(Intercomm_create,                                                                                                \
      (MPI_Comm local, int local_leader, MPI_Comm peer, int remote_leader, int tag, MPI_Comm *newcomm),                \
      (local, local_leader, peer, remote_leader, tag, newcomm), communicators_between_groups(*newcomm, tag))           \
    X(Intercomm_merge, (MPI_Comm intercomm, int high, MPI_Comm *newcomm), (intercomm, high, newcomm),                  \
      communicators_child(intercomm))

/* Wrapper of a function that creates a communicator; `created` is evaluated on success. `begin` is 0 if the program
 * did not make the call, or if nothing is recorded (library_begun is 0). */
#define MAKER(Name, parameters, arguments, created)                                                                    \
    WRAP(Name);                                                                                                        \
    int Name parameters {                                                                                              \
        FRAME(frame);                                                                                                  \
        int64_t begin = timed_begin(frame_enter(frame));                                                               \
        int code = REAL(Name) arguments;                                                                               \
        timed_end(TRACE_COMMUNICATORS, begin);                                                                         \
        if (code == MPI_SUCCESS && begin != 0)                                                                         \
            created;                                                                                                   \
        frame_leave(frame);                                                                                            \
        return code;                                                                                                   \
    }

/* Functions that return the new communicator, and (LATER) nonblocking functions, whose communicator exists after the
 * completion of the request. */
#define AT_ONCE(Name, parameters, arguments, origin)                                                                   \
    BOTH(MAKER, Name, parameters, arguments, communicators_created(*newcomm, origin))
MAKERS(AT_ONCE)

#define LATER(Name, parameters, arguments)                                                                             \
    BOTH(MAKER, Name, parameters, arguments,                                                                           \
         completion_expect_communicator(*request, newcomm, communicators_child(comm)))
LATER(Comm_idup, (MPI_Comm comm, MPI_Comm *newcomm, MPI_Request *request), (comm, newcomm, request))
#ifdef HAVE_MPI_COMM_IDUP_WITH_INFO
LATER(Comm_idup_with_info, (MPI_Comm comm, MPI_Info info, MPI_Comm *newcomm, MPI_Request *request),
      (comm, info, newcomm, request))
#endif

/* Wrapper of MPI_Comm_set_name. */
#define NAMER(Function, parameters)                                                                                    \
    WRAP(Function);                                                                                                    \
    int Function parameters {                                                                                          \
        FRAME(frame);                                                                                                  \
        int is_program_call = frame_enter(frame);                                                                      \
        int code = REAL(Function)(comm, name);                                                                         \
        frame_leave(frame);                                                                                            \
        if (code == MPI_SUCCESS && is_program_call && library_begun)                                                   \
            communicators_name(comm, name);                                                                            \
        return code;                                                                                                   \
    }
BOTH(NAMER, Comm_set_name, (MPI_Comm comm, const char *name))
