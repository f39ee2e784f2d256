// Runs a script of this repository under the Node that the repository pins.
// Any Node from 20.11 on can run this file; it installs what is missing and hands over.
import { spawn, spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import * as fs from 'node:fs'
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { buildOutdated } from '../packages/cli/src/mesh-process/build-outdated.mjs'
import { programFile, programNodeFlags } from '../packages/protocol/src/built-program.mjs'
import { enginePackages } from '../packages/fleet/src/sandbox/engine/engine-packages.mjs'

const root = dirname(dirname(fileURLToPath(import.meta.url)))
const stamp = join(root, 'node_modules', '.cache', 'flotilla-install')
const lock = createHash('sha256')
  .update(readFileSync(join(root, 'package-lock.json')))
  .digest('hex')

const pinned = join(root, 'node_modules', `node-linux-${process.arch}`, 'bin', 'node')

function installed() {
  return existsSync(stamp) && readFileSync(stamp, 'utf8') === lock
}

/** Whether a person ran `npm ci`: npm records what it installed, without the packages of other systems. */
function installedByHand() {
  const record = join(root, 'node_modules', '.package-lock.json')
  if (!existsSync(record) || !existsSync(pinned)) return false
  const { packages: there } = JSON.parse(readFileSync(record, 'utf8'))
  const { packages } = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8'))
  return Object.entries(packages).every(
    ([path, { optional, integrity, version }]) =>
      !path.startsWith('node_modules/') ||
      (optional === true && there[path] === undefined) ||
      (there[path]?.integrity === integrity && there[path]?.version === version),
  )
}

function mayInstall() {
  return process.getuid?.() === 0 && existsSync('/usr/bin/apt-get') && !process.env.FLOTILLA_NO_INSTALL
}

/** The demo needs an engine in any case, so a missing engine is installed while npm downloads. */
function wantsEngine() {
  const [script, command] = process.argv.slice(2)
  const told = process.env.FLOTILLA_ENGINE_SOCKET || process.env.DOCKER_HOST
  const places = ['/usr/sbin/dockerd', '/usr/bin/dockerd', '/var/run/docker.sock', '/run/podman/podman.sock']
  const isDemo = script === 'packages/cli/src/main.ts' && command === 'demo'
  return isDemo && mayInstall() && !told && !places.some((place) => existsSync(place))
}

async function installPackages(packages, errors) {
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' }
  const options = ['-qq', '-o', 'Acquire::Retries=3', '-o', 'DPkg::Lock::Timeout=300']
  for (const args of [['update'], ['install', '-y', '--no-install-recommends', ...packages]]) {
    const status = await ended(
      spawn('apt-get', [...options, ...args], { env, stdio: ['ignore', 'ignore', errors] }),
    )
    if (status !== 0) return
  }
}

function ended(started) {
  return new Promise((resolve) => {
    started.on('error', () => resolve(null))
    started.on('exit', (code) => resolve(code))
  })
}

/** The smallest systems lack a library of the pinned Node: it is installed if allowed, otherwise reported. */
async function makeRunnable(program) {
  const tried = () => spawnSync(program, ['--version'], { encoding: 'utf8' })
  const first = tried()
  if (first.status === 0) return
  const isMissing = /lib(atomic|stdc\+\+)\.so/.test(first.stderr ?? '')
  const packages = ['libatomic1', 'libstdc++6']
  if (isMissing && mayInstall()) {
    process.stderr.write(`Installing what the pinned Node needs: ${packages.join(' ')} ...\n`)
    await installPackages(packages, 'inherit')
    if (tried().status === 0) return
  }
  const repair = isMissing
    ? `apt-get install ${packages.join(' ')}`
    : 'use a system with glibc 2.28 or newer, as Debian 12 is'
  process.stderr.write(`The pinned Node does not start: ${(first.stderr ?? '').trim()}\nRepair: ${repair}\n`)
  process.exit(1)
}

async function install() {
  const engineToo = wantsEngine()
  process.stderr.write(
    `Installing dependencies${engineToo ? `, and beside them a container engine from this system's packages: ${enginePackages.join(' ')}` : ''} (once; about half a minute) ...\n`,
  )
  // A failure here is retried and reported where the engine is needed.
  const engine = engineToo ? installPackages(enginePackages, 'ignore') : null
  // No package that we use needs a script of its own at its installation, and one that has none can do nothing there.
  const args = ['ci', '--ignore-scripts', '--no-fund', '--no-audit', '--loglevel=error']
  const status = await ended(spawn('npm', args, { cwd: root, stdio: ['ignore', 'ignore', 'inherit'] }))
  await engine
  if (status !== 0) {
    process.stderr.write('npm ci failed. Check the registry in ~/.npmrc, then run this command again.\n')
    process.exit(1)
  }
}

if (!installed()) {
  if (!installedByHand()) await install()
  if (existsSync(pinned)) await makeRunnable(pinned)
  mkdirSync(dirname(stamp), { recursive: true })
  writeFileSync(stamp, lock)
}

const node = existsSync(pinned) ? pinned : process.execPath
if (node === process.execPath && Number(process.versions.node.split('.')[0]) < 24) {
  process.stderr.write(
    `No pinned Node for ${process.platform}-${process.arch} and this one is ${process.version}. Install Node 24 or newer and run this again.\n`,
  )
  process.exit(1)
}

const [script, ...rest] = process.argv.slice(2)
const environment = { ...process.env, PATH: `${dirname(node)}:${process.env.PATH}` }
buildOutdated(root, node, environment)

const file = script === 'packages/cli/src/main.ts' ? programFile(fs, root, 'cli') : join(root, script)
const child = spawn(node, [...programNodeFlags, file, ...rest], {
  stdio: 'inherit',
  env: environment,
})
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => child.kill(signal))
child.on('exit', (code, signal) => process.exit(signal ? 1 : (code ?? 1)))
