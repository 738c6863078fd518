#pragma once

#include "mpi/communicator.h"

#include <cstdint>
#include <memory>
#include <mpi.h>
#include <string>
#include <vector>

namespace bench {

/// Messages and bytes that this rank has sent to each rank of MPI_COMM_WORLD.
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

/// Before MPI_Init: makes Open MPI put component pml_monitoring before the one that sends its messages. This slows down
/// every message.
void prepare_message_counter();

/// Collective. None if the library cannot count. Destroy it before MPI_Finalize.
std::unique_ptr<MessageCounter> find_message_counter(const Communicator &comm);

} // namespace bench
