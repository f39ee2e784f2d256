'use strict'
// Runs inside a throw-away container with an agent's walls around it: tries what the walls must prevent and prints,
// as one line of JSON, what really happened. It judges nothing; the mesh does.
const { spawnSync } = require('node:child_process')
const { readFileSync, writeFileSync, chmodSync, readdirSync } = require('node:fs')
const { Resolver } = require('node:dns')
const { connect } = require('node:net')
const { networkInterfaces } = require('node:os')

const manyProcesses = 300
/** Far more than 256 processes need; within the minute that the mesh gives the whole probe. */
const startingMs = 40_000
const plan = JSON.parse(process.argv[2])
/** Of one attempt: whoever runs in software needs longer to be let through. */
const { attemptMs = 1_000 } = plan

function tryConnect(target) {
  return new Promise((resolve) => {
    const socket = connect({ host: target.host, port: target.port })
    const settle = (outcome) => {
      socket.destroy()
      resolve({ group: target.group, target: `${target.host}:${target.port}`, outcome })
    }
    socket.setTimeout(attemptMs, () => settle('timeout'))
    socket.once('connect', () => settle('connected'))
    socket.once('error', (error) => settle(error.code ?? error.message))
  })
}

/** Not through libc: its look-up cannot be called off, and the process would wait for it at its end. */
function tryName(name) {
  return new Promise((resolve) => {
    new Resolver({ timeout: attemptMs, tries: 1 }).resolve4(name, (error, addresses) => {
      resolve({
        group: 'names',
        target: name,
        outcome: error ? error.code : `resolved ${addresses.join(' ')}`,
      })
    })
  })
}

function outcomeOf(action) {
  try {
    return action() ?? 'done'
  } catch (error) {
    return error.code ?? error.message
  }
}

function run(command, args) {
  const done = spawnSync(command, args, { encoding: 'utf8', timeout: 10_000 })
  if (done.error) return done.error.code
  return done.status === 0
    ? 'done'
    : `exit ${done.status}: ${(done.stderr || done.stdout).trim().split('\n').at(-1)}`
}

function execInTmp() {
  writeFileSync('/tmp/try', '#!/bin/true\n')
  chmodSync('/tmp/try', 0o755)
  return run('/tmp/try', [])
}

/**
 * How many of 300 processes could be started beside each other, and why it ended there. Each outlasts the whole try,
 * however slow the machine is: those that end meanwhile would make room for the next. They end with the container.
 */
function countProcesses() {
  // Each waits for a writer who never comes: a program for each would take five times as long to start.
  const waits = '(exec >/dev/null 2>&1; read never </tmp/held) &'
  const loop = `mkfifo /tmp/held; i=0; while [ $i -lt ${manyProcesses} ]; do ${waits} i=$((i+1)); echo $i; done`
  const done = spawnSync('sh', ['-c', loop], { encoding: 'utf8', timeout: startingMs })
  const started = done.stdout.trim().split('\n').filter(Boolean).length
  const said = done.stderr.trim().split('\n').at(-1) ?? ''
  return { started, said: done.error ? `${done.error.code} after ${startingMs} ms` : said }
}

/** What a program may raise its own bound to. */
function openFilesMax() {
  const [, most = 'not told'] =
    /^Max open files\s+\S+\s+(\S+)/m.exec(readFileSync('/proc/self/limits', 'utf8')) ?? []
  return most
}

function statusFields() {
  const fields = {}
  for (const line of readFileSync('/proc/self/status', 'utf8').split('\n')) {
    const [name, value] = line.split(':')
    if (/^(Cap(Inh|Prm|Eff|Bnd|Amb)|NoNewPrivs|Seccomp|Uid)$/.test(name))
      fields[name] = value.trim().split(/\s+/)[0]
  }
  return fields
}

async function main() {
  const attempts = await Promise.all([...plan.connect.map(tryConnect), ...plan.names.map(tryName)])
  const report = {
    attempts,
    status: statusFields(),
    writeRoot: outcomeOf(() => writeFileSync('/written-by-probe', '')),
    writeEtc: outcomeOf(() => writeFileSync('/etc/written-by-probe', '')),
    // A folder of its own: there the file system alone refuses, and no owner.
    writeOwned: outcomeOf(() => writeFileSync('/opt/flotilla/compile-cache/written-by-probe', '')),
    makeMessageQueue: outcomeOf(() => writeFileSync('/dev/mqueue/made-by-probe', '')),
    execInTmp: outcomeOf(execInTmp),
    userNamespace: run('unshare', ['--user', 'true']),
    networkNamespace: run('unshare', ['--net', 'true']),
    mount: run('mount', ['-t', 'tmpfs', 'none', '/tmp']),
    processes: countProcesses(),
    openFilesMax: outcomeOf(openFilesMax),
    engineSocket: outcomeOf(
      () =>
        readdirSync('/var/run')
          .filter((name) => /^(docker|podman|containerd|crio)(\.sock)?$/.test(name))
          .join(' ') || 'none',
    ),
    addresses: Object.values(networkInterfaces())
      .flat()
      .map((entry) => entry.address),
  }
  process.stdout.write(`${JSON.stringify(report)}\n`)
}

main().then(
  () => process.exit(0),
  (error) => {
    process.stderr.write(`${error.stack}\n`)
    process.exit(1)
  },
)
