import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import process from 'node:process'
import { debianPrograms } from './debian-package.ts'
import { eventually } from './eventually.ts'
import { heldPort } from './held-port.ts'

/** The tinyproxy program of the distribution, which listens on loopback and requires a password. */
export interface Tinyproxy {
  /** The proxy's address without user name and password. */
  readonly url: string
  /** The proxy's address with user name and password, as in `HTTPS_PROXY`. */
  readonly withPassword: string
  /** The destinations of its requests so far, in order: `CONNECT host:port`, or `GET http://...`. */
  asked(): Promise<readonly string[]>
  stop(): Promise<void>
}

const login = { user: 'ann', password: 'secret-word' } as const

/** Returns the program, unpacked into `folder` if it is not installed; null if its package cannot be downloaded. */
export async function fetchTinyproxy(folder: string): Promise<string | null> {
  const programs = await debianPrograms(folder, ['tinyproxy-bin'], 'tinyproxy')
  return programs === null ? null : join(programs, 'tinyproxy')
}

export interface TinyproxyOptions {
  readonly program: string
  /** Names that only this proxy resolves, to loopback, because it runs with its own /etc/hosts. */
  readonly names: readonly string[]
  /** An address that this proxy reaches through another proxy at this loopback port. */
  readonly outside: { readonly address: string; readonly port: number }
}

export async function startTinyproxy({ program, names, outside }: TinyproxyOptions): Promise<Tinyproxy> {
  const folder = await mkdtemp(join(tmpdir(), 'flotilla-tinyproxy-'))
  const port = await heldPort()
  const [hosts, configuration, log] = ['hosts', 'tinyproxy.conf', 'log'].map((name) => join(folder, name))
  await writeFile(hosts ?? '', ['localhost', ...names].map((name) => `127.0.0.1 ${name}\n`).join(''))
  const lines = [
    `Port ${port}`,
    'Listen 127.0.0.1',
    'Timeout 60',
    `LogFile "${log}"`,
    'LogLevel Connect',
    'MaxClients 100',
    `Upstream http 127.0.0.1:${outside.port} "${outside.address}"`,
    `BasicAuth ${login.user} ${login.password}`,
  ]
  await writeFile(configuration ?? '', `${lines.join('\n')}\n`)
  const isRoot = process.getuid?.() === 0
  const script = 'mount --bind "$1" /etc/hosts && exec "$2" -d -c "$3"'
  const child = spawn(
    'unshare',
    [
      ...(isRoot ? [] : ['--user', '--map-root-user']),
      '--mount',
      '--propagation',
      'private',
      'sh',
      '-c',
      script,
      'sh',
      hosts ?? '',
      program,
      configuration ?? '',
    ],
    { stdio: ['ignore', 'ignore', 'inherit'] },
  )
  const ended = once(child, 'exit')
  await eventually('tinyproxy answers', () => {
    if (child.exitCode !== null) throw new Error(`tinyproxy ended with ${child.exitCode}`)
    return answers(port)
  })
  return {
    url: `http://127.0.0.1:${port}`,
    withPassword: `http://${login.user}:${login.password}@127.0.0.1:${port}`,
    asked: async () => {
      const text = await readFile(log ?? '', 'utf8')
      return [...text.matchAll(/Request \(file descriptor \d+\): (\S+ \S+)/g)].map(
        ([, request]) => request ?? '',
      )
    },
    async stop() {
      child.kill('SIGTERM')
      await ended
      await rm(folder, { recursive: true, force: true })
    },
  }
}

/** Returns true once a connection to the port succeeds; null until then. */
function answers(port: number): Promise<true | null> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1')
      .once('connect', () => resolve(true))
      .once('error', () => resolve(null))
      .once('close', () => resolve(null))
    socket.once('connect', () => socket.destroy())
  })
}
