import { mkdir, open, readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import type { Clock } from '@flotilla/protocol/clock'
import { backupNameSchema } from '@flotilla/protocol/backup-api'
import { backupLimits } from '@flotilla/protocol/backup-limits'
import type { BackupFile, BackupsView } from '@flotilla/protocol/backup-api'
import { Problem } from '@flotilla/protocol/problem'
import { actorOf, requireAtTerminal } from '@flotilla/identity/access'
import type { Caller, Guard } from '@flotilla/identity/access'
import type { Journal } from '@flotilla/foundation/journal'
import type { Log } from '@flotilla/foundation/platform'
import type { BackupRequest, RunBackupProgram } from './backup-program.ts'
import { headerMaxBytes, isClosed } from './seal-archive.ts'

/** The permission for backups: a backup with its passphrase gives access to every credential. */
const requiredPermission = { do: 'manage-credentials' } as const
/** The maximum number of file names read from the folder; further ones are ignored. */
const namesMax = 1000

/**
 * Backups that an owner makes and views on a page, in `folder`, one operation at a time, each in its own process. The
 * current operation and the result of the last one are kept in memory; an interrupted backup leaves no file.
 */
export interface HomeBackups {
  view(caller: Caller): Promise<BackupsView>
  /**
   * Without a passphrase the backup contains no secrets. Problem `conflict` while another one runs, or if there are
   * too many.
   */
  make(caller: Caller, passphrase: string | null): Promise<BackupsView>
  /** Problems `not-found`, `conflict`. */
  verify(caller: Caller, name: string, passphrase: string | null): Promise<BackupsView>
  /** Aborts the running backup and waits for its end. */
  close(): Promise<void>
}

export function createHomeBackups(deps: {
  readonly guard: Guard
  readonly folder: string
  readonly run: RunBackupProgram
  readonly clock: Clock
  readonly journal: Journal
  readonly log: Log
}): HomeBackups {
  const { guard, folder, run, clock, journal, log } = deps
  const closing = new AbortController()
  let working: BackupsView['working'] = null
  let last: BackupsView['last'] = null
  let running: Promise<void> = Promise.resolve()

  async function shown(): Promise<BackupsView> {
    return { folder, backups: await listBackups(folder), working, last }
  }

  function requireIdle(): void {
    if (!working) return
    throw new Problem('conflict', {
      detail: `${working.name} is being ${working.deed === 'make' ? 'made' : 'read'}`,
      repair: 'Wait until that has ended; only one backup is written or checked at a time.',
    })
  }

  /** Starts an operation in the background, after the audit log has recorded the request. */
  function begin(
    caller: Caller,
    request: Pick<BackupRequest, 'deed' | 'passphrase'> & { readonly name: string },
  ): void {
    const { deed, name, passphrase } = request
    const actor = actorOf(caller)
    const detail = { encrypted: passphrase !== null }
    journal.append({ actor, action: deed === 'make' ? 'backup.begun' : 'backup.read', subject: name, detail })
    const state = { deed, name, step: 'Starting', bytes: 0, of: null, started_at: clock.now() }
    working = state
    const change = (part: Partial<NonNullable<BackupsView['working']>>) => {
      working = { ...(working ?? state), ...part }
    }
    const work = async (): Promise<void> => {
      const end = await run({
        deed,
        file: join(folder, name),
        passphrase,
        step: (text) => change({ step: text.slice(0, backupLimits.wordsMaxChars) }),
        moved: ({ bytes, of }) => change({ bytes, of }),
        signal: closing.signal,
      })
      const result = end.message.slice(0, backupLimits.wordsMaxChars)
      working = null
      last = { deed, name, ok: end.ok, words: result, ended_at: clock.now() }
      log.info({ backup: name, deed, ok: end.ok }, 'a program that writes or checks a backup has ended')
      if (deed === 'make') {
        const action = end.ok ? 'backup.made' : 'backup.failed'
        journal.append({ actor, action, subject: name, detail: { words: result } })
      }
    }
    running = work().catch((error: unknown) =>
      log.error(
        { err: error, backup: name },
        'failed to finish the record of a backup; the file itself is complete or absent',
      ),
    )
  }

  return {
    view: async (caller) => {
      guard(caller, requiredPermission)
      requireAtTerminal(caller, 'look at backups')
      return shown()
    },
    make: async (caller, passphrase) => {
      guard(caller, requiredPermission)
      requireAtTerminal(caller, 'make a backup')
      requireIdle()
      await mkdir(folder, { recursive: true, mode: 0o700 })
      const { length } = await listBackups(folder)
      if (length >= backupLimits.keptMax) {
        throw new Problem('conflict', {
          detail: `the folder ${folder} already has ${length} backups, the maximum`,
          repair:
            'Move some of the backups to another disk, or remove some, in a terminal of the machine of the mesh.',
        })
      }
      // Checks again, because another caller may have begun a backup during the waits above.
      requireIdle()
      begin(caller, { deed: 'make', name: nameAt(clock.now()), passphrase })
      return shown()
    },
    verify: async (caller, name, passphrase) => {
      guard(caller, requiredPermission)
      requireAtTerminal(caller, 'read a backup')
      const isThere = backupNameSchema.safeParse(name).success && (await sizeOf(join(folder, name))) !== null
      if (!isThere) throw new Problem('not-found', { detail: 'no backup has this name' })
      requireIdle()
      begin(caller, { deed: 'verify', name, passphrase })
      return shown()
    },
    close: async () => {
      closing.abort()
      await running
    },
  }
}

/** Pure. */
export function nameAt(now: number): string {
  return `backup-${new Date(now).toISOString().replace(/[-:]|\.\d+/g, '')}`
}

async function listBackups(folder: string): Promise<BackupFile[]> {
  const names = (await readdir(folder).catch(() => [] as string[]))
    .filter((name) => backupNameSchema.safeParse(name).success)
    .toSorted()
    .toReversed()
    .slice(0, namesMax)
  const files: BackupFile[] = []
  for (const name of names) {
    const path = join(folder, name)
    const found = await sizeOf(path)
    if (!found) continue
    files.push({ name, bytes: found.bytes, made_at: found.changedAt, encrypted: await isEncrypted(path) })
  }
  return files
}

async function sizeOf(path: string): Promise<{ readonly bytes: number; readonly changedAt: number } | null> {
  const found = await stat(path).catch(() => null)
  return found?.isFile() === true ? { bytes: found.size, changedAt: found.mtimeMs } : null
}

/** Returns whether the first line says that the backup is encrypted; null if the file is not a backup. */
async function isEncrypted(path: string): Promise<boolean | null> {
  const file = await open(path, 'r').catch(() => null)
  if (!file) return null
  try {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(headerMaxBytes), 0, headerMaxBytes, 0)
    const end = buffer.subarray(0, bytesRead).indexOf('\n')
    return end === -1 ? null : isClosed(buffer.subarray(0, end + 1))
  } catch {
    return null
  } finally {
    await file.close()
  }
}
