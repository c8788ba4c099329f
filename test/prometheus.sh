#!/usr/bin/env bash
# Prometheus' programs (prometheus, promtool) on hand for the tests, which start servers of their own: ends with 0 where
# they are found or, on Debian as root, could be installed; else with 1 and one line that says what to do. A server that
# the package starts is ended and not started again at boot; one that was there before is not touched.
set -euo pipefail

found() {
  command -v prometheus >/dev/null && command -v promtool >/dev/null
}

fail() {
  echo "prometheus: $1" >&2
  exit 1
}

found && exit 0
if [ ! -e /etc/debian_version ] || [ "$(id -u)" != 0 ]; then
  fail "the tests of the metrics need prometheus and promtool; install them (Debian, as root: apt-get install prometheus)"
fi
echo "prometheus: installing prometheus"
export DEBIAN_FRONTEND=noninteractive
apt=(apt-get -qq -o DPkg::Lock::Timeout=120 -o Dpkg::Options::=--force-confold)

# 101 keeps a package from starting its service. A policy that the machine has stays; what it lets start is ended below.
policy=/usr/sbin/policy-rc.d
if [ ! -e "$policy" ]; then
  trap 'rm -f "$policy"' EXIT
  printf '#!/bin/sh\nexit 101\n' >"$policy"
  chmod 755 "$policy"
fi
{ "${apt[@]}" update && "${apt[@]}" install -y --no-install-recommends prometheus; } >/dev/null 2>&1 </dev/null ||
  fail "apt-get could not install prometheus; install it by hand"
if [ -d /run/systemd/system ]; then
  systemctl disable --now prometheus.service
else
  service prometheus stop
  update-rc.d prometheus disable
fi >/dev/null 2>&1 </dev/null || true
found || fail "prometheus was installed, and prometheus or promtool is not in PATH; install another version by hand"
