"""One compute step. Needs COMPUTE_STEP_KEY; COMPUTE_STEP_URL is http://127.0.0.1:8080 if it is not set."""

import os
import sys

from compute_step import ComputeStep, Problem

# As a tool returned it. Integers of any size stay exact on the way and back.
ORDERS = [{"id": 9007199254740993, "price": 20.0}, {"id": 9007199254740995, "price": 35.5}]


def main():
    key = os.environ.get("COMPUTE_STEP_KEY")
    if not key:
        print("Set COMPUTE_STEP_KEY to an API key (compute-step key create).", file=sys.stderr)
        return 2
    service = ComputeStep(os.environ.get("COMPUTE_STEP_URL", "http://127.0.0.1:8080"), key)
    try:
        answer = service.compute(
            {
                "step": "the average price of my orders",
                "result_type": "number",
                "sources": [{"tool": "list_orders", "name": "orders", "result": ORDERS}],
            }
        )
        runs = service.usage()["compute_runs"]
    except (Problem, OSError, ValueError) as error:
        print(f"no answer: {error}", file=sys.stderr)
        return 1
    if answer["state"] == "succeeded":
        print("result    ", answer["result"])
    elif answer["state"] == "not_admitted":
        print("refused   ", answer["admission"]["rule"], "line", answer["admission"]["line"])
    else:
        print("failed    ", answer["failure"]["code"], answer["failure"]["message"])
    print("metered   ", answer["metered"]["compute_runs"], "run", answer["metered"]["compute_seconds"], "s")
    print("this month", runs["used"], "of", runs["limit"], "runs")
    return 0 if answer["state"] == "succeeded" else 1


if __name__ == "__main__":
    sys.exit(main())
