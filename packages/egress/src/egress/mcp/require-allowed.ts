import type { JsonObject } from '@flotilla/protocol/json-value'
import { jsonLimits } from '@flotilla/protocol/limits'
import { readJsonQuietly } from '@flotilla/foundation/intake'
import type { CheckEffect, PolicyDecision } from '@flotilla/identity/policy'
import { handleNames, addressOf as destinationWithHandles, namesInRequest } from '../../credentials/index.ts'
import type { HandledRequest } from '../../credentials/index.ts'
import type { AgentCaller } from '../approved/approved-effect.ts'
import { effectAt } from '../fetch/request-effect.ts'
import { calledTool, effectsOfExchange, serverEffects } from './server-effects.ts'

/** One call of one tool, with the names of the credentials of the whole request. */
export interface AskedCall {
  readonly server: string
  readonly call: JsonObject
  readonly credentials: readonly string[]
}

/** Handles a tool call that a rule asks for. */
export type AskCall = (caller: AgentCaller, asked: AskedCall, decision: PolicyDecision) => void

const instead = 'a person can be asked about one tool call in a message of its own only'

/**
 * Asks the policy about each tool that a message calls, and returns the message as it was understood. A call that a
 * rule asks for is given to `ask`. Problem `policy-denied`, and those of `ask`.
 */
export function requireAllowed(
  { checkEffect, ask }: { readonly checkEffect: CheckEffect; readonly ask: AskCall },
  caller: AgentCaller,
  {
    exchange,
    written,
  }: {
    readonly exchange: { readonly server: string; readonly method: string; readonly body: string }
    readonly written: HandledRequest
  },
): HandledRequest {
  const { tools, body } = serverEffects(exchange)
  // Names are read from the message as it will be sent: the text of the agent may hide them in escapes.
  const sent = { ...written, body }
  const place = effectAt(destinationWithHandles(written.url), exchange.method)
  const path = handleNames(written.url.split('?', 1)[0] ?? '').length === 0 ? place.path : null
  const at = { ...place, path, credentials: namesInRequest(sent) }
  const call = tools.length === 1 ? oneCall(body) : null
  for (const effect of effectsOfExchange(exchange.server, tools, at)) {
    const decision =
      call === null ? checkEffect.requireAllowed(caller, effect, instead) : checkEffect(caller, effect)
    if (call !== null && decision.verdict === 'ask')
      ask(caller, { server: exchange.server, call, credentials: at.credentials }, decision)
  }
  return sent
}

/** The tool call of a message; null if it is no single call, or if a number in it cannot be kept exactly. */
function oneCall(body: string): JsonObject | null {
  const message = readJsonQuietly(body, jsonLimits.body)
  return JSON.stringify(message) === body ? calledTool(message) : null
}
