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
    'Has an agent made for one task, in a container of its own with files of its own, and returns at once. You are called again in this conversation with the result when it has completed its task, failed, or its life is over; then it is gone with all its files, so the task must say that everything you need goes into complete_task. It may no more than you may, and spends your budget. For small things use spawn_subagent.',
  parameters: {
    role: text('What it is, in a few words', { minChars: 1, maxChars: roleMaxChars }),
    system_prompt: withDefault(text('How it works: its instructions', { maxChars: promptMaxChars }), ''),
    task: text('What it is to do, with everything that it needs: it knows nothing of this conversation', {
      minChars: 1,
      maxChars: 50_000,
    }),
    ttl: withDefault(
      integer('Seconds after which it ends, whatever it does', { min: ttlSeconds.min, max: ttlSeconds.max }),
      ttlSeconds.default,
    ),
    budget_usd: withDefault(
      number('US dollars of your budget that it may spend', { min: budgetUsd.min, max: budgetUsd.max }),
      budgetUsd.default,
    ),
    permissions: withDefault(
      jsonObject(
        'Fields of its permission record that differ from a worker’s defaults; never more than yours, and the answer says what was withheld',
      ),
      {},
    ),
  },
  effect: 'mesh',
  timeoutMs: meshToolTimeoutMs,
  run: async (body, { mesh, signal, idempotencyKey }) =>
    succeeded(await mesh.call({ endpoint: spawnEndpoints.spawn, body, signal, idempotencyKey })),
})
