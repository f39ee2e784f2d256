import { isJsonObject } from '@flotilla/protocol/is-json-object'
import type { JsonObject } from '@flotilla/protocol/json-value'
import type { ToolOutput } from '@flotilla/protocol/tool-call'

/** A sub-agent of an earlier attempt of the run whose end is unknown. */
export interface LostSubagent {
  readonly id: string
  readonly goal: string
}

/**
 * Pure. Sub-agents live in the process and are gone with it. Those that an interrupted run had started
 * without getting a result are found in its record of calls.
 */
export function lostSubagents(outputs: readonly ToolOutput[]): readonly LostSubagent[] {
  const lost = new Map<string, string>()
  for (const { tool, output, input, ok } of outputs) {
    if (!ok) continue
    if (tool === 'spawn_subagent') {
      const { id } = readAnswer(output)
      if (typeof id === 'string') lost.set(id, typeof input['goal'] === 'string' ? input['goal'] : '')
    }
    if (tool === 'wait_for_subagent') {
      const { ended } = readAnswer(output)
      for (const one of Array.isArray(ended) ? ended : []) {
        const { id } = asObject(one)
        if (typeof id === 'string') lost.delete(id)
      }
    }
  }
  return [...lost].map(([id, goal]) => ({ id, goal }))
}

function readAnswer(output: string): JsonObject {
  try {
    return asObject(JSON.parse(output))
  } catch {
    return {}
  }
}

function asObject(value: unknown): JsonObject {
  return isJsonObject(value) ? value : {}
}
