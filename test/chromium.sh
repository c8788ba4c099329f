#!/usr/bin/env bash
# A Chromium on hand for the tests of the page, and a font for it to write in: ends with 0 where both are found or, on
# Debian as root, could be installed; else with 1 and one line that says what to do. Starts nothing.
set -euo pipefail

found() {
  [ -x /usr/bin/chromium ] && compgen -G '/usr/share/fonts/truetype/*/*.ttf' >/dev/null
}

fail() {
  echo "chromium: $1" >&2
  exit 1
}

found && exit 0
if [ ! -e /etc/debian_version ] || [ "$(id -u)" != 0 ]; then
  fail "the page's tests need /usr/bin/chromium; install it (Debian, as root: apt-get install chromium fonts-liberation)"
fi
echo "chromium: installing chromium"
export DEBIAN_FRONTEND=noninteractive
apt=(apt-get -qq -o DPkg::Lock::Timeout=120 -o Dpkg::Options::=--force-confold)
{
  "${apt[@]}" update &&
    "${apt[@]}" install -y --no-install-recommends chromium fonts-liberation
} >/dev/null 2>&1 </dev/null || fail "apt-get could not install chromium; install it and fonts-liberation by hand"
found || fail "chromium was installed, and /usr/bin/chromium or its fonts are not there; install them by hand"
