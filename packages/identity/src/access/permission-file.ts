import type { Clock } from '@flotilla/protocol/clock'
import { operatorAgentId } from '@flotilla/protocol/ids'
import { controlPlaneFlags, permissionFileSchema } from '@flotilla/protocol/permission-record'
import type { PermissionFile, PermissionRecord } from '@flotilla/protocol/permission-record'
import { Problem } from '@flotilla/protocol/problem'
import { followFile, readJsonDocument } from '@flotilla/foundation/config'
import type { FileEditor, JsonDocument } from '@flotilla/foundation/config'
import type { Log } from '@flotilla/foundation/platform'
import type { PermissionRecords } from './authorize.ts'
import { boundedRecord } from './within-parent.ts'
import { handActor } from './journal-grants.ts'
import type { JournalGrants } from './journal-grants.ts'

/**
 * `config/permissions.json`, the source of truth for permissions.
 *
 * 1. A missing or invalid file denies everything as soon as it is noticed.
 * 2. A manual edit is noticed within a second.
 * 3. Edits run one after the other on the file's current content, so that none overwrites another or a
 * manual edit.
 */
export interface PermissionStore {
  /** The current records; a snapshot does not change when the file does. */
  snapshot(): PermissionSnapshot
  /**
   * Rewrites the records; `change` gets a copy and returns the new ones. A missing file counts as empty.
   * Throws the Problem `unprocessable` if the file is invalid: only a person can repair it.
   */
  edit(
    change: (records: Readonly<Record<string, PermissionRecord>>) => Record<string, PermissionRecord>,
    /** The actor of the edit, for the audit log. */
    actor?: string,
  ): Promise<void>
  /** Reads the file now; resolves when the snapshot is up to date. */
  refresh(): Promise<void>
  /** Stops watching the file. */
  close(): Promise<void>
}

export interface PermissionSnapshot extends PermissionRecords {
  /**
   * Returns the line, from 1, of an agent's record, of one of its fields or of an entry of a list; null if the file
   * does not contain it.
   */
  lineOf(agentId: string, field?: string, entry?: number): number | null
  /** The line of the fault in an invalid file; null if it is valid or missing. */
  readonly brokenLine: number | null
}

export interface PermissionFileDeps {
  readonly path: string
  readonly editor: FileEditor
  readonly clock: Clock
  readonly log: Log
  /** Called with the reason when the file becomes missing or invalid, and with null when it is valid again. */
  readonly onBroken: (detail: string | null) => void
  /** The parent of a spawned agent, which never has more rights than its parent. */
  readonly makerOf?: (agentId: string) => string | null
  /**
   * Called with the records of each read and the actor: the known editor, or the person who edits files by
   * hand.
   */
  readonly onRecords?: JournalGrants
}

export async function createPermissionFile(deps: PermissionFileDeps): Promise<PermissionStore> {
  const { path, editor, clock, log } = deps
  let current: PermissionSnapshot = brokenSnapshot('config/permissions.json has not been read')

  let isRecordOwed = false
  /** The newest edit of this process, until it is recorded; the file is read while it is written, too. */
  let unrecorded: OwnEdit | null = null

  /** Records a change. If that fails, rights in effect stay in effect: a full disk withdraws no right. */
  function record(text: string | null, actor: string): boolean {
    try {
      reportRecords(text, actor)
      isRecordOwed = false
      return true
    } catch (error) {
      if (!isRecordOwed) log.error({ err: error }, 'failed to record a change of permissions; retrying')
      isRecordOwed = true
      return false
    }
  }

  /** Records an edit under its actor, after a manual edit that the file contained before and that was not recorded. */
  function recordEdit(edit: OwnEdit): boolean {
    // The text before would undo the edit in the audit log if it were recorded once more.
    if (edit.isRecorded) return true
    edit.isRecorded = record(edit.before, handActor) && record(edit.after, edit.actor)
    if (edit.isRecorded && unrecorded === edit) unrecorded = null
    return edit.isRecorded
  }

  function recordRead(text: string | null): boolean {
    const isOwn = unrecorded !== null && (unrecorded.isWritten || unrecorded.after === text)
    if (unrecorded !== null && isOwn && !recordEdit(unrecorded)) return false
    return record(text, handActor)
  }

  function reportRecords(text: string | null, actor: string): void {
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
    if (next.broken === null)
      log.info({}, 'the permission file is valid again; its permissions apply from now on')
    else
      log.error(
        { detail: next.broken },
        'config/permissions.json is invalid; agents are denied everything until it is valid',
      )
    try {
      deps.onBroken(next.broken)
    } catch (error) {
      log.error({ err: error }, 'failed to publish a change of the permission file; the change is in force')
    }
  }

  const { refresh, close } = await followFile({
    path,
    clock,
    take: (text) => {
      take(snapshotOf(text, deps.makerOf ?? (() => null)))
      return recordRead(text) ? undefined : 'again'
    },
    onUnreadable: (error) => {
      const broken = 'config/permissions.json cannot be read'
      if (current.broken !== broken) {
        log.error(
          { err: error },
          'failed to read config/permissions.json; agents are denied everything until it can be read',
        )
      }
      take(brokenSnapshot(broken))
    },
  })

  return {
    snapshot: () => current,
    refresh,
    async edit(change, actor = 'system') {
      const edit: OwnEdit = { before: null, after: null, actor, isWritten: false, isRecorded: false }
      try {
        await editor.edit(path, (text) => {
          edit.before = text
          edit.after = rewritten(text, change)
          unrecorded = edit
          return edit.after
        })
      } catch (error) {
        if (unrecorded === edit) unrecorded = null
        throw error
      }
      edit.isWritten = true
      recordEdit(edit)
      await refresh()
    },
    close,
  }
}

/** An edit of this process: the text that it replaces, and its own text. */
interface OwnEdit {
  before: string | null
  after: string | null
  readonly actor: string
  isWritten: boolean
  isRecorded: boolean
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
        detail: `config/permissions.json line ${reading.line}: ${reading.reason}; correct the file by hand first`,
        extra: { file: 'config/permissions.json', line: reading.line },
      })
    }
    records = reading.document.value.permissions
  }
  const next = permissionFileSchema.parse({ permissions: change(structuredClone(records)) })
  return `${JSON.stringify(next, null, 2)}\n`
}

function snapshotOf(text: string | null, makerOf: MakerOf): PermissionSnapshot {
  if (text === null) return brokenSnapshot('config/permissions.json is missing')
  const reading = readJsonDocument(text, permissionFileSchema)
  if (!reading.ok) {
    return brokenSnapshot(`config/permissions.json line ${reading.line}: ${reading.reason}`, reading.line)
  }
  return wholeSnapshot(reading.document, makerOf)
}

type MakerOf = (agentId: string) => string | null

function wholeSnapshot(document: JsonDocument<PermissionFile>, makerOf: MakerOf): PermissionSnapshot {
  const records = new Map(Object.entries(document.value.permissions))
  return {
    broken: null,
    brokenLine: null,
    recordOf: (agentId) => boundedRecord(agentId, (id) => records.get(id), makerOf),
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
