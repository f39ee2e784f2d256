import { Problem } from '@flotilla/protocol/problem'
import type { PlanItem } from '@flotilla/protocol/templates-api'
import { watchName, watchesMax } from '@flotilla/inbound/triggers/watch'
import type { WatcherChange, WatcherEntry } from '@flotilla/inbound/triggers/watch'
import { changesOf, itemOf } from './plan-item.ts'

export interface WatcherPlan {
  readonly item: PlanItem
  readonly change: WatcherChange
}

/**
 * Plans the watchers of a template. An existing watcher is identified by agent, folder and pattern; equal ones by
 * their order in the file. Throws Problem `conflict` above the limit. Pure.
 */
export function planWatchers(
  wishes: readonly WatcherEntry[],
  existing: readonly WatcherEntry[],
): readonly WatcherPlan[] {
  const seen = new Map<string, number>()
  const plans = wishes.map((wish): WatcherPlan => {
    const place = placeOf(wish)
    const ordinal = seen.get(place) ?? 0
    seen.set(place, ordinal + 1)
    const before = existing.filter((entry) => placeOf(entry) === place)[ordinal] ?? null
    const id = `${wish.agent}: ${watchName(wish)}${ordinal === 0 ? '' : ` (${ordinal + 1})`}`
    const changes = changesOf(before && fieldsOf(before), fieldsOf(wish))
    return {
      item: itemOf({ kind: 'watcher', id }, before !== null, changes),
      change: { before, after: wish },
    }
  })
  const all = existing.length + plans.filter(({ change }) => change.before === null).length
  if (all > watchesMax) {
    throw new Problem('conflict', {
      detail: `with this template the fleet would have ${all} file watchers, and ${watchesMax} are allowed; remove some from config/watchers.yaml`,
    })
  }
  return plans
}

function placeOf({ agent, path, pattern }: WatcherEntry): string {
  return JSON.stringify([agent, path, pattern])
}

/** Returns the fields of a watcher, null for a missing one, so that a plan shows that a field is removed. */
function fieldsOf({ message, when }: WatcherEntry): Readonly<Record<string, unknown>> {
  return { message, when: when ?? null }
}
