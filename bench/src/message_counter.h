#pragma once

#include "communicator.h"

#include <cstdint>
#include <memory>
#include <mpi.h>
#include <string>
#include <vector>

namespace bench {

/// What this rank has sent to each rank of MPI_COMM_WORLD.
struct Traffic {
    std::vector<std::int64_t> messages;
    std::vector<std::int64_t> bytes;
};

/// Counts the messages that the MPI library sends, those of its collectives included.
class MessageCounter {
public:
    virtual ~MessageCounter() = default;
    /// Local. Since MPI_Init.
    virtual Traffic sent() const = 0;
};

/// Before MPI_Init: has Open MPI put component pml_monitoring before what sends its messages. This costs time in every
/// message.
void prepare_message_counter();

/// Collective. None where the library cannot count. To be destroyed before MPI_Finalize.
std::unique_ptr<MessageCounter> find_message_counter(const Communicator &comm);

} // namespace bench
