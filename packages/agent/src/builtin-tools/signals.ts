import { topicAgentEndpoints, topicLimits } from '@flotilla/protocol/topics-api'
import { anyJson, integer, optional, text, withDefault } from '../tools/parameters.ts'
import { defineTool, meshToolTimeoutMs, succeeded } from '../tools/tool.ts'
import type { Tool } from '../tools/tool.ts'

const topic = text('Topic: segments of letters, digits and _ . : - joined by /', {
  minChars: 1,
  maxChars: topicLimits.topicMaxChars,
})

/** Tools that publish signals to other agents and read the inbox of signals. */
export function signalTools(): Tool[] {
  return [
    defineTool({
      name: 'publish_signal',
      description:
        'Publishes a message on a topic to all subscribed agents. It starts no run: they get it when they next call read_signals. To delegate work use hand_off.',
      parameters: {
        topic,
        text: text('The message', { minChars: 1, maxChars: topicLimits.signalMaxBytes }),
        data: optional(anyJson('Structured data to send with the text')),
      },
      effect: 'mesh',
      timeoutMs: meshToolTimeoutMs,
      run: async ({ data = null, ...body }, { mesh, signal, idempotencyKey }) =>
        succeeded(
          await mesh.call({
            endpoint: topicAgentEndpoints.signalPublish,
            body: { ...body, data },
            signal,
            idempotencyKey,
          }),
        ),
    }),
    defineTool({
      name: 'read_signals',
      description: 'Returns your unread signals, oldest first. They count as read when this turn succeeds.',
      parameters: {
        limit: withDefault(integer('How many', { min: 1, max: topicLimits.readMax }), 20),
      },
      effect: 'mesh',
      timeoutMs: meshToolTimeoutMs,
      run: async (body, { mesh, signal, idempotencyKey }) => {
        const call = { endpoint: topicAgentEndpoints.signalsRead, body, signal, idempotencyKey }
        // Writes JSON without whitespace, as the mesh measures it: a longer, indented text could be cut off, and the
        // signals in the rest would still count as read.
        return succeeded(JSON.stringify(await mesh.call(call)))
      },
    }),
    defineTool({
      name: 'subscribe_topic',
      description: 'Subscribes you to a topic: signals published from now on are queued until you read them.',
      parameters: { topic },
      effect: 'mesh',
      timeoutMs: meshToolTimeoutMs,
      run: async (body, { mesh, signal, idempotencyKey }) =>
        succeeded(
          await mesh.call({ endpoint: topicAgentEndpoints.topicSubscribe, body, signal, idempotencyKey }),
        ),
    }),
    defineTool({
      name: 'unsubscribe_topic',
      description: 'Ends your subscription to a topic; unread signals stay.',
      parameters: { topic },
      effect: 'mesh',
      timeoutMs: meshToolTimeoutMs,
      run: async (body, { mesh, signal, idempotencyKey }) =>
        succeeded(
          await mesh.call({ endpoint: topicAgentEndpoints.topicUnsubscribe, body, signal, idempotencyKey }),
        ),
    }),
  ]
}
