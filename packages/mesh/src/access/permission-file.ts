import type { Clock } from '@flotilla/protocol/clock'
import { operatorAgentId } from '@flotilla/protocol/ids'
import { controlPlaneFlags, permissionFileSchema } from '@flotilla/protocol/permission-record'
import type { PermissionFile, PermissionRecord } from '@flotilla/protocol/permission-record'
import { Problem } from '@flotilla/protocol/problem'
import { readJsonDocument, readTextFile, sameStamp, stampOf } from '../config/index.ts'
import type { FileEditor, FileStamp, JsonDocument } from '../config/index.ts'
import type { Log } from '../platform/index.ts'
import type { PermissionRecords } from './authorize.ts'
import { handActor } from './journal-grants.ts'
import type { JournalGrants } from './journal-grants.ts'

/**
 * `config/permissions.json`, the truth about who may do what.
 *
 * 1. A missing or broken file denies everything, from the moment that is noticed.
 * 2. A change by hand is noticed within a second.
 * 3. Edits run one after the other on what stands on disk, so that none undoes another or a hand.
 */
export interface PermissionStore {
  /** What holds now; stays what it is while the file changes. */
  snapshot(): PermissionSnapshot
  /**
   * Rewrites the records; `change` gets a copy and returns what shall stand. A missing file counts as empty. Throws
   * the Problem `unprocessable` where the file is broken: only a hand can mend it.
   */
  edit(
    change: (records: Readonly<Record<string, PermissionRecord>>) => Record<string, PermissionRecord>,
    /** Whose edit it is, for the journal. */
    actor?: string,
  ): Promise<void>
  /** Looks at the file now; resolves when the snapshot is of it. */
  refresh(): Promise<void>
  /** Stops looking at the file. */
  close(): Promise<void>
}

export interface PermissionSnapshot extends PermissionRecords {
  /** The line, from 1, of a record, of one of its fields or of an entry of a list; null when it is not in the file. */
  lineOf(agentId: string, field?: string, entry?: number): number | null
  /** Where the fault of a broken file is; null while it is whole or missing. */
  readonly brokenLine: number | null
}

export interface PermissionFileDeps {
  readonly path: string
  readonly editor: FileEditor
  readonly clock: Clock
  readonly log: Log
  /** Called when the file becomes missing or broken, and with null when it is whole again. */
  readonly onBroken: (detail: string | null) => void
  /** Called with what holds when it was read: who is known to have changed it, or whoever edits files by hand. */
  readonly onRecords?: JournalGrants
}

/** Half of the second within which a change by hand must be noticed. */
const pollIntervalMs = 500

export async function createPermissionFile(deps: PermissionFileDeps): Promise<PermissionStore> {
  const { path, editor, clock, log } = deps
  const stopping = new AbortController()
  let stamp: FileStamp | null = null
  let current: PermissionSnapshot = brokenSnapshot('config/permissions.json has not been read')
  let reading: Promise<void> = Promise.resolve()

  async function load(): Promise<void> {
    try {
      // The stamp is taken first: a write between the two is then seen by the next look.
      stamp = await stampOf(path)
      const text = await readTextFile(path)
      take(snapshotOf(text))
      tell(text, handActor)
    } catch (error) {
      log.error({ err: error }, 'permission file cannot be read')
      take(brokenSnapshot('config/permissions.json cannot be read'))
    }
  }

  function tell(text: string | null, actor: string): void {
    const reading = text === null || !deps.onRecords ? null : readJsonDocument(text, permissionFileSchema)
    if (!reading?.ok) return
    const { value, lineOf } = reading.document
    const leftOut = Object.hasOwn(value.permissions, operatorAgentId)
      ? controlPlaneFlags.filter((flag) => lineOf(['permissions', operatorAgentId, flag]) === null)
      : []
    deps.onRecords?.(value.permissions, actor, leftOut)
  }

  function take(next: PermissionSnapshot): void {
    const before = current.broken
    current = next
    if (next.broken === before) return
    if (next.broken === null) log.info({}, 'permission file is whole')
    else log.error({ detail: next.broken }, 'everything is denied')
    deps.onBroken(next.broken)
  }

  function refresh(): Promise<void> {
    reading = reading.then(load)
    return reading
  }

  async function poll(): Promise<void> {
    while (!stopping.signal.aborted) {
      await clock.sleep(pollIntervalMs, stopping.signal)
      const found = await stampOf(path).catch(() => null)
      if (!sameStamp(found, stamp)) await refresh()
    }
  }

  await refresh()
  const polling = poll().catch((error: unknown) => {
    if (!stopping.signal.aborted) throw error
  })

  return {
    snapshot: () => current,
    refresh,
    async edit(change, actor = 'system') {
      let before: string | null = null
      let after: string | null = null
      await editor.edit(path, (text) => {
        before = text
        after = rewritten(text, change)
        return after
      })
      // A hand may have been there first.
      tell(before, handActor)
      tell(after, actor)
      await refresh()
    },
    async close() {
      stopping.abort()
      await polling
    },
  }
}

function rewritten(
  text: string | null,
  change: (records: Readonly<Record<string, PermissionRecord>>) => Record<string, PermissionRecord>,
): string {
  let records: Record<string, PermissionRecord> = {}
  if (text !== null) {
    const reading = readJsonDocument(text, permissionFileSchema)
    if (!reading.ok) {
      throw new Problem('unprocessable', {
        detail: `config/permissions.json line ${reading.line}: ${reading.reason}; mend it by hand first`,
        extra: { file: 'config/permissions.json', line: reading.line },
      })
    }
    records = reading.document.value.permissions
  }
  const next = permissionFileSchema.parse({ permissions: change(structuredClone(records)) })
  return `${JSON.stringify(next, null, 2)}\n`
}

function snapshotOf(text: string | null): PermissionSnapshot {
  if (text === null) return brokenSnapshot('config/permissions.json is missing')
  const reading = readJsonDocument(text, permissionFileSchema)
  if (!reading.ok) {
    return brokenSnapshot(`config/permissions.json line ${reading.line}: ${reading.reason}`, reading.line)
  }
  return wholeSnapshot(reading.document)
}

function wholeSnapshot(document: JsonDocument<PermissionFile>): PermissionSnapshot {
  const records = new Map(Object.entries(document.value.permissions))
  return {
    broken: null,
    brokenLine: null,
    recordOf: (agentId) => records.get(agentId),
    lineOf: (agentId, field, entry) =>
      document.lineOf([
        'permissions',
        agentId,
        ...(field === undefined ? [] : [field]),
        ...(entry === undefined ? [] : [entry]),
      ]),
  }
}

function brokenSnapshot(detail: string, line: number | null = null): PermissionSnapshot {
  return { broken: detail, brokenLine: line, recordOf: () => undefined, lineOf: () => null }
}
