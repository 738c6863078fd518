#include "start.h"

int main(int argc, char **argv) { return start_together(&argc, &argv); }
