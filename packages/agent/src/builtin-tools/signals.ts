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
        'Says something on a topic to every agent that is subscribed to it. It starts no work: they read it when they next look. To have something done use hand_off.',
      parameters: {
        topic,
        text: text('What they are to know', { minChars: 1, maxChars: topicLimits.signalMaxBytes }),
        data: optional(anyJson('Figures or names beside the text')),
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
      description: 'Gives your unread signals, oldest first. They count as read when this turn ends well.',
      parameters: {
        limit: withDefault(integer('How many', { min: 1, max: topicLimits.readMax }), 20),
      },
      effect: 'mesh',
      timeoutMs: meshToolTimeoutMs,
      run: async (body, { mesh, signal, idempotencyKey }) => {
        const call = { endpoint: topicAgentEndpoints.signalsRead, body, signal, idempotencyKey }
        // Without whitespace, as the mesh measures it: an indented list of numbers would be cut off and still
        // count as read.
        return succeeded(JSON.stringify(await mesh.call(call)))
      },
    }),
    defineTool({
      name: 'subscribe_topic',
      description: 'Subscribes you to a topic: what is published there from now on waits in your box.',
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
      description: 'Ends your subscription to a topic; what is unread stays.',
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
