import { randomBytes } from 'node:crypto'
import type { Kernel, MeshModule } from '../../kernel/index.ts'
import { webhookPeopleRoutes } from './people.routes.ts'
import { webhookPublicRoutes } from './public.routes.ts'
import { createWebhooks } from './webhooks.ts'
import type { WebhooksDeps } from './webhooks.ts'

/** Deliveries of other systems, each a run of its webhook's agent. No other module asks it anything. */
export function webhookModule(
  kernel: Kernel,
  needs: {
    readonly vault: WebhooksDeps['vault']
    readonly runs: Pick<WebhooksDeps, 'submitRun'>
    readonly agents: { readonly requireWorking: (agentId: string) => void }
  },
): MeshModule<null> {
  const { clock, hooks, settings } = kernel
  const webhooks = createWebhooks({
    ...kernel,
    vault: needs.vault,
    submitRun: needs.runs.submitRun,
    requireAgent: needs.agents.requireWorking,
    perMinute: () => settings().webhooks.per_minute,
    randomBytes,
  })
  hooks.runSettled.subscribe(webhooks.runSettled)
  hooks.agentDeleted.subscribe(webhooks.forget)
  return {
    api: null,
    routes: {
      public: (surface) => webhookPublicRoutes(surface, { receive: webhooks.receive, clock }),
      people: (surface) => webhookPeopleRoutes(surface, { webhooks, clock }),
    },
    maintain: webhooks.maintain,
  }
}
