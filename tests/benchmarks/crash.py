"""Kill a run of 300 rows at 20 random moments and compare its end with an uninterrupted run's.

python -m tests.benchmarks.crash
"""

import os
import tempfile

from rag_evals.testing import ScriptedJudge
from tests.run.engine.test_interrupt import kill_and_resume, slowly, write_rows

if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder, ScriptedJudge(slowly) as judge:
        os.chdir(folder)
        os.environ |= {"OPENAI_BASE_URL": judge.base_url, "OPENAI_API_KEY": "any"}
        print(kill_and_resume(judge, write_rows(300), 300, kills=20, seed=1))
