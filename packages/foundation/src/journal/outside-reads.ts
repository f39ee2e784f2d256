import * as z from 'zod'
import type { Database } from '../storage/index.ts'

/** How many entries of the audit log are searched for one answer. */
const searchedEntriesMax = 2000

const rowSchema = z.object({ action: z.string(), subject: z.string(), server: z.string().nullable() })

/** One place outside that an agent has read from. */
export interface OutsideRead {
  readonly kind: 'host' | 'mcp-server' | 'web-search'
  /** The host, or the name of the MCP server or of the search service. */
  readonly name: string
}

/**
 * Returns where an agent has read from outside since a time, by the audit log: requests, programs, browser, MCP servers
 * and web searches. The mesh wrote these entries, so an agent cannot leave one out. The last use comes first.
 */
export function createOutsideReads(
  database: Database,
): (agentId: string, since: number) => readonly OutsideRead[] {
  // The list of actions is that of the index `journal_outside_reads`.
  const select = `SELECT action, subject, server FROM (
      SELECT seq, action, subject, json_extract(detail, '$.server') AS server FROM journal
      WHERE actor = ? AND at >= ? AND subject <> ''
        AND action IN ('http.requested', 'mcp.exchanged', 'web.searched', 'browser.acted', 'proxy.opened', 'proxy.used')
      ORDER BY at DESC LIMIT ${searchedEntriesMax})
    GROUP BY action, subject, server ORDER BY max(seq) DESC`
  return (agentId, since) => {
    const reads = new Map<string, OutsideRead>()
    for (const row of database.prepare(select).all(`agent:${agentId}`, since)) {
      const { action, subject, server } = rowSchema.parse(row)
      const read: OutsideRead =
        action === 'mcp.exchanged'
          ? { kind: 'mcp-server', name: server ?? subject }
          : { kind: action === 'web.searched' ? 'web-search' : 'host', name: subject }
      reads.set(`${read.kind} ${read.name}`, read)
    }
    return [...reads.values()]
  }
}
