import { hash } from 'node:crypto'

/** The maximum length of a token, in characters. A longer string cannot be a token and is not hashed. */
const tokenMaxChars = 256

/**
 * Tokens with which browsers authenticate at the proxy: 256 random bits for each session. Only the
 * hash is stored, and only in memory, because no browser outlives the mesh process that opened it.
 */
export interface BrowserTokens {
  /** Issues the token of this session; the previous one becomes invalid. */
  issue(agentId: string): string
  /** Returns the agent of the open session that has this token; otherwise null. */
  ownerOf(token: string): string | null
  revoke(agentId: string): void
}

export function createBrowserTokens(randomToken: () => string): BrowserTokens {
  const ownerByHash = new Map<string, string>()
  const revoke = (agentId: string): void => {
    for (const [digest, owner] of ownerByHash) if (owner === agentId) ownerByHash.delete(digest)
  }
  return {
    revoke,
    issue: (agentId) => {
      revoke(agentId)
      const token = randomToken()
      ownerByHash.set(hash('sha256', token, 'hex'), agentId)
      return token
    },
    ownerOf: (token) =>
      token.length > tokenMaxChars ? null : (ownerByHash.get(hash('sha256', token, 'hex')) ?? null),
  }
}
