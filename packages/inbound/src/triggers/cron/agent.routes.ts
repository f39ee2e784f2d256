import { cronAgentApi as api, cronAgentEndpoints as endpoints } from '@flotilla/protocol/cron-api'
import type { CronJobView } from '@flotilla/protocol/cron-api'
import type { AgentSurface } from '@flotilla/identity/http'
import { answering } from '@flotilla/foundation/storage'
import type { ManageCron } from './manage-cron.ts'

export function cronAgentRoutes({ bind }: AgentSurface, cron: ManageCron): void {
  bind(endpoints.cronList, api.cronList, ({ caller }) => cron.list(caller))
  bind(endpoints.cronSet, api.cronSet, ({ caller, body, effect, gone }) => {
    const { resumable } = effect(body)
    const signal = gone()
    const agent = body.agent ?? caller.agentId
    return resumable<CronJobView>((step) => cron.create(caller, { ...body, agent, step }, signal))
  })
  bind(endpoints.cronChange, api.cronChange, ({ caller, params: { id }, body, effect, gone }) => {
    const { resumable } = effect({ id, ...body })
    const signal = gone()
    return resumable<CronJobView>((step) => cron.update(caller, { id, change: body, step }, signal))
  })
  bind(endpoints.cronDrop, api.cronDrop, ({ caller, params: { id }, effect }) => {
    const removed = () => ({ removed: true, id })
    return effect({ id }).resumable<ReturnType<typeof removed>>(async (step) => {
      await cron.remove(caller, id, answering(step, removed))
      return removed()
    })
  })
}
