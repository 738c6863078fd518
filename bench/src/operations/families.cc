#include "mpi/communicator.h"
#include "mpi/mpi_tool.h"
#include "operations/algorithm.h"
#include "text/error.h"

#include <array>
#include <fmt/format.h>
#include <utility>

namespace bench {

const std::vector<AlgorithmFamilyInfo> &all_algorithm_families() {
    static const std::vector<AlgorithmFamilyInfo> all = {algorithm_families::openmpi(), algorithm_families::mpich(),
                                                         algorithm_families::intel()};
    return all;
}

namespace {

constexpr const char *count_variable = "pml_monitoring_messages_count";
constexpr const char *size_variable = "pml_monitoring_messages_size";

/// As Open MPI 4.1 reports it to mca_common_monitoring_record_pml below.
Traffic &recorded() {
    static Traffic all;
    return all;
}

void record(int rank, std::size_t bytes) {
    Traffic &all = recorded();
    const auto receiver = static_cast<std::size_t>(rank);
    if (all.messages.size() <= receiver) {
        all.messages.resize(receiver + 1);
        all.bytes.resize(receiver + 1);
    }
    ++all.messages[receiver];
    all.bytes[receiver] += static_cast<std::int64_t>(bytes);
}

int world_size() {
    int size = 0;
    check(MPI_Comm_size(MPI_COMM_WORLD, &size), "MPI_Comm_size");
    return size;
}

class RecordedCounter : public MessageCounter {
public:
    Traffic sent() const override {
        Traffic traffic = recorded();
        traffic.messages.resize(static_cast<std::size_t>(world_size()));
        traffic.bytes.resize(static_cast<std::size_t>(world_size()));
        return traffic;
    }
};

/// The performance variables of Open MPI 5's pml_monitoring.
class MonitoringCounter : public MessageCounter {
public:
    MonitoringCounter() {
        check(MPI_T_pvar_session_create(&session_), "MPI_T_pvar_session_create");
        MPI_Comm world = MPI_COMM_WORLD;
        for (std::size_t i = 0; i < names.size(); ++i) {
            int index = 0;
            int count = 0;
            check(MPI_T_pvar_get_index(names[i], MPI_T_PVAR_CLASS_SIZE, &index), "MPI_T_pvar_get_index");
            check(MPI_T_pvar_handle_alloc(session_, index, &world, &handles_[i], &count), "MPI_T_pvar_handle_alloc");
            check(MPI_T_pvar_start(session_, handles_[i]), "MPI_T_pvar_start");
            if (count != world_size()) {
                throw Error::here(fmt::format("{} has {} values for {} ranks", names[i], count, world_size()));
            }
        }
    }

    ~MonitoringCounter() override {
        for (MPI_T_pvar_handle &handle : handles_) {
            MPI_T_pvar_handle_free(session_, &handle);
        }
        MPI_T_pvar_session_free(&session_);
    }

    static bool available() {
        int index = 0;
        return MPI_T_pvar_get_index(count_variable, MPI_T_PVAR_CLASS_SIZE, &index) == MPI_SUCCESS;
    }

    Traffic sent() const override { return {read(0), read(1)}; }

private:
    static constexpr std::array<const char *, 2> names = {count_variable, size_variable};

    std::vector<std::int64_t> read(std::size_t which) const {
        std::vector<std::int64_t> values(static_cast<std::size_t>(world_size()));
        check(MPI_T_pvar_read(session_, handles_[which], values.data()), "MPI_T_pvar_read");
        return values;
    }

    MPI_T_pvar_session session_{};
    std::array<MPI_T_pvar_handle, 2> handles_{};
};

} // namespace

void prepare_message_counter() { set_unless_set("OMPI_MCA_pml_monitoring_enable", "1"); }

std::unique_ptr<MessageCounter> find_message_counter(const Communicator &comm) {
    open_tool_interface();
    const auto everywhere = [&](bool here) {
        int all = here ? 1 : 0;
        check(MPI_Allreduce(MPI_IN_PLACE, &all, 1, MPI_INT, MPI_MIN, comm.handle()), "MPI_Allreduce");
        return all != 0;
    };
    std::vector<std::unique_ptr<MessageCounter>> counters;
    if (everywhere(MonitoringCounter::available())) {
        counters.push_back(std::make_unique<MonitoringCounter>());
    }
    counters.push_back(std::make_unique<RecordedCounter>());
    for (std::unique_ptr<MessageCounter> &counter : counters) {
        const Traffic before = counter->sent();
        check(MPI_Barrier(comm.handle()), "MPI_Barrier"); // every rank sends something here, if there are two
        if (everywhere(counter->sent().messages != before.messages)) {
            return std::move(counter);
        }
    }
    return nullptr;
}

} // namespace bench

/// Open MPI 4.1 withdraws the performance variables of pml_monitoring when it has opened it (open-mpi/ompi issue 9260),
/// so its counts cannot be read. It counts with this function of its own library; the program's function of that name
/// takes precedence. The arguments are a rank of MPI_COMM_WORLD, bytes, and the tag. No other library calls it.
extern "C" [[gnu::visibility("default")]] void mca_common_monitoring_record_pml(int world_rank, std::size_t data_size,
                                                                                int tag);
extern "C" void mca_common_monitoring_record_pml(int world_rank, std::size_t data_size, int) {
    bench::record(world_rank, data_size);
}
