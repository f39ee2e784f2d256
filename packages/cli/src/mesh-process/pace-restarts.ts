import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Clock } from '@flotilla/protocol/clock'
import { storageFailedExitCode } from '@flotilla/protocol/storage-failed'
import { nextStep } from './restart-pace.ts'
import { serviceRestartMs } from '../reference/systemd-unit.ts'

export interface PaceDeps {
  /** The folder that systemd keeps for the service until a person stops it; null where systemd made none. */
  readonly folder: string | null
  /** Exit code, or number of the signal, of the last process of the service. */
  readonly lastExit: () => Promise<number>
  /** Milliseconds since the machine booted. */
  readonly uptimeMs: () => number
  readonly clock: Pick<Clock, 'sleep'>
}

/**
 * Waits before a restart of the mesh by systemd as the supervisor of `flotilla start -d` does: longer after each
 * failure in a row. Runs before the mesh in its unit, because systemd itself has such a delay only since version 254.
 * A start by a person has no delay. Without its folder it does nothing, so it never prevents a start.
 */
export async function paceRestarts({ folder, lastExit, uptimeMs, clock }: PaceDeps): Promise<void> {
  if (folder === null) return
  const note = join(folder, 'restarts')
  const before = await readNote(note)
  let failures = 0
  if (before !== null) {
    const code = await lastExit()
    const problem = code === storageFailedExitCode ? 'storage-failing' : null
    const livedMs = uptimeMs() - before.startedAtMs
    const next = nextStep({ code, signal: null, problem, wasReady: true, livedMs }, before.failures)
    if (next.restart) {
      failures = next.failures
      await clock.sleep(Math.max(0, next.delayMs - serviceRestartMs))
    }
  }
  await writeFile(note, `${failures} ${uptimeMs()}\n`).catch(() => undefined)
}

/** The failures in a row and the time of the last start; null before the first start, or for a damaged note. */
async function readNote(path: string): Promise<{ failures: number; startedAtMs: number } | null> {
  const text = await readFile(path, 'utf8').catch(() => '')
  const [, failures, startedAtMs] = /^(\d{1,9}) (\d{1,15})\n$/.exec(text) ?? []
  return failures === undefined ? null : { failures: Number(failures), startedAtMs: Number(startedAtMs) }
}
