#!/usr/bin/env bash
# Runs collect.py on Kubernetes: `submit-to-kubernetes.sh` is a dry run, `submit-to-kubernetes.sh --delete` deletes.
# The image is the stage `executor` of ../container/Containerfile, which has collect.py and every plugin.
set -euo pipefail
cd "$(dirname "$0")"

spark-submit \
    --master k8s://https://kubernetes.example.com:6443 \
    --deploy-mode cluster \
    --properties-file kubernetes.conf \
    local:///opt/nessie-gc/collect.py "$@"
