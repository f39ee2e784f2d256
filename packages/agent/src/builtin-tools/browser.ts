import { isJsonObject } from '@flotilla/protocol/is-json-object'
import { browserAgentEndpoints } from '@flotilla/protocol/browser-endpoints'
import type { BrowserAction } from '@flotilla/protocol/browser-service-api'
import { browserActionNames, browserToolName } from '@flotilla/protocol/browser-actions'
import { browserTools as table } from '@flotilla/protocol/browser-tools'
import type { BrowserParameter } from '@flotilla/protocol/browser-tools'
import { choice, flag, integer, number, optional, text, textList, textMap } from '../tools/parameters.ts'
import type { Field } from '../tools/parameters.ts'
import { defineTool, meshToolTimeoutMs, succeeded } from '../tools/tool.ts'
import type { Tool, ToolAnswer } from '../tools/tool.ts'

/** Added to the deadline of an action, for starting the browser and for the network. */
const replyMarginMs = 90_000

/** The browser runs in its own container. The mesh passes each action on and lets one agent use it at a time. */
export function browserTools(): Tool[] {
  return browserActionNames.map(browserTool)
}

function browserTool(action: BrowserAction): Tool {
  const { description, parameters, deadlineMs, looks } = table[action]
  const fields = Object.entries(parameters).map(([name, parameter]) => [name, fieldOf(parameter)] as const)
  const tool = defineTool({
    name: browserToolName(action),
    description,
    parameters: Object.fromEntries(fields),
    effect: looks ? 'none' : 'mesh',
    timeoutMs: meshToolTimeoutMs,
    run: async (values, { mesh, idempotencyKey, signal }) => {
      const stated = Object.entries(values).filter(([, value]) => value !== undefined)
      const reply = await mesh.call({
        endpoint: browserAgentEndpoints.browserAct,
        params: { action },
        body: Object.fromEntries(stated),
        ...(looks ? {} : { idempotencyKey }),
        timeoutMs: deadlineMs + replyMarginMs,
        signal,
      })
      return answerOf(reply)
    },
  })
  return { ...tool, exclusive: 'browser' }
}

/** Returns the tool's answer; if the browser refused the action, with what the model can do instead. */
function answerOf(reply: unknown): ToolAnswer {
  if (!isJsonObject(reply)) return succeeded(reply)
  const { ok, picture, ...rest } = reply
  if (ok !== true) return { output: rest, ok: false }
  const { media_type: mediaType, base64 } = isJsonObject(picture) ? picture : {}
  const images = typeof mediaType === 'string' && typeof base64 === 'string' ? [{ mediaType, base64 }] : []
  return { output: rest, ok: true, images }
}

function fieldOf(parameter: BrowserParameter): Field<unknown> {
  const field = requiredField(parameter)
  return parameter.optional ? optional(field) : field
}

function requiredField(parameter: BrowserParameter): Field<unknown> {
  const { description } = parameter
  switch (parameter.kind) {
    case 'text':
      return text(description, parameter)
    case 'texts':
      return textList(description, parameter)
    case 'text-map':
      return textMap(description)
    case 'integer':
      return integer(description, parameter)
    case 'number':
      return number(description, parameter)
    case 'flag':
      return flag(description)
    case 'choice':
      return choice(description, parameter.values)
  }
}
