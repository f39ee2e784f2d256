import type { Clock } from '@flotilla/protocol/clock'
import type { NewId } from '@flotilla/protocol/ids'
import { notFound } from '@flotilla/protocol/not-found'
import { Problem } from '@flotilla/protocol/problem'
import { parseCondition } from '../conditions/index.ts'
import type { Journal } from '@flotilla/foundation/journal'
import type { Caller, Guard } from '@flotilla/identity/access'
import { actorOf, requireProof } from '@flotilla/identity/access'
import type { Database } from '@flotilla/foundation/storage'
import type { HookRates } from './hook-rates.ts'
import type { HookSecrets } from './hook-secrets.ts'
import type { Hook, HookTable } from './hook-table.ts'
import type { RefusalStore } from './refusal-store.ts'
import { secretFault } from './verify-signature.ts'

/** The maximum number of webhooks. */
export const hooksMax = 500

export interface NewHook extends Pick<Hook, 'name' | 'agentId' | 'instructions' | 'when' | 'perMinute'> {
  readonly signed: boolean
  /** Whether repeated bodies are accepted; if left out, repeated bodies are rejected. */
  readonly repeats?: Hook['repeats'] | undefined
  /** A secret from the sender; if left out, the mesh generates a secret. */
  readonly secret?: string | undefined
}

type Changeable = Pick<
  Hook,
  'name' | 'agentId' | 'instructions' | 'when' | 'perMinute' | 'enabled' | 'repeats'
>
export type HookChange = { readonly [Field in keyof Changeable]?: Changeable[Field] | undefined } & {
  /** False deletes the secret, so that deliveries need no signature. */
  readonly signed?: false | undefined
}

/** A webhook and its generated secret, which is shown only once. */
export interface HookWithSecret {
  readonly hook: Hook
  readonly secret: string | null
}

/**
 * Operations of people on webhooks; agents have none. Every change is written to the audit log without the
 * secret. Throws the Problems `denied`, `not-found`, `unknown-agent`, `agent-archived` and `bad-request`.
 */
export interface ManageHooks {
  list(caller: Caller): readonly Hook[]
  create(caller: Caller, input: NewHook): Promise<HookWithSecret>
  change(caller: Caller, hookId: string, change: HookChange): Promise<Hook>
  remove(caller: Caller, hookId: string): Promise<void>
  /** Replaces the secret. A webhook without a secret gets a secret. */
  rotate(
    caller: Caller,
    hookId: string,
    input: { readonly secret?: string | undefined; readonly overlapMs: number },
  ): Promise<HookWithSecret>
}

export interface ManageHooksDeps {
  readonly database: Database
  readonly hooks: HookTable
  readonly secrets: HookSecrets
  readonly rates: HookRates
  readonly refusals: RefusalStore
  readonly requireAgent: (agentId: string) => void
  readonly guard: Guard
  readonly journal: Journal
  readonly clock: Clock
  readonly newId: NewId
  readonly randomBytes: (count: number) => Uint8Array
}

/** The length of a generated secret, as Standard Webhooks recommends, in bytes. */
const secretBytes = 32

/** Returns a generated secret that both kinds of senders accept. */
export function newSecretText(random: (count: number) => Uint8Array): string {
  return `whsec_${Buffer.from(random(secretBytes)).toString('base64')}`
}

