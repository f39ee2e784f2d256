import { hash } from 'node:crypto'

/** Longer strings are no token of ours and are not even hashed, characters. */
const tokenMaxChars = 256

/**
 * By what a browser shows itself at the proxy: 256 random bits for each session, of which only the hash is kept, in
 * memory. No browser outlives the mesh that opened it, so no token does.
 */
export interface BrowserTokens {
  /** One for this session; the one before counts no more. */
  issue(agentId: string): string
  /** Null for anything but the token of an open session. */
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
