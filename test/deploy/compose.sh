#!/usr/bin/env bash
# docker-compose on hand for the tests of the deployment: ends with 0 where it is found or, on Debian as root, could be
# installed; else with 1 and one line that says what to do. Touches no engine.
set -euo pipefail

fail() {
  echo "compose: $1" >&2
  exit 1
}

command -v docker-compose >/dev/null && exit 0
if [ ! -e /etc/debian_version ] || [ "$(id -u)" != 0 ]; then
  fail "the tests of the deployment need docker-compose; install it (Debian, as root: apt-get install docker-compose)"
fi
echo "compose: installing docker-compose"
export DEBIAN_FRONTEND=noninteractive
apt=(apt-get -qq -o DPkg::Lock::Timeout=120)
{ "${apt[@]}" update && "${apt[@]}" install -y --no-install-recommends docker-compose; } >/dev/null 2>&1 </dev/null ||
  fail "apt-get could not install docker-compose; install it by hand"
command -v docker-compose >/dev/null || fail "docker-compose was installed and is not in PATH; install it by hand"
