"""A user's script that grades a folder of Parquet files on Ray; the tests run it and kill it.

driver.py ROWS OUT CHECKPOINT JUDGE
"""

import sys

import ray

from rag_evals.integrations.ray import grade_dataset

if __name__ == "__main__":
    rows, out, checkpoint, judge = sys.argv[1:]
    ray.init(num_cpus=8, include_dashboard=False, log_to_driver=False)
    dataset = ray.data.read_parquet(rows)
    graded = grade_dataset(
        dataset, "faithfulness", judge, id_column="id", checkpoint=checkpoint, block_rows=25
    )
    graded.write_parquet(out)
