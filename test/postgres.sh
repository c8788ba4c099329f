#!/usr/bin/env bash
# PostgreSQL's programs on hand for the tests, which start servers of their own: ends with 0 where they are found or,
# on Debian as root, could be installed; else with 1 and one line that says what to do. Touches no server.
set -euo pipefail

found() {
  compgen -G '/usr/lib/postgresql/*/bin/initdb' >/dev/null
}

fail() {
  echo "postgres: $1" >&2
  exit 1
}

found && exit 0
if [ ! -e /etc/debian_version ] || [ "$(id -u)" != 0 ]; then
  fail "the ledger's tests need PostgreSQL's programs; install them (Debian, as root: apt-get install postgresql)"
fi
echo "postgres: installing postgresql"
export DEBIAN_FRONTEND=noninteractive
apt=(apt-get -qq -o DPkg::Lock::Timeout=120 -o Dpkg::Options::=--force-confold)
# The package would make and start a cluster that nobody here needs; what is configured already stays.
if [ ! -e /etc/postgresql-common/createcluster.conf ]; then
  mkdir -p /etc/postgresql-common
  echo 'create_main_cluster = false' >/etc/postgresql-common/createcluster.conf
fi
{
  "${apt[@]}" update &&
    { "${apt[@]}" install -y --no-install-recommends postgresql-15 ||
      "${apt[@]}" install -y --no-install-recommends postgresql; }
} >/dev/null 2>&1 </dev/null || fail "apt-get could not install postgresql; install it by hand"
found || fail "postgresql was installed, and /usr/lib/postgresql has no initdb; install another version by hand"
