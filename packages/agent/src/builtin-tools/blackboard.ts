import { wireLimits } from '@flotilla/protocol/limits'
import { meshAgentEndpoints } from '@flotilla/protocol/mesh-agent-api'
import { blackboardWatchEndpoints } from '@flotilla/protocol/blackboard-api'
import { watchLimits, watchDeliveries } from '@flotilla/protocol/blackboard-limits'
import { anyJson, choice, integer, optional, text, withDefault } from '../tools/parameters.ts'
import { defineTool, meshToolTimeoutMs, succeeded } from '../tools/tool.ts'
import type { Tool } from '../tools/tool.ts'

const key = text('Key: segments joined by /', { minChars: 1, maxChars: wireLimits.blackboardKeyMaxChars })
const ttlMaxSeconds = 366 * 24 * 3600

/** Tools for the shared blackboard of the fleet. The mesh decides which keys this agent may read and write. */
export function blackboardTools(): Tool[] {
  return [
    defineTool({
      name: 'read_blackboard',
      description: 'Reads one entry of the shared blackboard.',
      parameters: { key },
      effect: 'none',
      parallelSafe: true,
      timeoutMs: meshToolTimeoutMs,
      run: async (values, { mesh, signal }) =>
        succeeded(await mesh.call({ endpoint: meshAgentEndpoints.blackboardRead, params: values, signal })),
    }),
    defineTool({
      name: 'write_blackboard',
      description: 'Writes one entry of the shared blackboard, for other agents to read.',
      parameters: {
        key,
        value: anyJson('Any JSON value'),
        expected_version: optional(
          integer('Write only if the entry has this version; 0: only if the key is new', {
            min: 0,
            max: 1e15,
          }),
        ),
        ttl_s: optional(integer('Seconds until the entry expires', { min: 1, max: ttlMaxSeconds })),
      },
      effect: 'mesh',
      timeoutMs: meshToolTimeoutMs,
      run: async ({ key: name, ...body }, { mesh, signal, idempotencyKey }) => {
        const call = {
          endpoint: meshAgentEndpoints.blackboardWrite,
          params: { key: name },
          body,
          idempotencyKey,
        }
        return succeeded(await mesh.call({ ...call, signal }))
      },
    }),
    defineTool({
      name: 'list_blackboard',
      description: 'Lists the entries of the shared blackboard whose keys begin with a prefix.',
      parameters: { prefix: withDefault(text('Prefix of keys', { maxChars: 512 }), '') },
      effect: 'none',
      parallelSafe: true,
      timeoutMs: meshToolTimeoutMs,
      run: async (values, { mesh, signal }) =>
        succeeded(await mesh.call({ endpoint: meshAgentEndpoints.blackboardList, query: values, signal })),
    }),
    defineTool({
      name: 'watch_blackboard',
      description:
        'Notifies you when other agents write keys that match a pattern; your own writes do not count. run: each notification starts a run. steer: it is added to your current run, or starts a run if you have none. off: ends the watch. Without a pattern it lists your watches.',
      parameters: {
        pattern: optional(
          text('Pattern: * matches part of a segment, ** any number of segments', {
            minChars: 1,
            maxChars: watchLimits.patternMaxChars,
          }),
        ),
        tell: withDefault(choice('How you are notified', [...watchDeliveries, 'off']), 'run'),
      },
      effect: 'mesh',
      timeoutMs: meshToolTimeoutMs,
      run: async ({ pattern, tell }, { mesh, signal, idempotencyKey }) =>
        succeeded(
          await mesh.call(
            pattern === undefined
              ? { endpoint: blackboardWatchEndpoints.blackboardWatches, signal }
              : {
                  endpoint: blackboardWatchEndpoints.blackboardWatch,
                  body: { pattern, tell },
                  signal,
                  idempotencyKey,
                },
          ),
        ),
    }),
  ]
}
