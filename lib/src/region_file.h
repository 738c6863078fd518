/* What is told of regions: JSON lines as those of downbeat-bench, and a table. */
#ifndef DOWNBEAT_REGION_FILE_H
#define DOWNBEAT_REGION_FILE_H

struct db_region_entry;

/* Writes the files and prints the tables that the settings of the entries, a list, ask for. Says so on standard error
 * where it cannot. */
void db_region_files_write(const struct db_region_entry *first);

#endif
