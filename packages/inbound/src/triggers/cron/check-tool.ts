import type { JsonObject, JsonValue } from '@flotilla/protocol/json-value'
import { Problem } from '@flotilla/protocol/problem'
import { fromJSONSchema } from 'zod'
import type { AgentTool } from '@flotilla/fleet/agents'

/** The maximum number of tool names that a problem about an unknown tool lists. */
const namesShownMax = 40

/** Checks a call against the agent's list of tools. Throws the Problem `bad-request` with the field. Pure. */
export function checkToolCall(
  tools: readonly AgentTool[],
  call: { readonly tool: string; readonly params: JsonObject; readonly agentId: string },
): void {
  const tool = tools.find(({ name }) => name === call.tool)
  if (!tool) {
    const names = tools.map(({ name }) => name).slice(0, namesShownMax)
    throw badField('tool_name', `agent ${call.agentId} has no tool ${call.tool}; it has ${names.join(', ')}`)
  }
  const fault = faultOf(tool, call.params)
  if (fault !== null) throw badField('tool_params', fault)
}

/** Returns the fault of the parameters, or null. An unreadable schema from the container is a fault too. */
function faultOf(tool: AgentTool, params: JsonObject): string | null {
  try {
    const checked = fromJSONSchema(boundedSchema(tool.parameters)).safeParse(params)
    if (checked.success) return null
    const issue = checked.error.issues[0]
    return `${issue?.path.join('.') ?? ''} ${issue?.message ?? ''} (of ${tool.name})`.trim()
  } catch {
    return `the parameters of ${tool.name} have no schema that can be checked`
  }
}

/** The maximum number of nodes in the parameter schema of a scheduled tool. */
const schemaNodesMax = 2000
/** The maximum nesting in the parameter schema of a scheduled tool. */
const schemaDepthMax = 24
/** Schema keywords that are not checked: patterns can take exponential time, references can double at each step. */
const unbounded = new Set([
  'pattern',
  'patternProperties',
  'propertyNames',
  '$ref',
  '$dynamicRef',
  '$defs',
  'definitions',
])

/**
 * Returns the parts of a schema that are checked in linear time; the tool itself checks the rest.
 * Throws for a huge schema. Pure.
 */
function boundedSchema(schema: JsonObject): JsonObject {
  let nodes = 0
  const copied = (value: JsonValue, depth: number, namesAreOwn: boolean): JsonValue => {
    nodes += 1
    if (nodes > schemaNodesMax || depth > schemaDepthMax) throw new Error('a schema is too large')
    if (Array.isArray(value)) return value.map((item) => copied(item, depth + 1, false))
    if (value === null || typeof value !== 'object') return value
    const kept = Object.entries(value).filter(([name]) => namesAreOwn || !unbounded.has(name))
    return Object.fromEntries(
      // Below `properties` the keys are names of parameters.
      kept.map(([name, inner]) => [name, copied(inner, depth + 1, name === 'properties' && !namesAreOwn)]),
    )
  }
  return copied(schema, 0, false) as JsonObject // A copy of an object is an object.
}

/** Returns a problem for a rejected field of a job. */
export function badField(field: string, reason: string): Problem {
  return new Problem('bad-request', { detail: `${field}: ${reason}`, extra: { field } })
}
