import { hash } from 'node:crypto'
import type { Clock } from '@flotilla/protocol/clock'
import type { Database } from '@flotilla/foundation/storage'
import type { AgentRow, AgentTable } from '../registry/agent-table.ts'

/** Maximum number of cached tokens, two for each running agent; clearing the cache only costs queries. */
const knownMax = 10_000

/** Maximum length of a token, characters: a longer string is rejected without hashing it. */
const tokenMaxChars = 256

/** The two tokens of one start: `door` (the agent token) for the agent process alone, `program` for its programs. */
export interface IssuedTokens {
  readonly door: string
  readonly program: string
}

export interface TokenOwner {
  readonly agentId: string
  readonly token: 'door' | 'program'
}

/**
 * Authenticates agents by their tokens. The database stores only SHA-256 hashes. Adopted containers
 * therefore still authenticate after a restart of the mesh, and a copy of the database gives no access.
 */
export interface AgentTokens {
  /** Creates the tokens of a start and invalidates the tokens of the agent's earlier starts. */
  issue(agentId: string, startId: string): IssuedTokens
  /**
   * Returns the owner of a valid token, or null. Tokens are looked up by hash, so timing reveals nothing about a
   * guess.
   */
  verify(token: string): TokenOwner | null
  revoke(agentId: string): void
}

export function createAgentTokens(deps: {
  readonly database: Database
  readonly clock: Clock
  readonly agents: Pick<AgentTable, 'find'>
  /** 256 random bits as URL-safe text. */
  readonly randomToken: () => string
}): AgentTokens {
  const { database, agents } = deps
  /** Token owners by token hash. An entry is valid only while the agent's row is the one stored in the entry. */
  const known = new Map<string, { readonly owner: TokenOwner; readonly agent: AgentRow }>()

  function forget(agentId: string): void {
    for (const [hash, { owner }] of known) if (owner.agentId === agentId) known.delete(hash)
  }

  function revoke(agentId: string): void {
    database.prepare('DELETE FROM agent_tokens WHERE agent_id = ?').run(agentId)
    forget(agentId)
    database.afterRollback(() => forget(agentId))
  }

  return {
    revoke,
    issue: (agentId, startId) => {
      const issued = { door: deps.randomToken(), program: deps.randomToken() }
      database.transaction(() => {
        revoke(agentId)
        const insert = database.prepare(
          'INSERT INTO agent_tokens (hash, agent_id, token, start_id, issued_at) VALUES (?, ?, ?, ?, ?)',
        )
        for (const token of ['door', 'program'] as const) {
          insert.run(hashOf(issued[token]), agentId, token, startId, deps.clock.now())
        }
      })
      return issued
    },
    verify: (token) => {
      if (token.length > tokenMaxChars) return null
      const digest = hashOf(token)
      const found = known.get(digest)
      if (found && agents.find(found.owner.agentId) === found.agent) return found.owner
      const row = database.prepare('SELECT agent_id, token FROM agent_tokens WHERE hash = ?').get(digest)
      if (!row) return null
      const owner: TokenOwner = {
        agentId: String(row['agent_id']),
        token: row['token'] === 'door' ? 'door' : 'program',
      }
      const agent = agents.find(owner.agentId)
      if (known.size >= knownMax) known.clear()
      if (agent) known.set(digest, { owner, agent })
      return owner
    },
  }
}

function hashOf(token: string): string {
  return hash('sha256', token, 'hex')
}
