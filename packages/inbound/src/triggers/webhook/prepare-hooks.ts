import { Problem } from '@flotilla/protocol/problem'
import { parseCondition } from '../conditions/index.ts'
import type { Caller } from '@flotilla/identity/access'
import { actorOf } from '@flotilla/identity/access'
import type { Hook } from './hook-table.ts'
import { hooksMax, newSecretText } from './manage-hooks.ts'
import type { ManageHooksDeps } from './manage-hooks.ts'

/** A desired webhook. An existing webhook is identified by its id. */
export interface HookWish extends Pick<
  Hook,
  'name' | 'agentId' | 'instructions' | 'when' | 'perMinute' | 'repeats'
> {
  readonly id: string | null
  readonly signed: boolean
}

/** Webhooks whose secrets are stored and whose rows `write` will write. */
export interface PreparedHooks {
  /**
   * Writes the rows in the caller's transaction. Throws the Problems `unknown-agent`, `agent-archived`,
   * and `conflict` if a webhook was deleted or got a secret since. A concurrent rotation's result is kept.
   */
  write(): void
  /** Must be called at the end, whether the rows were written or not. Removes secrets without a row. */
  release(): Promise<void>
  /** The generated secrets of webhooks that had no secret; each is shown only once. */
  readonly secrets: readonly { readonly hook: Hook; readonly secret: string }[]
}

/**
 * Prepares several webhooks for a caller that writes their rows together with other rows in one transaction.
 * Resolves after the secrets are in `.env`. Throws the Problems `denied`, `conflict` and `bad-request`.
 */
export type PrepareHooks = (caller: Caller, wishes: readonly HookWish[]) => Promise<PreparedHooks>

export function createPrepareHooks(deps: ManageHooksDeps): PrepareHooks {
  const { hooks, secrets, clock } = deps

  return async (caller, wishes) => {
    if (wishes.length > 0) deps.guard(caller, { do: 'make-webhooks' })
    const made = wishes.map((wish) => prepareOne(wish))
    const isNew = made.filter(({ before }) => before === null).length
    if (hooks.count() + isNew > hooksMax)
      throw new Problem('conflict', {
        detail: `the fleet would have more than ${hooksMax} webhooks, the maximum; delete some first`,
      })
    for (const { hook } of made) if (hook.when !== null) parseCondition(hook.when)
    const releases: (() => void)[] = []
    const release = async () => {
      for (const one of releases) one()
      await secrets.sweep(clock.now())
    }
    try {
      for (const { hook, secret } of made) {
        if (secret === null) continue
        // The secret's number is reserved before the secret is written: no concurrent rotation shares it.
        const now = hooks.find(hook.id)
        if (now) hooks.write({ ...now, secretsMade: Math.max(now.secretsMade, hook.secretsMade) })
        releases.push(await secrets.storeAhead({ hookId: hook.id, number: hook.secretsMade, text: secret }))
      }
    } catch (error) {
      await release().catch(() => {})
      throw error
    }
    return {
      release,
      secrets: made.flatMap(({ hook, secret }) => (secret === null ? [] : [{ hook, secret }])),
      write: () => {
        for (const { hook, before, secret } of made) {
          deps.requireAgent(hook.agentId)
          hooks.write(before === null ? hook : onTopOf(hook, secret !== null))
          deps.journal.append({
            actor: actorOf(caller),
            action: before === null ? 'webhook.created' : 'webhook.changed',
            subject: hook.id,
            detail: { agent: hook.agentId, fields: '' },
          })
        }
      },
    }
  }

  /** Returns the webhook with its current secrets, because a rotation may have happened since the preparation. */
  function onTopOf(hook: Hook, hasNewSecret: boolean): Hook {
    const now = hooks.find(hook.id)
    if (!now)
      throw new Problem('conflict', {
        detail: `webhook ${hook.name} was deleted by another request; try again`,
      })
    if (hasNewSecret && now.secretNumber !== null) {
      throw new Problem('conflict', {
        detail: `webhook ${hook.name} was given another secret by another request; try again`,
      })
    }
    const { enabled, secretNumber, previousNumber, previousUntil, secretsMade } = now
    if (hasNewSecret || hook.secretNumber === null) return { ...hook, enabled, secretsMade }
    return { ...hook, enabled, secretNumber, previousNumber, previousUntil, secretsMade }
  }

  function prepareOne({ id, signed, ...wish }: HookWish) {
    const before = id === null ? null : hooks.find(id)
    const secret = signed && (before?.secretNumber ?? null) === null ? newSecretText(deps.randomBytes) : null
    const secretsMade = (before?.secretsMade ?? 0) + (secret === null ? 0 : 1)
    const hook: Hook = {
      id: before?.id ?? deps.newId('hook'),
      enabled: before?.enabled ?? true,
      previousNumber: signed ? (before?.previousNumber ?? null) : null,
      previousUntil: signed ? (before?.previousUntil ?? null) : null,
      createdAt: before?.createdAt ?? clock.now(),
      ...wish,
      secretNumber: signed ? (secret === null ? (before?.secretNumber ?? null) : secretsMade) : null,
      secretsMade,
    }
    return { hook, before, secret }
  }
}
