import { deferredToolLimits } from '@flotilla/protocol/deferred-tools'
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

export const deferredDefinitions: Rule = (value, reading) => {
  if (Array.isArray(value) && value.length > toolsMax)
    throw refused(reading, `at most ${toolsMax} definitions are accepted, and these are ${value.length}`)
  const bytes = Buffer.byteLength(JSON.stringify(value))
  if (bytes > maxBytes)
    throw refused(reading, `at most ${maxBytes} bytes are accepted, and these are ${bytes}`)
  return definitions(value, reading)
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
