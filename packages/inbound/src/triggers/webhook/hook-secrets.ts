import type { Log } from '@flotilla/foundation/platform'
import type { Vault } from '@flotilla/egress/credentials'
import type { Hook, HookTable } from './hook-table.ts'

/** The secrets of webhooks. They are system credentials; the database contains only their numbers. */
export interface HookSecrets {
  /** Returns the secrets that are valid for the webhook now; empty if the webhook needs no signature. */
  of(hook: Hook, now: number): readonly string[]
  /** Returns the id of another webhook with the same secret, or null. */
  heldBy(text: string, options: { readonly besides: string; readonly now: number }): string | null
  /**
   * Stores a secret and then writes the row that refers to it. In the other order, a crash would
   * leave a webhook that rejects every delivery.
   */
  store<T>(secret: { hookId: string; number: number; text: string }, writeRow: () => T): Promise<T>
  /**
   * Stores a secret as the first of two steps, for calls that store several secrets and then write
   * the rows. Protects the secret from `sweep` until the returned function is called.
   */
  storeAhead(secret: { hookId: string; number: number; text: string }): Promise<() => void>
  /** Removes secrets that no webhook uses, which deletions, rotations and crashes leave in the vault. */
  sweep(now: number): Promise<void>
}

/** Matches the generated names of secrets. A credential `webhook_github_1` of the owner does not match. */
const nameForm = /^webhook_[0-9a-f]{16}_\d{1,9}$/

export function createHookSecrets(deps: {
  readonly vault: Pick<Vault, 'system' | 'names' | 'storeSystem' | 'removeSystem'>
  readonly hooks: HookTable
  readonly log: Log
}): HookSecrets {
  const { vault, hooks, log } = deps
  /** The names of stored secrets whose rows are not written yet. */
  const fresh = new Set<string>()

  return {
    of: (hook, now) => numbersOf(hook, now).flatMap((number) => read(nameOf(hook.id, number))),
    heldBy: (text, { besides, now }) =>
      hooks
        .all()
        .find(
          (hook) =>
            hook.id !== besides &&
            numbersOf(hook, now).some((number) => vault.system(nameOf(hook.id, number))?.reveal() === text),
        )?.id ?? null,
    async store(secret, writeRow) {
      const release = await storeAhead(secret)
      try {
        return writeRow()
      } finally {
        release()
      }
    },
    storeAhead,
    async sweep(now) {
      const inUse = new Set(
        hooks.all().flatMap((hook) => numbersOf(hook, now).map((n) => nameOf(hook.id, n))),
      )
      for (const name of vault.names().system) {
        if (!nameForm.test(name) || inUse.has(name) || fresh.has(name)) continue
        await vault.removeSystem(name)
      }
    },
  }

  async function storeAhead({ hookId, number, text }: { hookId: string; number: number; text: string }) {
    const name = nameOf(hookId, number)
    fresh.add(name)
    try {
      await vault.storeSystem(name, text)
    } catch (error) {
      fresh.delete(name)
      throw error
    }
    return () => void fresh.delete(name)
  }

  function read(name: string): string[] {
    const secret = vault.system(name)
    // A webhook whose secret is missing from `.env` rejects every delivery: it must not count as a
    // webhook that needs no signature.
    if (!secret)
      log.error(
        { name },
        'a webhook secret is missing in .env; its deliveries are rejected until it is rotated',
      )
    return secret ? [secret.reveal()] : []
  }
}

function numbersOf(hook: Hook, now: number): readonly number[] {
  const previous =
    hook.previousNumber !== null && (hook.previousUntil ?? 0) > now ? [hook.previousNumber] : []
  return hook.secretNumber === null ? [] : [hook.secretNumber, ...previous]
}

function nameOf(hookId: string, number: number): string {
  return `webhook_${hookId.slice(hookId.indexOf('_') + 1)}_${number}`
}
