import { isJsonObject } from '@flotilla/protocol/is-json-object'
import { messageAgentEndpoints } from '@flotilla/protocol/message-endpoints'
import { capabilityPrefix, messageLimits } from '@flotilla/protocol/message-limits'
import { integer, text, textList, withDefault } from '../tools/parameters.ts'
import { defineTool, meshToolTimeoutMs, succeeded } from '../tools/tool.ts'
import type { Tool } from '../tools/tool.ts'

/** Tools to ask another agent a question and to declare what this agent can be asked for. */
export function askAgentTools(): Tool[] {
  return [messageAgent, declareCapabilities]
}

/** Network time in milliseconds, added to the time that the mesh itself waits. */
const wayMs = 30_000

const messageAgent = defineTool({
  name: 'message_agent',
  description: `Sends a question to another agent. If you wait, you get the answer at once; otherwise you are called again with it after your turn has ended. For work that must be done and closed use hand_off. The result of this tool names the recipient.`,
  parameters: {
    to: text(
      `Id of the agent, or ${capabilityPrefix}NAME for any agent with that capability; list_agents shows both`,
      {
        minChars: 1,
        maxChars: capabilityPrefix.length + messageLimits.capabilityMaxChars,
      },
    ),
    text: text('Everything the other agent needs: it knows nothing of this conversation', {
      minChars: 1,
      maxChars: messageLimits.textMaxChars,
    }),
    wait_seconds: withDefault(
      integer('How long to wait for the answer; 0: do not wait', {
        min: 0,
        max: messageLimits.waitMaxSeconds,
      }),
      0,
    ),
  },
  effect: 'mesh',
  timeoutMs: meshToolTimeoutMs + messageLimits.waitMaxSeconds * 1000,
  run: async ({ wait_seconds: seconds, ...body }, { mesh, signal, idempotencyKey }) => {
    const sent = await mesh.call({
      endpoint: messageAgentEndpoints.messageSend,
      body,
      signal,
      idempotencyKey,
    })
    const id = isJsonObject(sent) && sent['state'] === 'sent' ? sent['id'] : null
    if (seconds === 0 || typeof id !== 'string') return succeeded(withWords(sent))
    const waited = await mesh.call({
      endpoint: messageAgentEndpoints.messageAwait,
      params: { id },
      body: { wait_seconds: seconds },
      signal,
      timeoutMs: seconds * 1000 + wayMs,
    })
    return succeeded(withWords(waited))
  },
})

/** What each state means for the asking agent. */
const notes = {
  sent: 'The other agent works on it. End your turn when there is nothing else to do; you are called again with the answer. Do not send it again.',
  kept: 'The operator reads it at its next heartbeat. It does not answer; continue without an answer.',
} as const

function withWords(reply: unknown): unknown {
  if (!isJsonObject(reply)) return reply
  const state = reply['state']
  return state === 'sent' || state === 'kept' ? { ...reply, note: notes[state] } : reply
}

const declareCapabilities = defineTool({
  name: 'declare_capabilities',
  description: `Declares your capabilities, so that other agents can reach you by ${capabilityPrefix}NAME. It replaces your earlier declaration. Declare only what your role and tools let you do.`,
  parameters: {
    capabilities: textList('Short names such as translate.german', {
      maxItems: messageLimits.capabilitiesPerAgentMax,
      maxChars: messageLimits.capabilityMaxChars,
    }),
  },
  effect: 'mesh',
  timeoutMs: meshToolTimeoutMs,
  run: async (body, { mesh, signal }) =>
    succeeded(await mesh.call({ endpoint: messageAgentEndpoints.capabilitiesDeclare, body, signal })),
})
