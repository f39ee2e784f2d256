import { watchApi as api, watchEndpoints as endpoints } from '@flotilla/protocol/watch-api'
import type { PeopleSurface } from '@flotilla/identity/http'
import type { Caller } from '@flotilla/identity/access'
import type { ChangeWatcher } from './change-watcher.ts'
import type { ShowWatches } from './show-watches.ts'
import { checkedView, firedView, watchView } from './watch-view.ts'

export function watchPeopleRoutes(
  { bind }: PeopleSurface,
  { show, change }: { readonly show: ShowWatches; readonly change: ChangeWatcher },
): void {
  const list = (caller: Caller) => {
    const { broken, watches, polls } = show.list(caller)
    return {
      broken,
      watchers: watches.map(watchView),
      polls: { done: polls.done, skipped: polls.skipped, longest_ms: polls.longestMs },
    }
  }
  bind(endpoints.watchers, api.watchers, ({ caller }) => list(caller))
  bind(endpoints.watcherChange, api.watcherChange, async ({ caller, body }) => {
    const notices = await change(caller, body)
    return { ...list(caller), notices: [...notices] }
  })
  bind(endpoints.watchersCheck, api.watchersCheck, async ({ caller }) => {
    const { broken, watches } = await show.check(caller)
    return { broken, watchers: watches.map(checkedView) }
  })
  bind(endpoints.watcherHistory, api.watcherHistory, ({ caller, query }) => ({
    fired: show.history(caller, query.limit).map(firedView),
  }))
}
