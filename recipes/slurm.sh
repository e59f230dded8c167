#!/bin/bash
# A fleet under Slurm: starts Ray on the nodes of one job, and measures the plan once on each type of GPU.
#
#     sbatch --nodes=3 --constraint="[t4*1&a100*1&h100*1]" recipes/slurm.sh --profile full --accelerator T4 A100 H100
#
# Submit it from a checkout on a file system that all nodes share, after `make .venv/bench.done` and
# `.venv/bin/pip install -e ".[ray]"`. Arguments after the script go to `python -m bench run`. `sinfo -o "%N %f %G"`
# lists the features and GPUs of your site. When the time is up, submit it again: it resumes.
#SBATCH --job-name=compile-atlas
#SBATCH --exclusive
#SBATCH --ntasks-per-node=1
#SBATCH --gpus-per-node=1
#SBATCH --time=08:00:00
set -euo pipefail

cd "$SLURM_SUBMIT_DIR"
. .venv/bin/activate
budget=${TIME_BUDGET:-7h30m}   # less than --time, so that no cell is cut off
port=${RAY_PORT:-6379}
mapfile -t nodes < <(scontrol show hostnames "$SLURM_JOB_NODELIST")
head=${nodes[0]}
trap 'kill $(jobs -p) 2>/dev/null || true' EXIT

srun --overlap --nodes=1 --ntasks=1 --nodelist="$head" ray start --head --port="$port" --block &
sleep 15
if [ "${#nodes[@]}" -gt 1 ]; then
    srun --overlap --nodes=$((${#nodes[@]} - 1)) --ntasks=$((${#nodes[@]} - 1)) --exclude="$head" \
        ray start --address="$head:$port" --block &
fi
# A missing type of GPU is an error, so wait up to five minutes for all nodes.
timeout 300 python - "${#nodes[@]}" <<'PYTHON'
import sys, time
import ray
ray.init("auto", log_to_driver=False)
while sum(node["Alive"] for node in ray.nodes()) < int(sys.argv[1]):
    time.sleep(2)
PYTHON

python -m bench run --executor ray --address auto --time-budget "$budget" "$@"
python -m bench check
