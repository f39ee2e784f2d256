import type { GeneratedCharset } from '@flotilla/protocol/vault-api'
import { Problem } from '@flotilla/protocol/problem'
import type { Clock } from '@flotilla/protocol/clock'
import { hasRoom } from '@flotilla/foundation/intake'
import type { Journal } from '@flotilla/foundation/journal'
import { rootOf } from '@flotilla/identity/events'
import type { IdentityEvents } from '@flotilla/identity/events'
import type { Caller, Guard } from '@flotilla/identity/access'
import { actorOf } from '@flotilla/identity/access'
import type { Database, Resumable } from '@flotilla/foundation/storage'
import { onceOnly } from '@flotilla/foundation/storage'
import { isCredentialName } from './credential-tiers.ts'
import type { GeneratedTable } from './generated-table.ts'
import { canonicalName, handleFor } from './handles.ts'
import type { Vault } from './vault.ts'

/**
 * Limits how many agent-tier credentials can be generated, for one agent and in total, so that an agent in a loop
 * cannot fill `.env`. Spawned agents share the limit of their root ancestor.
 */
const bounds = { max: 1000, perAgentMax: 100, floor: 5 } as const

const alphabets = {
  urlsafe: 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_',
  hex: '0123456789abcdef',
  alphanumeric: 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789',
} as const satisfies Record<GeneratedCharset, string>

/**
 * Generates a random agent-tier credential whose value is never shown; the agent gets its handle. It can be used only
 * after the owner has bound it. Problems `denied`, `conflict` for a taken name, `unprocessable`.
 */
export type GenerateSecret = (
  caller: Caller,
  input: { readonly name: string; readonly length: number; readonly charset: GeneratedCharset },
  /** Makes the call repeatable: a repeated call recognizes the value that it generated before by its fingerprint. */
  step?: Resumable<GeneratedSecret>,
) => Promise<GeneratedSecret>

export interface GeneratedSecret {
  readonly name: string
  readonly handle: string
}

export function createGenerateSecret(deps: {
  readonly vault: Vault
  readonly guard: Guard
  readonly database: Database
  readonly identityEvents: Pick<IdentityEvents, 'makersOf'>
  readonly table: GeneratedTable
  readonly clock: Clock
  readonly journal: Journal
  /** A keyed fingerprint of a value, so that values cannot be guessed offline. */
  readonly fingerprint: (value: string) => string
  readonly randomBytes: (count: number) => Uint8Array
}): GenerateSecret {
  const { vault } = deps
  /** Names that are being written, so that two concurrent calls cannot both find the same name free. */
  const underWay = new Map<string, string>()

  function requireRoom(maker: string): void {
    const names = new Set(vault.names().agent)
    const recorded = deps.table.namesOf(maker)
    deps.table.forget(recorded.filter((name) => !names.has(name)))
    const writing = [...underWay.values()].filter((one) => one === maker).length
    const own = recorded.filter((name) => names.has(name)).length + writing
    if (hasRoom({ own, total: names.size + underWay.size }, bounds)) return
    throw new Problem('unprocessable', {
      detail:
        own >= bounds.perAgentMax
          ? `${own} credentials were generated for ${maker}, the most for one agent; the owner removes some with flotilla credentials remove`
          : `there are ${names.size} credentials; the owner removes some with flotilla credentials remove`,
    })
  }

  return async (caller, input, step = onceOnly(deps.database)) => {
    const name = canonicalName(input.name)
    deps.guard(caller, { do: 'use-credential', name })
    // The guard lets only agents use credentials. The actor name of any other caller never equals an agent's id.
    const maker = caller.kind === 'agent' ? rootOf(deps.identityEvents, caller.agentId) : actorOf(caller)
    if (!isCredentialName(name))
      throw new Problem('bad-request', { detail: 'the name of a credential may not begin with FLOTILLA_' })
    const settle = () =>
      step.settle(() => {
        deps.journal.append({
          actor: actorOf(caller),
          action: 'credential.generated',
          subject: name,
          detail: { length: input.length, charset: input.charset },
        })
        deps.table.keep({ name, agentId: maker, at: deps.clock.now() })
        return { name, handle: handleFor(name) }
      })
    const known = vault.agentTier(name)
    if (known && step.begun !== null && step.begun === deps.fingerprint(known.reveal())) return settle()
    if (known || underWay.has(name))
      throw new Problem('conflict', { detail: `a credential ${name} already exists; choose another name` })
    requireRoom(maker)
    const value = randomText(alphabets[input.charset], input.length, deps.randomBytes)
    underWay.set(name, maker)
    try {
      step.begin(deps.fingerprint(value))
      await vault.storeAgent(name, value)
    } finally {
      underWay.delete(name)
    }
    return settle()
  }
}

/** Generates uniformly distributed characters: bytes beyond the last multiple of the alphabet's size are dropped. */
function randomText(alphabet: string, length: number, randomBytes: (count: number) => Uint8Array): string {
  const usable = 256 - (256 % alphabet.length)
  let text = ''
  while (text.length < length) {
    for (const byte of randomBytes(length)) {
      if (byte < usable && text.length < length) text += alphabet[byte % alphabet.length] ?? ''
    }
  }
  return text
}
