import { deferredToolLimits } from '@flotilla/protocol/deferred-tools'
import { Problem } from '@flotilla/protocol/problem'
import { listOf, objectOf, oneOf, refused, text } from './closed-form.ts'
import type { Rule } from './closed-form.ts'
import { functionName, schema } from './tool-rules.ts'

/** The members by which an agent states which tools its conversation has found (`deferred-tools.ts`). */

const { toolsMax, maxBytes } = deferredToolLimits

const definitions = listOf(
  objectOf(
    {
      type: oneOf('function'),
      function: objectOf(
        { name: functionName, description: text, parameters: schema },
        { required: ['name', 'parameters'] },
      ),
    },
    { required: ['type', 'function'] },
  ),
)

/**
 * Returns null for definitions that are not accepted. An MCP server wrote them and the conversation repeats them, so one
 * bad schema would otherwise end the conversation. The results of the search also describe the tools as text.
 */
export const deferredDefinitions: Rule = (value, reading) => {
  if (Array.isArray(value) && value.length > toolsMax) return null
  if (Buffer.byteLength(JSON.stringify(value)) > maxBytes) return null
  try {
    return definitions(value, reading)
  } catch (error) {
    if (error instanceof Problem) return null
    throw error
  }
}

const names = listOf(functionName)

export const foundInResult: Rule = objectOf(
  {
    names: (value, reading) => {
      if (Array.isArray(value) && value.length > toolsMax)
        throw refused(reading, `at most ${toolsMax} names are accepted, and these are ${value.length}`)
      return names(value, reading)
    },
    note: text,
  },
  { required: ['names', 'note'] },
)
