import { cronHumanApi as api, cronHumanEndpoints as endpoints } from '@flotilla/protocol/cron-api'
import type { PeopleSurface } from '@flotilla/identity/http'
import type { ManageCron } from './manage-cron.ts'

export function cronPeopleRoutes({ bind }: PeopleSurface, cron: ManageCron): void {
  bind(endpoints.cronJobs, api.cronJobs, ({ caller, query }) => cron.list(caller, query.agent))
  bind(endpoints.cronPreview, api.cronPreview, ({ caller, query }) => cron.preview(caller, query))
  bind(endpoints.cronCreate, api.cronCreate, ({ caller, body, gone }) => cron.create(caller, body, gone()))
  bind(endpoints.cronUpdate, api.cronUpdate, ({ caller, params: { id }, body, gone }) => {
    const { seen, ...change } = body
    return cron.update(caller, { id, change, seen }, gone())
  })
  bind(endpoints.cronRemove, api.cronRemove, async ({ caller, params: { id } }) => {
    await cron.remove(caller, id)
    return { removed: true, id }
  })
  bind(endpoints.cronRun, api.cronRun, ({ caller, params }) => cron.runNow(caller, params.id))
  bind(endpoints.cronHistory, api.cronHistory, ({ caller, params, query }) =>
    cron.history(caller, params.id, query.limit),
  )
}
