import { Problem } from '@flotilla/protocol/problem'
import { findWorkspaceFile } from '@flotilla/protocol/workspace-file'
import * as z from 'zod'
import type { EventBus } from '@flotilla/foundation/events'
import type { Journal } from '@flotilla/foundation/journal'
import type { Log } from '@flotilla/foundation/platform'
import type { Database } from '@flotilla/foundation/storage'
import type { AgentData, AgentWorkspace } from './agent-connection.ts'

/** Time limit for one agent to write one file, milliseconds. */
const writeMaxMs = 30_000

/**
 * Files that an agent gets at its creation, and instructions that a template changed. The files are rows, written in
 * the transaction that creates or changes the agent. When a caller first reaches the agent afterwards, they are
 * written below its /data before the caller continues. So an unused agent is not started for its files.
 */
export interface SeedFiles {
  /**
   * Returns the files last put or given, by path; the agent may have changed its copies. Texts such as SOUL.md are
   * included by name, but not the instructions, which are in the agent's record.
   */
  of(agentId: string): Readonly<Record<string, string>>
  /** Stores files for delivery, in the caller's transaction. A file with unchanged content is not delivered again. */
  put(agentId: string, files: Readonly<Record<string, string>>): void
  /** Records that an edit has already written this content to the agent. Joins the caller's transaction. */
  given(agentId: string, path: string, content: string): void
  /** Writes undelivered files to the agent. Rejects if it cannot be reached; a file that it refuses is reported. */
  deliver(agentId: string, connection: SeededFiles, signal: AbortSignal): Promise<void>
}

type SeededFiles = Pick<AgentData, 'writeFile'> & Pick<AgentWorkspace, 'writeWorkspaceFile'>

const rowSchema = z.object({ path: z.string(), content: z.string() })

export function createSeedFiles(deps: {
  readonly database: Database
  readonly journal: Journal
  readonly events: EventBus
  readonly log: Log
}): SeedFiles {
  const { database } = deps
  const underWay = new Map<string, Promise<void>>()

  const rowsOf = (agentId: string, which = ''): readonly z.output<typeof rowSchema>[] =>
    database
      .prepare(`SELECT path, content FROM agent_files WHERE agent_id = ? ${which} ORDER BY path`)
      .all(agentId)
      .map((row) => rowSchema.parse(row))

  async function lay(agentId: string, connection: SeededFiles, signal: AbortSignal): Promise<void> {
    for (const { path, content } of rowsOf(agentId, 'AND delivered = 0')) {
      const bounded = AbortSignal.any([signal, AbortSignal.timeout(writeMaxMs)])
      try {
        if (findWorkspaceFile(path)) await connection.writeWorkspaceFile(path, content, bounded)
        else await connection.writeFile(path, Buffer.from(content), bounded)
      } catch (error) {
        // The agent would refuse the file in later attempts, too; after a broken connection the write is retried.
        if (!(error instanceof Problem) || !refusals.includes(error.code)) throw error
        refused(agentId, path, error)
      }
      database
        .prepare('UPDATE agent_files SET delivered = 1 WHERE agent_id = ? AND path = ? AND content = ?')
        .run(agentId, path, content)
    }
  }

  function refused(agentId: string, path: string, error: Problem): void {
    const message = `the agent rejected the file ${path} of its template: ${error.detail}`.slice(0, 500)
    deps.log.warn(
      { agentId, path, err: error },
      'an agent rejected a file of its template; it works without the file',
    )
    database.transaction(() => {
      deps.journal.append({ actor: 'system', action: 'agent.warned', subject: agentId, detail: { message } })
      deps.events.publish({ type: 'agent.warned', agent_id: agentId, message })
    })
  }

  return {
    of: (agentId) =>
      Object.fromEntries(
        rowsOf(agentId).flatMap(({ path, content }) => (path === 'INSTRUCTIONS.md' ? [] : [[path, content]])),
      ),
    put: (agentId, files) => {
      const write = database.prepare(
        `INSERT INTO agent_files (agent_id, path, content, delivered) VALUES (?, ?, ?, 0)
         ON CONFLICT (agent_id, path) DO UPDATE SET content = excluded.content, delivered = 0
         WHERE content <> excluded.content`,
      )
      for (const [path, content] of Object.entries(files)) write.run(agentId, path, content)
    },
    given: (agentId, path, content) => {
      database
        .prepare(
          `INSERT INTO agent_files (agent_id, path, content, delivered) VALUES (?, ?, ?, 1)
           ON CONFLICT (agent_id, path) DO UPDATE SET content = excluded.content, delivered = 1`,
        )
        .run(agentId, path, content)
    },
    deliver: async (agentId, connection, signal) => {
      // Waits for a running delivery of another caller, which may be aborted; then this call delivers the rest.
      for (let known = underWay.get(agentId); known; known = underWay.get(agentId))
        await known.catch(() => {})
      if (rowsOf(agentId, 'AND delivered = 0').length === 0) return
      const work = lay(agentId, connection, signal).finally(() => underWay.delete(agentId))
      underWay.set(agentId, work)
      await work
    },
  }
}

const refusals: readonly string[] = ['bad-request', 'denied', 'conflict', 'body-too-large', 'not-found']
