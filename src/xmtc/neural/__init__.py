"""The only workshop that imports torch: encoders, batches, output layers, the training loop."""

import os

# Threads that wait must sleep: spinning ones keep each other from working as soon as anything else
# runs on the machine (docs/decisions/0010). Read once, when torch is imported.
os.environ.setdefault("OMP_WAIT_POLICY", "passive")
