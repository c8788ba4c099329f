#!/usr/bin/env bash
# A container engine on hand: ends with 0 and one that answers, or with 1 and one line that says what to do.
#
# Takes DOCKER_HOST if set (and nothing else then), else the local socket; else, on Debian as root, installs
# docker.io and starts it. Says nothing when all is fine, one line when it installs. An engine that runs is only
# asked whether it answers.
set -euo pipefail

socket=/var/run/docker.sock
wait_seconds=60

# Whether an engine answers at an address (unix:///path, tcp://host:port, http(s)://host:port). Node is the one tool
# that is sure to be here: no curl, and trixie's docker.io comes without the docker command.
answers() {
  node -e '
    const given = process.argv[1];
    const timer = setTimeout(() => process.exit(1), 5000);
    const done = (ok) => { clearTimeout(timer); process.exit(ok ? 0 : 1); };
    const unix = /^unix:\/\/(.+)$/.exec(given);
    let target;
    try {
      target = unix ? { socketPath: unix[1], path: "/_ping" } : new URL("/_ping", given.replace(/^tcp:/, "http:"));
    } catch { done(false); }
    const tls = process.env.DOCKER_TLS_VERIFY && !unix;
    if (tls || (!unix && target.protocol === "https:")) {
      // The certificates are the business of the client that comes after; here it counts that somebody listens.
      require("net").connect(Number(target.port) || 2376, target.hostname, () => done(true)).on("error", () => done(false));
    } else {
      require("http").get(target, (reply) => done(reply.statusCode === 200)).on("error", () => done(false));
    }' "$1" 2>/dev/null
}

fail() {
  echo "engine: $1" >&2
  exit 1
}

if [ -n "${DOCKER_HOST:-}" ]; then
  answers "$DOCKER_HOST" && exit 0
  fail "no engine answers at DOCKER_HOST; start it, or correct or unset DOCKER_HOST"
fi
answers "unix://$socket" && exit 0

if [ -S "$socket" ] && [ ! -w "$socket" ]; then
  fail "this user may not use $socket; add it to the group docker, or set DOCKER_HOST"
fi
if [ ! -e /etc/debian_version ] || [ "$(id -u)" != 0 ]; then
  fail "no Docker engine answers at $socket; install and start one (Debian, as root: apt-get install docker.io iptables), or set DOCKER_HOST"
fi

# One at a time: whoever comes second finds the engine running. Bounded like everything here (an install included).
exec 9>"${TMPDIR:-/tmp}/compute-step-engine.lock"
flock -w 300 9 || fail "another engine.sh has been at work for 5 minutes; end it and try again"
answers "unix://$socket" && exit 0

if ! command -v dockerd >/dev/null || ! command -v iptables >/dev/null; then
  echo "engine: installing docker.io"
  export DEBIAN_FRONTEND=noninteractive
  apt=(apt-get -qq -o DPkg::Lock::Timeout=120)
  # 9>&-: a daemon that the package starts must not keep the lock.
  if ! { "${apt[@]}" update && "${apt[@]}" install -y --no-install-recommends docker.io iptables; } >/dev/null 2>&1 9>&-; then
    fail "apt-get could not install docker.io and iptables; install a Docker engine by hand, or set DOCKER_HOST"
  fi
fi

log=/var/log/dockerd.log
if [ -d /run/systemd/system ]; then
  log='journalctl -u docker'
  systemctl start docker >/dev/null 2>&1 9>&- || fail "systemctl could not start docker; see $log"
  daemon=
elif ! answers "unix://$socket"; then
  [ -w /var/log ] || log=${TMPDIR:-/tmp}/dockerd.log
  setsid dockerd >>"$log" 2>&1 </dev/null 9>&- &
  daemon=$!
fi

deadline=$((SECONDS + wait_seconds))
while ((SECONDS < deadline)); do
  answers "unix://$socket" && exit 0
  if [ -n "${daemon:-}" ] && ! kill -0 "$daemon" 2>/dev/null; then
    fail "dockerd ended at its start; see $log"
  fi
  sleep 1
done
fail "dockerd did not answer within $wait_seconds s; see $log"
