import { spawn } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { access, mkdir, open, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { runCommand } from '../run-command.ts'
import { SandboxError } from '../sandbox-error.ts'

/** The time limit of one `systemctl` command, in milliseconds. */
const systemctlTimeoutMs = 60_000

/** Paths of the log, the process id and the settings of an engine that the mesh started. */
export function dockerdFiles(stateDirectory: string): {
  readonly log: string
  readonly pid: string
  readonly settings: string
} {
  const file = (name: string) => join(stateDirectory, name)
  return { log: file('dockerd.log'), pid: file('dockerd.pid'), settings: file('daemon.json') }
}

/** The owner's own dockerd settings on this machine; if this file exists, the mesh writes no settings. */
const machineSettings = '/etc/docker/daemon.json'

/**
 * Returns dockerd's arguments for a settings file. The mesh can add runtimes later: dockerd re-reads it on a signal.
 */
async function settingsArguments(path: string): Promise<readonly string[]> {
  if (await exists(machineSettings)) return []
  await writeFile(path, '{}\n', { mode: 0o600 })
  return ['--config-file', path]
}

/** Returns the process of the engine that this mesh started with its own settings file; null without one. */
export async function ownDockerd(stateDirectory: string): Promise<{ readonly pid: number } | null> {
  const files = dockerdFiles(stateDirectory)
  const pid = Number((await readFile(files.pid, 'utf8').catch(() => '')).trim())
  if (!Number.isInteger(pid) || pid <= 1) return null
  const words = (await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '')).split('\0')
  // The process id may belong to another process by now.
  const isOurs = words[0]?.endsWith('dockerd') === true && words.includes(files.settings)
  return isOurs ? { pid } : null
}

export async function writeDockerdSettings(stateDirectory: string, settings: object): Promise<void> {
  const { settings: path } = dockerdFiles(stateDirectory)
  await writeFile(path, `${JSON.stringify(settings)}\n`, { mode: 0o600 })
}

/**
 * Starts the installed engine: with systemd if systemd is running, else as a detached process. Resolves once the
 * engine was started; it may not answer yet.
 */
export async function startDockerd(options: {
  readonly stateDirectory: string
  readonly signal?: AbortSignal | undefined
}) {
  if (await exists('/run/systemd/system')) {
    const done = await runCommand('systemctl', ['start', 'docker'], {
      timeoutMs: systemctlTimeoutMs,
      signal: options.signal,
    })
    if (done.code === 0) return
    throw new SandboxError(
      'engine-start-failed',
      `systemctl start docker failed: ${done.stderr.trim()}\nRepair: sudo journalctl -u docker`,
    )
  }
  await mkdir(options.stateDirectory, { recursive: true, mode: 0o700 })
  const files = dockerdFiles(options.stateDirectory)
  const log = await open(files.log, 'a', 0o600)
  try {
    const words = await settingsArguments(files.settings)
    const child = await new Promise<ChildProcess>((resolve, reject) => {
      const started = spawn('dockerd', words, {
        detached: true,
        stdio: ['ignore', log.fd, log.fd],
        cwd: '/',
      })
      started.once('spawn', () => resolve(started))
      started.once('error', reject)
    }).catch((cause: unknown) => {
      const why = cause instanceof Error ? cause.message : String(cause)
      throw new SandboxError('engine-start-failed', `dockerd could not be started: ${why}`, { cause })
    })
    child.unref()
    await writeFile(files.pid, `${child.pid}\n`, { mode: 0o600 })
  } finally {
    await log.close()
  }
}

/** Returns the last log lines of an engine that the mesh started; empty if there is no log. */
export async function dockerdLastWords(stateDirectory: string): Promise<string> {
  const text = await readFile(dockerdFiles(stateDirectory).log, 'utf8').catch(() => '')
  return text.trim().split('\n').slice(-6).join('\n').slice(-1500)
}

async function exists(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  )
}
