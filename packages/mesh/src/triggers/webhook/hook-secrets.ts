import type { Log } from '../../platform/index.ts'
import type { Vault } from '../../credentials/index.ts'
import type { Hook, HookTable } from './hook-table.ts'

/** Secrets of webhooks, which are credentials of the mesh alone; the database knows only their numbers. */
export interface HookSecrets {
  /** The texts that may sign for this hook now: none where it needs no signature. */
  of(hook: Hook, now: number): readonly string[]
  /** The id of another webhook that takes what this text signed, or null. */
  heldBy(text: string, asked: { readonly besides: string; readonly now: number }): string | null
  /** Stores a secret and then writes the row that names it; a row whose secret is not there would refuse everything. */
  store<T>(secret: { hookId: string; number: number; text: string }, writeRow: () => T): Promise<T>
  /** The same in two steps, for several at once: stores it, and keeps it from `sweep` until what is returned is called. */
  storeAhead(secret: { hookId: string; number: number; text: string }): Promise<() => void>
  /** Takes away what no hook has any more, left by deletions, rotations and a killed mesh. */
  sweep(now: number): Promise<void>
}

/** Of an id as hooks get it, and nothing else: the owner's own `webhook_github_1` is none of ours. */
const nameForm = /^webhook_[0-9a-f]{16}_\d{1,9}$/

export function createHookSecrets(deps: {
  readonly vault: Pick<Vault, 'system' | 'names' | 'storeSystem' | 'removeSystem'>
  readonly hooks: HookTable
  readonly log: Log
}): HookSecrets {
  const { vault, hooks, log } = deps
  /** Stored, and their rows not written yet. */
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
    // A hook whose secret is gone from `.env` takes nothing any more: no secret is not the same as none needed.
    if (!secret)
      log.error(
        { name },
        'webhook secret is missing from .env; its deliveries are refused until it is rotated',
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
