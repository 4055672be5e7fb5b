"""The model and the data of pytorch_dlrm.py: those of tools/bench/dlrm_shape.h and training_run.cc."""

DENSE, TABLES, ROWS, DIMENSION = 13, 26, 100_000, 16
VECTORS = TABLES + 1
BOTTOM = [DENSE, 512, 256, 64, DIMENSION]
TOP = [DIMENSION + VECTORS * (VECTORS - 1) // 2, 512, 256, 128, 1]
DISTINCT_BATCHES = 32
LEARNING_RATE = 0.05
