#include "operations/message_counter.h"

// SMPI counts no messages.
namespace bench {

void prepare_message_counter() {}

std::unique_ptr<MessageCounter> find_message_counter(const Communicator &) { return nullptr; }

} // namespace bench
