import type { FastifyInstance } from 'fastify'
import type * as z from 'zod'
import { cronAgentApi as api, cronAgentEndpoints as endpoints } from '@flotilla/protocol/cron-api'
import type { CronChange } from '@flotilla/protocol/cron-api'
import type { EffectOnce, EffectStep } from '../../effects/effect-once.ts'
import { createBinder } from '../../http/bind-endpoint.ts'
import { clientGone } from '../../http/client-gone.ts'
import { effectOf } from '../../http/effect-on-call.ts'
import type { AgentCaller, createAgentGate } from '../../http/gates/agent-gate.ts'

type Reply<Name extends keyof typeof api> = z.input<(typeof api)[Name]['response']>
type Step<Name extends keyof typeof api> = EffectStep<Reply<Name>>

/** What agents do with jobs; each use case decides for itself whether the caller may. */
export interface CronAgentUseCases {
  list(caller: AgentCaller): Reply<'cronList'>
  set(
    caller: AgentCaller,
    job: z.output<(typeof api)['cronSet']['request']>,
    one: { readonly signal: AbortSignal; readonly step: Step<'cronSet'> },
  ): Promise<Reply<'cronSet'>>
  change(
    caller: AgentCaller,
    input: { id: string; change: CronChange },
    one: { readonly signal: AbortSignal; readonly step: Step<'cronChange'> },
  ): Promise<Reply<'cronChange'>>
  drop(caller: AgentCaller, id: string, step: Step<'cronDrop'>): Promise<Reply<'cronDrop'>>
}

export function cronAgentRoutes(
  scope: FastifyInstance,
  deps: {
    readonly gate: ReturnType<typeof createAgentGate>
    readonly effects: EffectOnce
    readonly use: CronAgentUseCases
  },
): void {
  const { gate, effects, use } = deps
  const bind = createBinder(scope, gate.spend)
  scope.addHook('onRequest', gate.admitToDoor)

  bind(endpoints.cronList, api.cronList, async ({ raw }) => use.list(gate.doorOnly(raw)))
  bind(endpoints.cronSet, api.cronSet, async ({ raw, reply, body }) => {
    const { caller, resumable } = effectOf({ gate, effects }, raw, body)
    const signal = clientGone(reply)
    return resumable<Reply<'cronSet'>>((step) => use.set(caller, body, { signal, step }))
  })
  bind(endpoints.cronChange, api.cronChange, async ({ raw, reply, params, body }) => {
    const id = params['id'] ?? ''
    const { caller, resumable } = effectOf({ gate, effects }, raw, { id, ...body })
    const signal = clientGone(reply)
    return resumable<Reply<'cronChange'>>((step) =>
      use.change(caller, { id, change: body }, { signal, step }),
    )
  })
  bind(endpoints.cronDrop, api.cronDrop, async ({ raw, params }) => {
    const id = params['id'] ?? ''
    const { caller, resumable } = effectOf({ gate, effects }, raw, { id })
    return resumable<Reply<'cronDrop'>>((step) => use.drop(caller, id, step))
  })
}
