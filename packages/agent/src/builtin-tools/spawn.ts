import { spawnLimits } from '@flotilla/protocol/limits'
import { spawnEndpoints } from '@flotilla/protocol/spawn-api'
import { integer, jsonObject, number, text, withDefault } from '../tools/parameters.ts'
import { defineTool, meshToolTimeoutMs, succeeded } from '../tools/tool.ts'
import type { Tool } from '../tools/tool.ts'

const { ttlSeconds, budgetUsd, roleMaxChars, promptMaxChars } = spawnLimits

/** Starts an agent in its own container for one task. For smaller work there are sub-agents in this process. */
export function spawnTools(): Tool[] {
  return [spawnFleetAgent]
}

const spawnFleetAgent = defineTool({
  name: 'spawn_fleet_agent',
  description:
    'Creates an agent for one task, with its own container and files, and returns at once. You are called again in this conversation with the result when the agent has completed its task, failed or reached its lifetime. It is then deleted with all its files, so the task must say that complete_task returns everything you need. It never has more permissions than you, and it spends your budget. For small work use spawn_subagent.',
  parameters: {
    role: text('Its role, in a few words', { minChars: 1, maxChars: roleMaxChars }),
    system_prompt: withDefault(text('How it works: its instructions', { maxChars: promptMaxChars }), ''),
    task: text('The task, with everything that it needs: it knows nothing of this conversation', {
      minChars: 1,
      maxChars: 50_000,
    }),
    ttl: withDefault(
      integer('Seconds after which it is terminated', { min: ttlSeconds.min, max: ttlSeconds.max }),
      ttlSeconds.default,
    ),
    budget_usd: withDefault(
      number('US dollars of your budget that it may spend', { min: budgetUsd.min, max: budgetUsd.max }),
      budgetUsd.default,
    ),
    permissions: withDefault(
      jsonObject(
        'Fields of its permission record that differ from a worker’s defaults; never more than yours; the answer names withheld permissions',
      ),
      {},
    ),
  },
  effect: 'mesh',
  timeoutMs: meshToolTimeoutMs,
  run: async (body, { mesh, signal, idempotencyKey }) =>
    succeeded(await mesh.call({ endpoint: spawnEndpoints.spawn, body, signal, idempotencyKey })),
})
