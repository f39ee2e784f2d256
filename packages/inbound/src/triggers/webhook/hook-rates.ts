import type { Clock } from '@flotilla/protocol/clock'
import { createCallRate } from '@flotilla/identity/access'
import type { CallRate } from '@flotilla/identity/access'
import type { Hook } from './hook-table.ts'

/** The rate limit of each webhook, in memory. Only new deliveries with a valid signature count. */
export interface HookRates {
  /** Counts the delivery, or throws the Problem `rate-limited` with the seconds to wait. */
  take(hook: Hook): void
  forget(hookId: string): void
}

export function createHookRates(deps: {
  readonly clock: Clock
  readonly perMinute: () => number
}): HookRates {
  /** The rate counter of each webhook, because each webhook may have its own limit. */
  const rates = new Map<string, { readonly rate: CallRate; perMinute: number | null }>()
  return {
    take(hook) {
      const known = rates.get(hook.id)
      if (known) known.perMinute = hook.perMinute
      const entry = known ?? begin(hook)
      entry.rate.take(hook.id)
    },
    forget: (hookId) => void rates.delete(hookId),
  }

  function begin(hook: Hook): { readonly rate: CallRate; perMinute: number | null } {
    const entry: { rate: CallRate; perMinute: number | null } = {
      perMinute: hook.perMinute,
      rate: createCallRate({
        clock: deps.clock,
        perMinute: () => entry.perMinute ?? deps.perMinute(),
        what: 'this webhook',
      }),
    }
    rates.set(hook.id, entry)
    return entry
  }
}
