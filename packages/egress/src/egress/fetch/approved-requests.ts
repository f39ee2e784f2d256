import { httpRequestSchema } from '@flotilla/protocol/mesh-agent-api'
import { Problem } from '@flotilla/protocol/problem'
import { addressInLine, quoted, wholeAddress } from '@flotilla/protocol/shown-text'
import type { PolicyDecision } from '@flotilla/identity/policy'
import type { ApprovalKind } from '@flotilla/work/approvals'
import * as z from 'zod'
import { namesInRequest } from '../../credentials/index.ts'
import { approvalRequired, approvedEffectArgs } from '../approved/approved-effect.ts'
import type { AgentCaller, ApprovedEffects } from '../approved/approved-effect.ts'
import { requestEffect } from './request-effect.ts'
import type { ForwardRequest, HttpReply, HttpRequest } from './forward-request.ts'

/** The kind of approval of one request to the outside. */
export const httpApprovalKind = 'http-request'
/** The maximum length of the body of a request that a person is asked about, in characters. */
export const askedBodyMaxChars = 4000
/** How much of the answer the agent is called again with, in characters. */
const answerMaxChars = 1500

const argsSchema = z.strictObject({ ...approvedEffectArgs, ...httpRequestSchema.shape })

export interface ApprovedRequests {
  readonly kind: ApprovalKind
  /** Stores the request for a person, and throws the Problem `approval-required` with the id of the approval. */
  readonly ask: (
    caller: AgentCaller,
    request: HttpRequest,
    asked: { readonly decision: PolicyDecision; readonly key?: string | undefined },
  ) => never
}

const neverGone = new AbortController().signal

/**
 * Requests of `http_request` that a rule of the owner asks for. They are stored as the agent wrote them, with handles
 * in place of credentials.
 */
export function createApprovedRequests(deps: {
  readonly approved: ApprovedEffects
  /** Sends a request that a person has approved. */
  readonly send: (
    caller: AgentCaller,
    request: HttpRequest,
    line: Parameters<ForwardRequest>[2],
  ) => Promise<HttpReply>
}): ApprovedRequests {
  return {
    kind: {
      action: () => ({ do: 'call-api', api: 'http' }),
      describe: (args) => {
        const { agent_id: subject, method, url, headers, body, because, rule } = argsSchema.parse(args)
        const names = namesInRequest({ url, headers, body })
        return {
          subject,
          summary: `send ${method} ${addressInLine(url)}`,
          consequences: [
            `The mesh sends ${method} ${wholeAddress(url)} for ${subject}, once.`,
            ...Object.entries(headers).map(([name, value]) => `Header ${name}: ${quoted(value)}`),
            bodyWords(body),
            ...(names.length === 0 ? [] : [`The mesh fills in the credential ${names.join(', ')}.`]),
            `The rule ${rule} of config/policy.yaml asks: ${because}`,
          ],
          price: 'Sending the request calls no model and costs nothing.',
        }
      },
      carryOut: async (_person, args, confirmed) => {
        const { url, method, headers, body, timeout_ms } = argsSchema.parse(args)
        const request = { url, method, headers, body, timeout_ms }
        const reply = await deps.approved.once(args, confirmed, (caller, line) =>
          deps.send(caller, request, { ...line, gone: neverGone }),
        )
        return answerWords(reply)
      },
      // The record of effects says whether the request has left; `carryOut` asks it.
      ifCutOff: 'again',
      wasDone: () => null,
      policyEffect: (args) => {
        const { rule, ...request } = argsSchema.parse(args)
        return { details: requestEffect(request), rule }
      },
    },
    ask: (caller, request, { decision, key }) => {
      if (request.body.length > askedBodyMaxChars) {
        throw new Problem('policy-denied', {
          detail: `a person must approve this request (rule ${decision.rule ?? ''}), and its body is longer than the ${askedBodyMaxChars} characters that a person can be shown`,
        })
      }
      const row = deps.approved.ask(caller, httpApprovalKind, {
        decision,
        key,
        args: { ...request },
      })
      throw approvalRequired('request', row, decision.reason)
    },
  }
}

function bodyWords(body: string): string {
  if (body === '') return 'It has no body.'
  // Quoted, so that no line of the body passes for a line of the description.
  return `Body, ${Buffer.byteLength(body)} bytes: ${quoted(body)}`
}

function answerWords({ status, body, truncated }: HttpReply): string {
  const shown = body.slice(0, answerMaxChars)
  const isCut = truncated || shown.length < body.length
  return `The request was sent once and answered with status ${status}${shown === '' ? '.' : `: ${shown}${isCut ? ' …' : ''}`}`
}
