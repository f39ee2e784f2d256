import type { FastifyInstance } from 'fastify'
import type * as z from 'zod'
import { wireLimits } from '@flotilla/protocol/limits'
import { meshHumanApi as api, meshHumanEndpoints as endpoints } from '@flotilla/protocol/mesh-human-api'
import type { Caller } from '../access/caller.ts'
import { prometheusContentType, prometheusText } from '../diagnostics/prometheus-text.ts'
import type { Metric } from '../kernel/metric.ts'
import { alreadySent, createBinder } from '../http/bind-endpoint.ts'
import type { HumanGate } from '../http/gates/people-gate.ts'

type Body<Name extends keyof typeof api> = (typeof api)[Name] extends {
  request: infer S extends z.core.$ZodType
}
  ? z.output<S>
  : never
type Answer<Name extends keyof typeof api> = (typeof api)[Name] extends {
  response: infer S extends z.core.$ZodType
}
  ? z.input<S> | Promise<z.input<S>>
  : never

/** Use cases about the fleet as a whole and what it made. */
export interface FleetUseCases {
  status(caller: Caller): Answer<'status'>
  createAgent(caller: Caller, body: Body<'agentCreate'>): Answer<'agentCreate'>
  restartAgent(caller: Caller, agentId: string): Answer<'agentRestart'>
  applyTemplate(caller: Caller, name: string): Answer<'templateApply'>
  writeFile(caller: Caller, file: { agentId: string; path: string; content: Uint8Array }): Answer<'fileWrite'>
  blackboard(caller: Caller, prefix: string): Answer<'blackboard'>
  artifacts(caller: Caller): Answer<'artifacts'>
  artifact(caller: Caller, agentId: string, name: string): Promise<Uint8Array>
  costs(caller: Caller): Answer<'costs'>
  walls(caller: Caller): Answer<'walls'>
  startRecording(caller: Caller): Answer<'recordingStart'>
  stopRecording(caller: Caller): unknown
  metrics(caller: Caller): readonly Metric[]
}

export interface FleetRoutesDeps {
  readonly gate: HumanGate
  readonly use: FleetUseCases
}

export function fleetRoutes(scope: FastifyInstance, { gate, use }: FleetRoutesDeps): void {
  const bind = createBinder(scope)
  // Before the body is read: a page of another origin is told nothing of what it should have sent.
  scope.addHook('onRequest', async (request) => {
    gate(request)
  })
  scope.addContentTypeParser('application/octet-stream', { parseAs: 'buffer' }, (_request, body, done) =>
    done(null, body),
  )

  bind(endpoints.status, api.status, async ({ raw }) => use.status(gate(raw)))
  bind(endpoints.agentCreate, api.agentCreate, async ({ raw, body, reply }) => {
    const created = await use.createAgent(gate(raw), body)
    void reply.code(201)
    return created
  })
  bind(endpoints.agentRestart, api.agentRestart, async ({ raw, params }) =>
    use.restartAgent(gate(raw), params['id'] ?? ''),
  )
  bind(endpoints.templateApply, api.templateApply, async ({ raw, params }) =>
    use.applyTemplate(gate(raw), params['name'] ?? ''),
  )
  bind(
    endpoints.fileWrite,
    { ...api.fileWrite, bodyMaxBytes: wireLimits.uploadMaxBytes },
    async ({ raw, params }) => {
      const caller = gate(raw)
      const content = Buffer.isBuffer(raw.body) ? raw.body : Buffer.alloc(0)
      return use.writeFile(caller, { agentId: params['id'] ?? '', path: params['path'] ?? '', content })
    },
  )
  bind(endpoints.blackboard, api.blackboard, async ({ raw, query }) =>
    use.blackboard(gate(raw), query.prefix),
  )
  bind(endpoints.artifacts, api.artifacts, async ({ raw }) => use.artifacts(gate(raw)))
  bind(endpoints.artifact, api.artifact, async ({ raw, params, reply }) => {
    const content = await use.artifact(gate(raw), params['agent'] ?? '', params['name'] ?? '')
    void reply.header('content-disposition', 'attachment').type('application/octet-stream')
    await reply.send(Buffer.from(content))
    return alreadySent
  })
  bind(endpoints.costs, api.costs, async ({ raw }) => use.costs(gate(raw)))
  bind(endpoints.walls, api.walls, async ({ raw }) => use.walls(gate(raw)))
  bind(endpoints.recordingStart, api.recordingStart, async ({ raw }) => use.startRecording(gate(raw)))
  bind(endpoints.recordingStop, api.recordingStop, async ({ raw }) => use.stopRecording(gate(raw)))
  bind(endpoints.metrics, api.metrics, async ({ raw, reply }) => {
    const metrics = use.metrics(gate(raw))
    void reply.type(prometheusContentType)
    return prometheusText(metrics)
  })
}
