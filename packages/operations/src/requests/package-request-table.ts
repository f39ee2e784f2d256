import { packageListSchema } from '@flotilla/protocol/agent-packages'
import type { PackageList } from '@flotilla/protocol/agent-packages'
import { jsonColumn, readRows } from '@flotilla/foundation/storage'
import type { Database } from '@flotilla/foundation/storage'
import * as z from 'zod'
import { jsonValueSchema } from '@flotilla/protocol/json-value'

/** A request of an agent for packages. Times are milliseconds since 1970. */
export interface PackageRequest {
  readonly id: string
  readonly agentId: string
  /** The root ancestor of the agent, whose packages change. */
  readonly rootId: string
  readonly runId: string
  readonly packages: PackageList
  readonly reason: string
  /** `choosing`: the mesh chooses versions. `asked`: an approval waits for a person, or is carried out. */
  readonly state: 'choosing' | 'asked' | 'ended'
  readonly attempts: number
  /** The lock that the approval shows, as JSON; empty in other states. */
  readonly lock: string
}

const rowSchema = z
  .object({
    id: z.string(),
    agent_id: z.string(),
    root_id: z.string(),
    run_id: z.string(),
    packages: jsonColumn(jsonValueSchema),
    reason: z.string(),
    state: z.enum(['choosing', 'asked', 'ended']),
    attempts: z.number(),
    lock: z.string(),
  })
  .transform(({ agent_id, root_id, run_id, packages, ...row }): PackageRequest => ({
    ...row,
    agentId: agent_id,
    rootId: root_id,
    runId: run_id,
    packages: packageListSchema.parse(packages),
  }))

const columns = 'id, agent_id, root_id, run_id, packages, reason, state, attempts, lock'

export type PackageRequestTable = ReturnType<typeof createPackageRequestTable>

export function createPackageRequestTable(database: Database) {
  const { many, count } = readRows(database, rowSchema)
  const find = (where: string, ...values: (string | number)[]) =>
    many(`SELECT ${columns} FROM package_requests WHERE ${where}`, ...values)

  return {
    insert: (row: Omit<PackageRequest, 'state' | 'attempts' | 'lock'>, now: number): void => {
      database
        .prepare(
          `INSERT INTO package_requests (id, agent_id, root_id, run_id, packages, reason, state, due_at, created_at)
           VALUES (?, ?, ?, ?, ?, ?, 'choosing', ?, ?)`,
        )
        .run(row.id, row.agentId, row.rootId, row.runId, JSON.stringify(row.packages), row.reason, now, now)
    },
    byId: (id: string) => find('id = ?', id)[0] ?? null,
    /** Returns the open request of a run for the same packages. */
    openLike: ({ runId, packages }: Pick<PackageRequest, 'runId' | 'packages'>) =>
      find("run_id = ? AND packages = ? AND state <> 'ended'", runId, JSON.stringify(packages))[0] ?? null,
    /** Returns the ids of the requests of a run whose lock is being chosen. */
    choosingOf: (runId: string): readonly string[] =>
      find("run_id = ? AND state = 'choosing'", runId).map(({ id }) => id),
    next: (now: number) =>
      find("state = 'choosing' AND due_at <= ? ORDER BY due_at, position LIMIT 1", now)[0] ?? null,
    /** Returns the requests that one choice of a lock answers. */
    sharing: ({ rootId, packages }: Pick<PackageRequest, 'rootId' | 'packages'>) =>
      find(
        "state = 'choosing' AND root_id = ? AND packages = ? ORDER BY position",
        rootId,
        JSON.stringify(packages),
      ),
    counts: (agentId: string, since: number) => ({
      open: {
        own: count(
          "SELECT count(*) AS count FROM package_requests WHERE state <> 'ended' AND agent_id = ?",
          agentId,
        ),
        total: count("SELECT count(*) AS count FROM package_requests WHERE state <> 'ended'"),
      },
      recent: {
        own: count(
          'SELECT count(*) AS count FROM package_requests WHERE created_at > ? AND agent_id = ?',
          since,
          agentId,
        ),
        total: count('SELECT count(*) AS count FROM package_requests WHERE created_at > ?', since),
      },
    }),
    /** Counts an attempt before it begins, so that a choice that ends the mesh is not repeated without end. */
    beginAttempt: (id: string): void => {
      database.prepare('UPDATE package_requests SET attempts = attempts + 1 WHERE id = ?').run(id)
    },
    postpone: (id: string, dueAt: number): void => {
      database.prepare('UPDATE package_requests SET due_at = ? WHERE id = ?').run(dueAt, id)
    },
    asked: (id: string, lock: string): void => {
      database.prepare("UPDATE package_requests SET state = 'asked', lock = ? WHERE id = ?").run(lock, id)
    },
    end: (id: string): void => {
      database.prepare("UPDATE package_requests SET state = 'ended', lock = '' WHERE id = ?").run(id)
    },
    endChoosingOf: (runId: string): void => {
      database
        .prepare("UPDATE package_requests SET state = 'ended' WHERE run_id = ? AND state = 'choosing'")
        .run(runId)
    },
    /** Ends the requests of a deleted agent, which still count within the hour. */
    endOfAgent: (agentId: string): void => {
      database
        .prepare("UPDATE package_requests SET state = 'ended', lock = '' WHERE agent_id = ?")
        .run(agentId)
    },
    /** Deletes ended requests that no longer count. */
    trim: (before: number): void => {
      database.prepare("DELETE FROM package_requests WHERE state = 'ended' AND created_at <= ?").run(before)
    },
  }
}