export function createManageHooks(deps: ManageHooksDeps): ManageHooks {
  const { database, hooks, secrets, guard, clock } = deps

  function required(hookId: string): Hook {
    const hook = hooks.find(hookId)
    if (hook) return hook
    throw notFound('webhook', `there is no webhook ${hookId}`)
  }

  function write(caller: Caller, hook: Hook, change: { action: string; fields: readonly string[] }): Hook {
    database.transaction(() => {
      hooks.write(hook)
      deps.journal.append({
        actor: actorOf(caller),
        action: change.action,
        subject: hook.id,
        detail: { agent: hook.agentId, fields: change.fields.join(', ') },
      })
    })
    return hook
  }

  /** Returns the caller's secret after a check, or else a generated secret that both kinds of senders accept. */
  function chosen(
    hookId: string,
    given: string | undefined,
  ): { readonly text: string; readonly shown: string | null } {
    if (given === undefined) {
      const text = newSecretText(deps.randomBytes)
      return { text, shown: text }
    }
    const fault = secretFault(given)
    if (fault !== null) throw new Problem('bad-request', { detail: `secret: ${fault}` })
    const other = secrets.heldBy(given, { besides: hookId, now: clock.now() })
    if (other !== null) {
      throw new Problem('conflict', {
        detail: `webhook ${other} has the same secret, so a delivery to one webhook could be replayed to the other; use a different secret`,
      })
    }
    return { text: given, shown: null }
  }

  return {
    list(caller) {
      guard(caller, { do: 'manage-webhooks' })
      return hooks.all()
    },
    async create(caller, input) {
      guard(caller, { do: 'make-webhooks' })
      requireUsable(deps, input)
      if (!input.signed) requireProof(caller, 'let unsigned deliveries start an agent')
      if (hooks.count() >= hooksMax) {
        throw new Problem('conflict', {
          detail: `the fleet has ${hooksMax} webhooks, the maximum; delete one first`,
        })
      }
      if (!input.signed && input.secret !== undefined) {
        throw new Problem('bad-request', {
          detail: 'this webhook does not check signatures, so it has no secret',
        })
      }
      const id = deps.newId('hook')
      const secret = input.signed ? chosen(id, input.secret) : null
      const { name, agentId, instructions, when, perMinute } = input
      const made = secret ? 1 : 0
      const hook: Hook = {
        id,
        name,
        agentId,
        instructions,
        when,
        perMinute,
        enabled: true,
        repeats: input.repeats ?? 'refuse',
        secretNumber: secret ? made : null,
        previousNumber: null,
        previousUntil: null,
        secretsMade: made,
        createdAt: clock.now(),
      }
      const writeRow = () => write(caller, hook, { action: 'webhook.created', fields: [] })
      if (secret) await secrets.store({ hookId: id, number: made, text: secret.text }, writeRow)
      else writeRow()
      return { hook, secret: secret?.shown ?? null }
    },
    async change(caller, hookId, { signed, ...change }) {
      guard(caller, { do: 'make-webhooks' })
      if (signed === false) requireProof(caller, 'let unsigned deliveries start an agent')
      const before = required(hookId)
      const given = Object.fromEntries(Object.entries(change).filter(([, value]) => value !== undefined))
      const unsigned =
        signed === false ? { secretNumber: null, previousNumber: null, previousUntil: null } : {}
      const hook: Hook = { ...before, ...given, ...unsigned }
      requireUsable(deps, hook)
      const fields = [...Object.keys(given), ...(signed === false ? ['signed'] : [])]
      write(caller, hook, { action: 'webhook.changed', fields })
      if (signed === false) await secrets.sweep(clock.now())
      return hook
    },
    async remove(caller, hookId) {
      guard(caller, { do: 'make-webhooks' })
      const hook = required(hookId)
      database.transaction(() => {
        hooks.remove(hookId)
        deps.journal.append({
          actor: actorOf(caller),
          action: 'webhook.deleted',
          subject: hookId,
          detail: { agent: hook.agentId },
        })
      })
      deps.rates.forget(hookId)
      deps.refusals.forget(hookId)
      await secrets.sweep(clock.now())
    },
    async rotate(caller, hookId, { secret, overlapMs }) {
      guard(caller, { do: 'manage-webhooks' })
      const { text, shown } = chosen(hookId, secret)
      // The secret's number is reserved before the secret is written: concurrent rotations share no number.
      const taken = required(hookId)
      const made = taken.secretsMade + 1
      hooks.write({ ...taken, secretsMade: made })
      const hook = await secrets.store({ hookId, number: made, text }, () => {
        const before = required(hookId)
        const overlaps = overlapMs > 0 && before.secretNumber !== null
        const after: Hook = {
          ...before,
          secretNumber: made,
          previousNumber: overlaps ? before.secretNumber : null,
          previousUntil: overlaps ? clock.now() + overlapMs : null,
        }
        return write(caller, after, { action: 'webhook.rotated', fields: [] })
      })
      await secrets.sweep(clock.now())
      return { hook, secret: shown }
    },
  }
}

function requireUsable(
  deps: Pick<ManageHooksDeps, 'requireAgent'>,
  hook: Pick<Hook, 'agentId' | 'when'>,
): void {
  deps.requireAgent(hook.agentId)
  if (hook.when !== null) parseCondition(hook.when)
}
