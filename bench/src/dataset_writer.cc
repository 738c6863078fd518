#include "dataset_writer.h"

namespace bench {

const std::vector<DatasetWriterInfo> &all_dataset_writers() {
#define BENCH_LIST(name) dataset_writers::name(),
    static const std::vector<DatasetWriterInfo> all = {BENCH_DATASET_WRITERS(BENCH_LIST)};
#undef BENCH_LIST
    return all;
}

} // namespace bench
