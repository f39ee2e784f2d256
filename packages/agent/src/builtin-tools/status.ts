import { isJsonObject } from '@flotilla/protocol/is-json-object'
import { promises } from 'node:fs'
import { toolEndpoints } from '@flotilla/protocol/tool-api'
import type { Clock } from '@flotilla/protocol/clock'
import { choice, withDefault } from '../tools/parameters.ts'
import { defineTool, meshToolTimeoutMs, succeeded } from '../tools/tool.ts'
import type { RunStatus, Tool, ToolContext } from '../tools/tool.ts'

const sections = ['all', 'run', 'budget', 'disk', 'tools'] as const

/** Tools with which an agent reads its own state, partly from the mesh and partly from its own process. */
export function statusTools(deps: { dataDirectory: string; clock: Clock }): Tool[] {
  return [
    defineTool({
      name: 'get_system_status',
      description:
        'Shows your status: the time, your model, your run with its remaining rounds, your budgets, free disk space, and which tools you are not offered and why.',
      parameters: { section: withDefault(choice('Which part', sections), 'all') },
      effect: 'none',
      parallelSafe: true,
      timeoutMs: meshToolTimeoutMs,
      run: async ({ section }, context) => {
        const wants = (part: (typeof sections)[number]): boolean => section === 'all' || section === part
        const known = wants('run') || wants('budget') ? await askSelf(context) : {}
        return succeeded({
          now: new Date(deps.clock.now()).toISOString(),
          ...(wants('run') ? { run: runView(known, context.status?.() ?? null) } : {}),
          ...(wants('budget') ? { budgets: known['pots'] ?? [] } : {}),
          ...(wants('disk') ? { disk: await diskView(deps.dataDirectory) } : {}),
          ...(wants('tools') ? { withheld_tools: await askWithheld(context) } : {}),
        })
      },
    }),
  ]
}

async function askSelf({ mesh, signal }: ToolContext): Promise<Readonly<Record<string, unknown>>> {
  const reply = await mesh.call({ endpoint: toolEndpoints.self, signal })
  return isJsonObject(reply) ? reply : {}
}

async function askWithheld({ mesh, signal }: ToolContext): Promise<unknown> {
  const reply = await mesh.call({ endpoint: toolEndpoints.toolsHeld, signal })
  return isJsonObject(reply) ? (reply['refused'] ?? []) : []
}

function runView(known: Readonly<Record<string, unknown>>, status: RunStatus | null): unknown {
  const { agent_id: agentId, model, run, queued } = known
  const view = { agent_id: agentId, model, current: run, runs_queued_behind_it: queued }
  if (status === null) return view
  const { sessionRounds, spending } = status
  return {
    ...view,
    started_at: new Date(status.startedAt).toISOString(),
    rounds_used: status.rounds,
    rounds_left: Math.max(0, status.roundsMax - status.rounds),
    ...(sessionRounds === null
      ? {}
      : { rounds_left_in_conversation: Math.max(0, sessionRounds.max - sessionRounds.used) }),
    tokens_used: status.tokens,
    cost_usd: status.costUsd,
    ...(spending === null ? {} : { tokens_max: spending.maxTokens, cost_max_usd: spending.maxCostUsd }),
  }
}

/** The file system that holds /data; in a volume of its own, its size is the agent's limit. */
async function diskView(dataDirectory: string): Promise<unknown> {
  const { blocks, bavail, bsize, ffree } = await promises.statfs(dataDirectory)
  return { path: '/data', total_bytes: blocks * bsize, free_bytes: bavail * bsize, free_files: ffree }
}
