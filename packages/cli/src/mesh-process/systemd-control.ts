import { execFile } from 'node:child_process'
import { readFile, realpath, stat } from 'node:fs/promises'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import type { Clock } from '@flotilla/protocol/clock'
import { CommandFailed } from '../command-failed.ts'
import { homeInUnit } from '../reference/systemd-unit.ts'
import { readMeshFile } from './mesh-file.ts'
import type { MeshFile } from './mesh-file.ts'
import { parseMeshLine } from './mesh-lines.ts'

export const unitName = 'flotilla.service'
/** The time limit for systemctl; it includes a mesh that stops its agents. */
const answerMaxMs = 120_000

export const isSystem = (): boolean => process.getuid?.() === 0

export function unitPath(): string {
  return isSystem()
    ? join('/etc/systemd/system', unitName)
    : join(homedir(), '.config/systemd/user', unitName)
}

/** The state of the mesh as a systemd service. */
export interface ServiceState {
  /** 0 while it is not running. */
  readonly pid: number
  /** The number of automatic restarts since the last manual start. */
  readonly restarts: number
  readonly active: string
  /** What systemd does in that state, for example `auto-restart`. */
  readonly sub: string
  /** Exit code, or number of the signal, of the last process. */
  readonly exitStatus: number
  /** The home of the unit; null if its command names none. */
  readonly home: string | null
}

/** Returns the state of Flotilla's unit; null if no such unit exists or systemctl fails. */
export async function serviceState(): Promise<ServiceState | null> {
  const unit = await readFile(unitPath(), 'utf8').catch(() => null)
  if (unit === null) return null
  const manager = isSystem() ? [] : ['--user']
  const words = [...manager, 'show', `--property=${properties.join(',')}`, unitName]
  const shown = await promisify(execFile)('systemctl', words, { timeout: answerMaxMs }).catch(() => null)
  if (shown === null) return null
  const value = (name: (typeof properties)[number]) =>
    new RegExp(`^${name}=(.*)$`, 'm').exec(shown.stdout)?.[1] ?? ''
  return {
    pid: Number(value('MainPID')),
    restarts: Number(value('NRestarts')),
    active: value('ActiveState'),
    sub: value('SubState'),
    exitStatus: Number(value('ExecMainStatus')),
    home: homeInUnit(unit),
  }
}

/** Exit code, or number of the signal, of the last process of the service; 0 if it is unknown. */
export async function lastServiceExit(): Promise<number> {
  return (await serviceState())?.exitStatus ?? 0
}

const properties = ['MainPID', 'NRestarts', 'ActiveState', 'SubState', 'ExecMainStatus'] as const

/** The systemd service that runs the mesh of this home; null if systemd does not run, or runs no mesh of it. */
export async function serviceOf(home: string): Promise<ServiceState | null> {
  // This folder exists only if systemd runs, as in sd_booted(3); else the unit has no effect.
  if (!(await isThere('/run/systemd/system'))) return null
  const state = await serviceState()
  if (state?.home === null || state === null) return null
  const placeOf = (folder: string) => realpath(folder).catch(() => folder)
  return (await placeOf(state.home)) === (await placeOf(home)) ? state : null
}

/** The command that shows the log of the service. */
export function serviceLog(): string {
  return `journalctl ${isSystem() ? '' : '--user '}-u flotilla`
}

/** The command with which a person controls the service. */
export function serviceCommand(verb: string): string {
  return `systemctl ${isSystem() ? '' : '--user '}${verb} flotilla`
}

/** How long a start may take: the first start of a release builds the image for agents. */
const startMaxMs = 900_000
const pollEveryMs = 300

/**
 * Lets systemd start the mesh of its unit, and waits until it answers. Rejects with the reason of the mesh if it ends
 * before that; systemd would otherwise try forever.
 */
export async function startService(home: string, clock: Clock): Promise<MeshFile> {
  // If the unit waits for its next automatic restart, it is stopped first: a start would wait too.
  if (/^(?:auto-restart|start-pre)/.test((await serviceState())?.sub ?? '')) await controlService('stop')
  await controlService('start')
  const end = clock.now() + startMaxMs
  for (;;) {
    const found = await readMeshFile(home)
    if (found?.alive === true) return found.mesh
    const state = await serviceState()
    if (state === null || state.restarts > 0 || state.active === 'failed' || clock.now() > end) {
      await controlService('stop').catch(() => undefined)
      throw new Error(`systemd could not start the mesh: ${reasonIn(await lastWordsOfService())}`)
    }
    await clock.sleep(pollEveryMs)
  }
}

/** The mesh's own reason for its end, else the last lines that it printed. */
function reasonIn(printed: string): string {
  const lines = printed.split('\n')
  const problem = lines.map(parseMeshLine).findLast(({ kind }) => kind === 'problem')
  return problem?.kind === 'problem' ? problem.detail : (lines.at(-1)?.slice(0, 400) ?? '')
}

/** Makes systemd start or stop the mesh of its unit. */
export async function controlService(verb: 'start' | 'stop'): Promise<void> {
  // `reset-failed` resets the restart counter, and allows a start after too many failures.
  if (verb === 'start') await systemctl('reset-failed', unitName).catch(() => undefined)
  await systemctl(verb, unitName)
}

/** Returns the last log lines of the service; empty if this user may not read them. */
export async function lastWordsOfService(): Promise<string> {
  const manager = isSystem() ? [] : ['--user']
  const words = [...manager, '--unit', unitName, '--lines', '20', '--output', 'cat', '--no-pager']
  const read = await promisify(execFile)('journalctl', words, { timeout: answerMaxMs }).catch(() => null)
  return read?.stdout.trim() ?? ''
}

export async function systemctl(...words: readonly string[]): Promise<void> {
  const manager = isSystem() ? [] : ['--user']
  try {
    await promisify(execFile)('systemctl', [...manager, ...words], { timeout: answerMaxMs })
  } catch (error) {
    const stderr: unknown = Reflect.get(Object(error), 'stderr')
    throw new CommandFailed('systemd-refused', {
      detail: `systemctl ${words.join(' ')} failed: ${typeof stderr === 'string' && stderr !== '' ? stderr.trim() : String(error)}`,
      repair:
        'flotilla service install --print shows the unit, for machines that are managed in another way.',
    })
  }
}

export function isThere(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    () => false,
  )
}
