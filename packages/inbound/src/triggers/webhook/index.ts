import { randomBytes } from 'node:crypto'
import type { Agents } from '@flotilla/fleet/agents'
import type { MeshModule } from '@flotilla/identity/kernel'
import type { Runs } from '@flotilla/work/runs'
import { webhookPeopleRoutes } from './people.routes.ts'
import { webhookPublicRoutes } from './public.routes.ts'
import { createWebhooks } from './webhooks.ts'
import type { Webhooks, WebhooksDeps } from './webhooks.ts'
import type { WorkKernel } from '@flotilla/work/events'

export type { Hook } from './hook-table.ts'
export type { HookWish, PreparedHooks } from './prepare-hooks.ts'
export { secretFault as standardSecretFault, signStandard, verifyStandard } from './verify-signature.ts'
export type { StandardSigned } from './verify-signature.ts'
export type { Webhooks } from './webhooks.ts'

/** The webhook module: each delivery becomes a run of the webhook's agent. */
export function webhookModule(
  kernel: WorkKernel,
  needs: {
    readonly vault: WebhooksDeps['vault']
    readonly runs: Pick<Runs, 'queue'>
    readonly agents: Pick<Agents, 'registry'>
  },
): MeshModule<Pick<Webhooks, 'all' | 'prepare'>> {
  const { clock, fleetEvents, workEvents, settings } = kernel
  const webhooks = createWebhooks({
    ...kernel,
    vault: needs.vault,
    submitRun: needs.runs.queue.submitRun,
    requireAgent: needs.agents.registry.requireWorking,
    perMinute: () => settings().webhooks.per_minute,
    randomBytes,
  })
  workEvents.runSettled.subscribe(webhooks.runSettled)
  fleetEvents.agentDeleted.subscribe(webhooks.forget)
  return {
    api: webhooks,
    routes: {
      public: (surface) => webhookPublicRoutes(surface, { receive: webhooks.receive, clock }),
      people: (surface) => webhookPeopleRoutes(surface, { webhooks, clock }),
    },
    maintain: webhooks.maintain,
  }
}
