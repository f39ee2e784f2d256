import { httpRequestSchema } from '@flotilla/protocol/mesh-agent-api'
import type { NewId } from '@flotilla/protocol/ids'
import type { JsonObject } from '@flotilla/protocol/json-value'
import { Problem } from '@flotilla/protocol/problem'
import { isTerminal } from '@flotilla/protocol/run'
import type { EffectOnce } from '@flotilla/foundation/effects'
import type { Caller } from '@flotilla/identity/access'
import type { PolicyDecision } from '@flotilla/identity/policy'
import type { AskApproval, ApprovalKind } from '@flotilla/work/approvals'
import type { RunQueries } from '@flotilla/work/runs'
import * as z from 'zod'
import { namesInRequest } from '../../credentials/index.ts'
import type { ForwardRequest, HttpReply, HttpRequest } from './forward-request.ts'

/** The kind of approval of one request to the outside. */
export const httpApprovalKind = 'http-request'
/** The maximum length of the body of a request that a person is asked about, in characters. */
export const askedBodyMaxChars = 4000
/** How much of the answer the agent is called again with, in characters. */
const answerMaxChars = 1500

const argsSchema = z.strictObject({
  agent_id: z.string(),
  run_id: z.string(),
  /** Random, so that each approval is one effect of its own in the record of effects. */
  once: z.string(),
  fence: z.number(),
  rule: z.string(),
  because: z.string(),
  ...httpRequestSchema.shape,
})

type AgentCaller = Extract<Caller, { kind: 'agent' }>

export interface ApprovedRequests {
  readonly kind: ApprovalKind
  /** Stores the request for a person, and throws the Problem `approval-required` with the id of the approval. */
  readonly ask: (caller: AgentCaller, request: HttpRequest, decision: PolicyDecision) => never
}

const neverGone = new AbortController().signal

/**
 * Requests of agents that a rule of the owner asks for.
 *
 * 1. The request is stored as the agent wrote it, with handles in place of credentials; the digest binds it.
 * 2. It leaves at most once: the row of the effect is committed before the first byte, and a request whose row exists
 *    is never sent again, also after a crash.
 * 3. Permission, policy, filter and the expiry of the approval are checked again when it leaves.
 */
export function createApprovedRequests(deps: {
  readonly ask: AskApproval
  readonly effects: Pick<EffectOnce, 'outside'>
  readonly runs: Pick<RunQueries, 'find'>
  /** Sends a request that a person has approved. */
  readonly send: (
    caller: AgentCaller,
    request: HttpRequest,
    line: Parameters<ForwardRequest>[2],
  ) => Promise<HttpReply>
  readonly newId: NewId
}): ApprovedRequests {
  async function carryOut(args: JsonObject, requireInTime: () => void): Promise<string> {
    const { agent_id: agentId, run_id: runId, once, fence, ...shown } = argsSchema.parse(args)
    const { url, method, headers, body, timeout_ms } = shown
    const request = { url, method, headers, body, timeout_ms }
    const run = deps.runs.find(runId)
    if (run === null || isTerminal(run.state))
      throw new Problem('conflict', { detail: 'the run that requested this has ended, so nothing was sent' })
    const { budgetUsd, budgetTokens, taskId, origin } = run
    const ticket = { agentId, runId, fence, origin, budgetUsd, budgetTokens, taskId }
    const caller: AgentCaller = { kind: 'agent', agentId, token: 'door', run: ticket }
    const call = { agentId, runId, key: `approved ${once}`, request: args }
    const reply = await deps.effects.outside(call, ({ signal, dispatching }) =>
      deps.send(caller, request, {
        signal,
        gone: neverGone,
        dispatching: () => {
          requireInTime()
          dispatching()
        },
      }),
    )
    return answerWords(reply)
  }

  return {
    kind: {
      action: () => ({ do: 'call-api', api: 'http' }),
      describe: (args) => {
        const { agent_id: subject, method, url, headers, body, because, rule } = argsSchema.parse(args)
        const names = namesInRequest({ url, headers, body })
        return {
          subject,
          summary: `send ${method} ${url}`,
          consequences: [
            `The mesh sends ${method} ${url} for ${subject}, once.`,
            ...Object.entries(headers).map(([name, value]) => `Header ${name}: ${value}`),
            bodyWords(body),
            ...(names.length === 0 ? [] : [`The mesh fills in the credential ${names.join(', ')}.`]),
            `The rule ${rule} of config/policy.yaml asks: ${because}`,
          ],
          price: 'Sending the request calls no model and costs nothing.',
        }
      },
      carryOut: (_person, args, requireInTime = () => {}) => carryOut(args, requireInTime),
      // The record of effects says whether the request has left; `carryOut` asks it.
      ifCutOff: 'again',
      wasDone: () => null,
    },
    ask: (caller, request, { rule, reason }) => {
      const { run } = caller
      if (run === null) throw new Problem('stale-fence')
      if (request.body.length > askedBodyMaxChars) {
        throw new Problem('policy-denied', {
          detail: `a person must approve this request (rule ${rule ?? ''}), and its body is longer than the ${askedBodyMaxChars} characters that a person can be shown`,
        })
      }
      const row = deps.ask(caller, {
        kind: httpApprovalKind,
        args: {
          agent_id: caller.agentId,
          run_id: run.runId,
          once: deps.newId('call'),
          fence: run.fence,
          rule: rule ?? '',
          because: reason,
          ...request,
        },
      })
      throw new Problem('approval-required', {
        detail: `${row.joined ? 'An equal request already waits' : 'The request waits'} for a person as ${row.id}, and was not sent: ${reason}`,
        extra: { approval: row.id },
      })
    },
  }
}

function bodyWords(body: string): string {
  if (body === '') return 'It has no body.'
  // Quoted, so that no line of the body passes for a line of the description.
  return `Body, ${Buffer.byteLength(body)} bytes: ${JSON.stringify(body)}`
}

function answerWords({ status, body, truncated }: HttpReply): string {
  const shown = body.slice(0, answerMaxChars)
  const isCut = truncated || shown.length < body.length
  return `The request was sent once and answered with status ${status}${shown === '' ? '.' : `: ${shown}${isCut ? ' …' : ''}`}`
}
