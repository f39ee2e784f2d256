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

/** Added to the time that the mesh itself waits, for the network. */
const wayMs = 30_000

const messageAgent = defineTool({
  name: 'message_agent',
  description: `Asks another agent something. The answer comes at once where you wait for it, and else when your turn has ended: you are called again with it. To have work done and closed use hand_off. The answer of this tool names who got it.`,
  parameters: {
    to: text(`Id of the agent, or ${capabilityPrefix}NAME for whoever can; list_agents shows both`, {
      minChars: 1,
      maxChars: capabilityPrefix.length + messageLimits.capabilityMaxChars,
    }),
    text: text('Everything the other needs: it knows nothing of this conversation', {
      minChars: 1,
      maxChars: messageLimits.textMaxChars,
    }),
    wait_seconds: withDefault(
      integer('How long to wait for the answer; 0 for not at all', {
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
const words = {
  sent: 'It is being worked on: end your turn when there is nothing else to do, and you are called again with the answer. Do not send it again.',
  kept: 'The operator reads it at its next heartbeat. No answer comes; go on without one.',
} as const

function withWords(reply: unknown): unknown {
  if (!isJsonObject(reply)) return reply
  const state = reply['state']
  return state === 'sent' || state === 'kept' ? { ...reply, note: words[state] } : reply
}

const declareCapabilities = defineTool({
  name: 'declare_capabilities',
  description: `Says what you can, so that others reach you by ${capabilityPrefix}NAME; it takes the place of what you declared before. Declare only what your role and tools let you do.`,
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
