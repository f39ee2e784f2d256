import type { FastifyInstance } from 'fastify'
import type * as z from 'zod'
import { cronAgentApi as api, cronAgentEndpoints as endpoints } from '@flotilla/protocol/cron-api'
import type { CronChange } from '@flotilla/protocol/cron-api'
import type { EffectOnce } from '../../runs/effect-once.ts'
import { createBinder } from '../bind-endpoint.ts'
import { clientGone } from '../client-gone.ts'
import { effectOf } from './agent.routes.ts'
import type { AgentCaller, createAgentGate } from './gate.ts'

type Answer<Name extends keyof typeof api> =
  | z.input<(typeof api)[Name]['response']>
  | Promise<z.input<(typeof api)[Name]['response']>>

/** What agents do with jobs; each use case decides for itself whether the caller may. */
export interface CronAgentUseCases {
  list(caller: AgentCaller): Answer<'cronList'>
  set(
    caller: AgentCaller,
    job: z.output<(typeof api)['cronSet']['request']>,
    signal: AbortSignal,
  ): Answer<'cronSet'>
  change(
    caller: AgentCaller,
    input: { id: string; change: CronChange },
    signal: AbortSignal,
  ): Answer<'cronChange'>
  drop(caller: AgentCaller, id: string): Answer<'cronDrop'>
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
  // A job is in a file and the answer in the database: where the mesh died in between, nobody knows.
  bind(endpoints.cronSet, api.cronSet, async ({ raw, reply, body }) => {
    const { caller, once } = effectOf({ gate, effects }, raw, { ifCutOff: 'unknown', request: body })
    return once(async () => use.set(caller, body, clientGone(reply)))
  })
  bind(endpoints.cronChange, api.cronChange, async ({ raw, reply, params, body }) => {
    const id = params['id'] ?? ''
    const { caller, once } = effectOf({ gate, effects }, raw, { ifCutOff: 'again', request: { id, ...body } })
    return once(async () => use.change(caller, { id, change: body }, clientGone(reply)))
  })
  bind(endpoints.cronDrop, api.cronDrop, async ({ raw, params }) => {
    const id = params['id'] ?? ''
    const { caller, once } = effectOf({ gate, effects }, raw, { ifCutOff: 'unknown', request: { id } })
    return once(async () => use.drop(caller, id))
  })
}
