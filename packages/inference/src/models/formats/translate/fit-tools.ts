import { isJsonObject } from '@flotilla/protocol/is-json-object'
import type { JsonObject, JsonValue } from '@flotilla/protocol/json-value'
import { fitToolSchema } from '../tool-schema.ts'
import { fitStrict } from './strict-schema.ts'
import type { ToolLimits } from './tool-limits.ts'

/** The longest tool description that OpenAI accepts, characters. */
const descriptionMaxChars = 1024
/** Members that providers reject in a call without tools. */
const ofTools = ['tools', 'tool_choice', 'parallel_tool_calls'] as const

/**
 * Fits the tools of a chat completion to what servers accept: schemas are objects with properties and without a
 * choice at the root, and are strict only if OpenAI accepts them in strict mode; descriptions are bounded; a call
 * without tools has no members about tools. Returns the same request if nothing changes. Pure.
 */
export function fitTools(
  request: JsonObject,
  { plainSchemas }: Pick<ToolLimits, 'plainSchemas'> = anySchemas,
): JsonObject {
  return fitStrict(fitList(request, plainSchemas))
}

const anySchemas = { plainSchemas: false }

function fitList(request: JsonObject, isPlain: boolean): JsonObject {
  const { tools } = request
  if (!Array.isArray(tools) || tools.length === 0) {
    if (!ofTools.some((name) => name in request)) return request
    const { tools: _tools, tool_choice: _choice, parallel_tool_calls: _parallel, ...rest } = request
    return rest
  }
  const fitted = tools.map((tool) => fitTool(tool, isPlain))
  return fitted.every((tool, at) => tool === tools[at]) ? request : { ...request, tools: fitted }
}

function fitTool(tool: JsonValue, isPlain: boolean): JsonValue {
  const made = isJsonObject(tool) ? tool['function'] : null
  if (!isJsonObject(tool) || !isJsonObject(made)) return tool
  const { parameters, description } = made
  const isLong = typeof description === 'string' && description.length > descriptionMaxChars
  if (isFitting(parameters) && !isLong && !isPlain) return tool
  return {
    ...tool,
    function: {
      ...made,
      ...(isLong ? { description: `${description.slice(0, descriptionMaxChars - 1).toWellFormed()}…` } : {}),
      parameters: fitToolSchema(parameters, isPlain),
    },
  }
}

function isFitting(schema: JsonValue | undefined): boolean {
  if (!isJsonObject(schema) || schema['type'] !== 'object' || !isJsonObject(schema['properties']))
    return false
  return !['anyOf', 'oneOf', 'allOf'].some((name) => name in schema)
}
