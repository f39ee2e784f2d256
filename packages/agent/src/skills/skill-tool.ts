import type { Clock } from '@flotilla/protocol/clock'
import type { JsonObject } from '@flotilla/protocol/json-value'
import { skillMeshTools } from '@flotilla/protocol/skill-surface'
import { executeToolCall } from '../tools/execute-tool-call.ts'
import type { Tool, ToolContext } from '../tools/tool.ts'
import { runSkill } from './run-skill.ts'
import { skillBounds } from './skill-bounds.ts'
import type { Skill } from './skill.ts'

const marginMs = 5000

/**
 * A skill as a tool. Its calls of `mesh_client` are executed like every tool call, with keys derived from this call.
 */
export function skillTool(
  skill: Skill,
  deps: { readonly tools: readonly Tool[]; readonly newNonce: () => string; readonly clock: Clock },
): Tool {
  const { name, description, parameters, code } = skill
  return {
    definition: { name, description, parameters },
    source: 'skill',
    deferred: true,
    // It is unknown how far the skill came before an interruption.
    effect: 'local',
    timeoutMs: skillBounds.wallMs + marginMs,
    run: async (input, context) => {
      const { result, logs } = await runSkill({
        code,
        input: skill.readInput(input),
        nonce: deps.newNonce(),
        clock: deps.clock,
        signal: context.signal,
        callTool: (tool, values, { number, signal }) =>
          callTool(deps, { tool, values, number, context: { ...context, signal } }),
      })
      return { output: logs.length === 0 ? result : { result, logs }, ok: true }
    },
  }
}

async function callTool(
  deps: { readonly tools: readonly Tool[]; readonly clock: Clock },
  call: { tool: string; values: JsonObject; number: number; context: ToolContext },
): Promise<{ output: unknown; ok: boolean }> {
  const known = deps.tools.find(({ definition }) => definition.name === call.tool)
  if (!known || !skillMeshTools.includes(call.tool)) {
    return { output: `mesh_client has no function ${call.tool}.`, ok: false }
  }
  const idempotencyKey = `${call.context.idempotencyKey}:${call.number}`
  const context = { ...call.context, idempotencyKey }
  const end = await executeToolCall(known, call.values, { context, clock: deps.clock })
  return { output: end.ok ? parsed(end.output) : end.output, ok: end.ok }
}

/** Parses a tool's answer as JSON; an answer that is plain text stays text. */
function parsed(output: string): unknown {
  try {
    return JSON.parse(output)
  } catch {
    return output
  }
}
