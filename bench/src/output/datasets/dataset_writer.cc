#include "output/datasets/dataset_writer.h"

#include "output/find_by_suffix.h"

namespace bench {

const std::vector<DatasetWriterInfo> &all_dataset_writers() {
#define BENCH_LIST(name) dataset_writers::name(),
    static const std::vector<DatasetWriterInfo> all = {BENCH_DATASET_WRITERS(BENCH_LIST)};
#undef BENCH_LIST
    return all;
}

const DatasetWriterInfo &find_dataset_writer(const std::string &path) {
    return find_by_suffix(all_dataset_writers(), path);
}

} // namespace bench
