#!/usr/bin/env bash
# One compute step with curl. Needs COMPUTE_STEP_KEY; COMPUTE_STEP_URL is http://127.0.0.1:8080 if it is not set.
# Ends with 0 where the step succeeded, 1 where it did not, 2 where there is no key.
set -euo pipefail
cd "$(dirname "$0")"

url=${COMPUTE_STEP_URL:-http://127.0.0.1:8080}
if [ -z "${COMPUTE_STEP_KEY:-}" ]; then
  echo "Set COMPUTE_STEP_KEY to an API key (compute-step key create)." >&2
  exit 2
fi

# The key goes in by standard input: an argument of a command is there for every user of the machine to read.
call() {
  printf 'authorization: Bearer %s\n' "$COMPUTE_STEP_KEY" | curl --silent --show-error --header @- "$@"
}

echo "The prompt that the model would get, without asking it. No value of the data is in it:"
call "$url/v1/compute/prompt" --fail-with-body --header 'content-type: application/json' \
  --data-binary @step.json || exit 1
echo

# --retry honours Retry-After, and with one Idempotency-Key a retry never runs or counts twice. A Retry-After past
# --retry-max-time, such as that of a spent quota, is not waited for.
echo "The step:"
answer=$(call "$url/v1/compute" --header 'content-type: application/json' --data-binary @step.json \
  --header "idempotency-key: example-$$-$(date +%s)" --retry 4 --retry-max-time 60 --max-time 150)
printf '%s\n' "$answer"

echo "What is left this month:"
call "$url/v1/usage"
echo

# A problem has no state. The answer is 200 whatever the state of the Computation.
case $answer in
*'"state":"succeeded"'*) ;;
*) exit 1 ;;
esac
