import { Problem } from '@flotilla/protocol/problem'
import * as z from 'zod'
import type { Database } from '@flotilla/foundation/storage'

const dayMs = 24 * 3600 * 1000

/** The limits of the body memory. Each body takes about 48 bytes on disk. */
export interface MemoryBounds {
  /** The maximum number of bodies that are remembered per webhook. */
  readonly perHookMax: number
  /** The maximum number of bodies of all webhooks. Above this limit, each webhook can still store `perHookAlways`. */
  readonly allHooksMax: number
  readonly perHookAlways: number
}

export const memoryBounds: MemoryBounds = {
  perHookMax: 1_000_000,
  allHooksMax: 3_000_000,
  perHookAlways: 10_000,
}

/** The maximum number of bodies of deleted webhooks that one sweep removes; more would block the mesh. */
const sweptMax = 5000

/** How long at least a body is kept, in milliseconds, if its webhook refuses repeats. The history's maximum age. */
export const bodiesKeptMs = 30 * dayMs

/**
 * Remembers which bodies each webhook received, independently of history and clock, within limits. Only bodies
 * with a valid signature are stored, so that callers without the secret cannot fill the memory or evict a body.
 */
export interface BodyMemory {
  /** Returns the number of the delivery that first brought this body, or null. */
  find(hookId: string, digest: string): number | null
  /**
   * Throws Problem `webhook-full` if the body could only be stored by forgetting a body that may be
   * replayed. Must be called before the shared commit. A rejected event is visible to its sender
   * and in the history; an accepted replay would not be visible.
   */
  requireRoom(hookId: string, body: Pick<KeptBody, 'digest' | 'at'>): void
  /**
   * Stores a body, unless it is known. Throws as `requireRoom` unless `mayForget`. Joins the caller's transaction.
   */
  keep(hookId: string, body: KeptBody, mayForget: boolean): void
  /** Removes some bodies of deleted webhooks. Called once a minute. */
  sweep(): void
}

interface KeptBody {
  /** The SHA-256 digest of the body, in hex. */
  readonly digest: string
  /** The number of the delivery that first brought the body. */
  readonly delivery: number
  readonly at: number
}

const memorySchema = z.object({ number: z.number(), bodies: z.number() })
const oldDeliverySchema = z.object({ digest: z.string(), number: z.number(), at: z.number() })
type Memory = z.infer<typeof memorySchema>

export function createBodyMemory({
  database,
  bounds = memoryBounds,
}: {
  readonly database: Database
  readonly bounds?: MemoryBounds | undefined
}): BodyMemory {
  const read = (hookId: string): Memory | null => {
    const row = database.prepare('SELECT number, bodies FROM webhook_memories WHERE hook_id = ?').get(hookId)
    return row === undefined ? null : memorySchema.parse(row)
  }

  /** Returns the memory of a webhook. The first call imports the history of an earlier release. */
  const memoryOf = (hookId: string): Memory => read(hookId) ?? database.transaction(() => begin(hookId))

  function begin(hookId: string): Memory {
    database.prepare('INSERT INTO webhook_memories (hook_id, bodies) VALUES (?, 0)').run(hookId)
    const rows = database
      .prepare(
        "SELECT digest, number, at FROM webhook_deliveries WHERE hook_id = ? AND digest IS NOT NULL AND way = 'sender' AND state IN ('accepted', 'skipped') ORDER BY number",
      )
      .all(hookId)
    for (const row of rows) {
      const { digest, number, at } = oldDeliverySchema.parse(row)
      insert(begun(hookId), { digest, delivery: number, at })
    }
    return begun(hookId)
  }

  function begun(hookId: string): Memory {
    const memory = read(hookId)
    if (!memory) throw new Error('a memory that was just begun is a row')
    return memory
  }

  function insert(memory: Memory, body: KeptBody): void {
    const { changes } = database
      .prepare('INSERT OR IGNORE INTO webhook_bodies (memory, body, delivery, at) VALUES (?, ?, ?, ?)')
      .run(memory.number, bodyOf(body.digest), body.delivery, body.at)
    count(memory, Number(changes))
  }

  function count({ number }: Memory, more: number): void {
    if (more === 0) return
    database.prepare('UPDATE webhook_memories SET bodies = bodies + ? WHERE number = ?').run(more, number)
  }

  function hasRoom({ bodies }: Memory): boolean {
    if (bodies >= bounds.perHookMax) return false
    return bodies < bounds.perHookAlways || total() < bounds.allHooksMax
  }

  function total(): number {
    return Number(
      database
        .prepare('SELECT sum(bodies) AS bodies FROM webhook_memories WHERE hook_id IS NOT NULL')
        .get()?.['bodies'] ?? 0,
    )
  }

  /** Returns the time of the oldest body, in milliseconds since 1970; null if the memory is empty. */
  function oldestAt({ number }: Memory): number | null {
    const row = database
      .prepare('SELECT at FROM webhook_bodies WHERE memory = ? ORDER BY delivery LIMIT 1')
      .get(number)
    return row === undefined ? null : Number(row['at'])
  }

  function forgetOldest(memory: Memory): void {
    const { changes } = database
      .prepare(
        'DELETE FROM webhook_bodies WHERE memory = ? AND body = (SELECT body FROM webhook_bodies WHERE memory = ? ORDER BY delivery LIMIT 1)',
      )
      .run(memory.number, memory.number)
    count(memory, -Number(changes))
  }

  function find({ number }: Memory, digest: string): number | null {
    const row = database
      .prepare('SELECT delivery FROM webhook_bodies WHERE memory = ? AND body = ?')
      .get(number, bodyOf(digest))
    return row === undefined ? null : Number(row['delivery'])
  }

  function requireRoom(memory: Memory, { digest, at }: Pick<KeptBody, 'digest' | 'at'>): void {
    if (hasRoom(memory) || find(memory, digest) !== null) return
    const oldest = oldestAt(memory)
    if (oldest !== null && oldest < at - bodiesKeptMs) return
    throw new Problem('webhook-full', {
      detail: `the webhook has stored ${memory.bodies} bodies of the last ${bodiesKeptMs / dayMs} days, the maximum. Let the sender sign id and timestamp too (Standard Webhooks), accept repeated bodies (repeats: "accept"), or create another webhook for this sender`,
    })
  }

  return {
    find: (hookId, digest) => find(memoryOf(hookId), digest),
    requireRoom: (hookId, body) => requireRoom(memoryOf(hookId), body),
    keep(hookId, body, mayForget) {
      const memory = memoryOf(hookId)
      if (find(memory, body.digest) !== null) return
      if (!mayForget) requireRoom(memory, body)
      if (!hasRoom(memory)) forgetOldest(memory)
      insert(memory, body)
    },
    sweep() {
      const left = database
        .prepare('SELECT number, bodies FROM webhook_memories WHERE hook_id IS NULL LIMIT 1')
        .get()
      if (left === undefined) return
      const { number } = memorySchema.parse(left)
      const { changes } = database
        .prepare(
          'DELETE FROM webhook_bodies WHERE memory = ? AND body IN (SELECT body FROM webhook_bodies WHERE memory = ? LIMIT ?)',
        )
        .run(number, number, sweptMax)
      if (changes === 0) database.prepare('DELETE FROM webhook_memories WHERE number = ?').run(number)
    },
  }
}

/** Returns the first eight bytes of the digest as a database integer. Pure. */
function bodyOf(digest: string): bigint {
  return BigInt.asIntN(64, BigInt(`0x${digest.slice(0, 16)}`))
}
