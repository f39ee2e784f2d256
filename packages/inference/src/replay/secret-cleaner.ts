import { createScrubs, redactInSteps } from '@flotilla/egress/credentials'
import type { Secret, Vault } from '@flotilla/egress/credentials'
import type { Clean } from './in-pieces.ts'

type Names = Pick<Vault, 'system' | 'agentTier' | 'names'>

/** Returns a function that gives the cleaner of current secrets: the same cleaner until the secrets change. */
export function createSecretCleaner(vault: Names): () => Clean {
  const scrubFor = createScrubs()
  let last: { readonly held: readonly Secret[]; readonly clean: Clean } | null = null
  return () => {
    const held = secretsIn(vault)
    if (last && isSame(last.held, held)) return last.clean
    const scrub = scrubFor(held)
    const clean: Clean = function* clean(text) {
      return yield* redactInSteps(yield* scrub.inSteps(text), held)
    }
    last = { held, clean }
    return clean
  }
}

function secretsIn(vault: Names): readonly Secret[] {
  const { system, agent } = vault.names()
  const found = [...system.map((name) => vault.system(name)), ...agent.map((name) => vault.agentTier(name))]
  return found.filter((secret) => secret !== undefined)
}

function isSame(one: readonly Secret[], other: readonly Secret[]): boolean {
  return one.length === other.length && other.every((secret, at) => secret === one[at])
}
