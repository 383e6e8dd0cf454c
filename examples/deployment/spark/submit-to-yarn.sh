#!/usr/bin/env bash
# Runs collect.py on YARN: `submit-to-yarn.sh` is a dry run, `submit-to-yarn.sh --delete` deletes.
# HADOOP_CONF_DIR names the cluster. environment.tar.gz is a packed virtual environment with Nessie GC and its plugins.
set -euo pipefail
cd "$(dirname "$0")"

spark-submit \
    --master yarn \
    --deploy-mode cluster \
    --properties-file yarn.conf \
    --archives environment.tar.gz#environment \
    --files nessie-gc.toml \
    collect.py --config nessie-gc.toml "$@"
