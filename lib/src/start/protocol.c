#include "start/protocol.h"

enum db_phase db_phase_after(enum db_phase phase, int needs) {
    switch (phase) {
    case DB_RELEASED:
        return needs ? DB_GATHER : DB_EXCHANGE;
    case DB_EXCHANGE:
        return needs ? DB_GATHER : DB_WAIT;
    case DB_GATHER:
        return DB_DECIDE;
    case DB_DECIDE:
        return needs & DB_NEED_SYNC ? DB_SYNCHRONIZE : DB_WAIT;
    case DB_SYNCHRONIZE:
        return DB_GATHER;
    case DB_WAIT:
        break;
    }
    return DB_RELEASED;
}
