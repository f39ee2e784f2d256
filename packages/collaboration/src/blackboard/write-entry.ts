import type { BlackboardEntry } from '@flotilla/protocol/blackboard-entry'
import { blackboardKeySchema } from '@flotilla/protocol/blackboard-entry'
import type { Clock } from '@flotilla/protocol/clock'
import type { JsonValue } from '@flotilla/protocol/json-value'
import { wireLimits } from '@flotilla/protocol/limits'
import { Problem } from '@flotilla/protocol/problem'
import type { EventBus } from '@flotilla/foundation/events'
import type { Journal } from '@flotilla/foundation/journal'
import type { Caller, Guard } from '@flotilla/identity/access'
import { actorOf } from '@flotilla/identity/access'
import type { Database } from '@flotilla/foundation/storage'
import type { BlackboardTable } from './blackboard-table.ts'
import type { VersionTable } from './version-table.ts'
import { whyFull } from './why-full.ts'

/** The maximum size of one blackboard value, in bytes of JSON. */
const valueMaxBytes = 262_144

/** The longest lifetime of a blackboard entry, in seconds: ten years. */
const lifeMaxSeconds = 10 * 365 * 24 * 3600

export interface BlackboardWrite {
  readonly key: string
  readonly value: JsonValue
  /** 0 requires that the key does not exist yet; if omitted, any version is overwritten. */
  readonly expectedVersion?: number | undefined
  /** Time to live in seconds from this write on; if omitted, the entry is permanent. */
  readonly ttlSeconds?: number | undefined
}

export type WriteEntry = (caller: Caller, write: BlackboardWrite) => BlackboardEntry

/**
 * Returns the function that writes an entry. Problems `denied`, `bad-request`, `body-too-large`,
 * `version-conflict`, `unprocessable` when the blackboard is full.
 */
export function writeEntry(deps: {
  readonly database: Database
  readonly table: BlackboardTable
  readonly versions: Pick<VersionTable, 'keep'>
  readonly guard: Guard
  readonly clock: Clock
  readonly journal: Journal
  readonly events: EventBus
  /** Called in the transaction of the write, to notify watching agents. */
  readonly noteChange?: (entry: BlackboardEntry) => void
}): WriteEntry {
  const { database, table } = deps
  return (caller, write) => {
    deps.guard(caller, { do: 'write-blackboard', key: write.key })
    requireKey(write.key)
    const valueJson = JSON.stringify(write.value)
    const sizeBytes = Buffer.byteLength(valueJson)
    requireFits(sizeBytes, write.ttlSeconds)
    const appends = isHistory(write.key)
    if (appends) requireAppend(write)
    const now = deps.clock.now()
    const writtenBy = caller.kind === 'agent' ? caller.agentId : actorOf(caller)
    // A refusal is thrown after this transaction: within it, the error would roll back the caller's transaction too.
    const written = database.transaction(() => {
      const full = whyFull(table, {
        writtenBy,
        isAgent: caller.kind === 'agent',
        key: write.key,
        bytes: Buffer.byteLength(write.key) + sizeBytes,
        isNew: !table.read(write.key, now),
        isHistory: appends,
      })
      if (full !== null) return { full }
      const entry = table.write(
        {
          key: write.key,
          valueJson,
          writtenBy,
          expiresAt: write.ttlSeconds === undefined ? null : now + write.ttlSeconds * 1000,
          expectedVersion: appends ? 0 : (write.expectedVersion ?? null),
        },
        now,
      )
      if (!entry) return { conflict: true }
      const { version, value, written_by, updated_at: written_at } = entry
      deps.versions.keep(entry.key, { version, value, written_by, written_at }, valueJson)
      deps.journal.append({
        actor: actorOf(caller),
        action: 'blackboard.written',
        subject: entry.key,
        detail: { version: entry.version, size_bytes: sizeBytes },
      })
      deps.events.publish({
        type: 'blackboard.written',
        key: entry.key,
        version: entry.version,
        written_by: entry.written_by,
      })
      deps.noteChange?.(entry)
      return { entry }
    })
    if ('full' in written) throw new Problem('unprocessable', { detail: written.full })
    if ('conflict' in written) {
      if (!appends) throw new Problem('version-conflict')
      throw new Problem('version-conflict', {
        detail: `the entry ${write.key} exists, and entries under history/ cannot be changed`,
        repair: 'Write the value under another key, for example one that ends with the date and hour.',
      })
    }
    return written.entry
  }
}

/** True if the key belongs to an append-only record: `history/` of the fleet or of a project. Pure. */
export function isHistory(key: string): boolean {
  return /^(?:projects\/[^/]+\/)?history\//.test(key)
}

function requireAppend({ ttlSeconds, expectedVersion = 0 }: BlackboardWrite): void {
  if (ttlSeconds !== undefined) {
    throw new Problem('bad-request', { detail: 'ttl_s: entries under history/ are permanent' })
  }
  if (expectedVersion !== 0) {
    throw new Problem('bad-request', {
      detail:
        'expected_version: an entry under history/ can only be created, so leave expected_version out or send 0',
    })
  }
}

/** Throws the problem `bad-request` for an invalid key. */
export function requireKey(key: string): void {
  if (blackboardKeySchema.safeParse(key).success) return
  throw new Problem('bad-request', {
    detail: `a key is 1 to ${wireLimits.blackboardKeyMaxChars} characters, segments of letters, digits, spaces and _ . : @ - joined by /`,
  })
}

function requireFits(sizeBytes: number, ttlSeconds: number | undefined): void {
  if (sizeBytes > valueMaxBytes) {
    throw new Problem('body-too-large', {
      detail: `a value is at most ${valueMaxBytes} bytes of JSON, this one has ${sizeBytes}`,
    })
  }
  if (ttlSeconds !== undefined && !(ttlSeconds > 0 && ttlSeconds <= lifeMaxSeconds)) {
    throw new Problem('bad-request', { detail: `ttl_s is 1 to ${lifeMaxSeconds} seconds` })
  }
}
