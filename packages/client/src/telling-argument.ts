import { isJsonObject } from '@flotilla/protocol/is-json-object'
import { oneLine } from '@flotilla/protocol/one-line'

/** The longest text that a row shows of a call, in characters. */
const shownMaxChars = 160

/** Arguments that name another agent, which say most together with what it gets. */
const whomNames = ['to', 'agent_id', 'agent']

/** Arguments that say what a call is about, the most telling first; tools of MCP servers use the same names. */
const whatNames =
  `command cmd url uri path file_path filename file save_to query q key title name topic pattern goal task field section
  schedule project task_id id amount ref text message content summary prompt question`.split(/\s+/)

/**
 * Returns the argument that tells most of a tool call, such as the command of `run_command`, on one line; empty if the
 * call has none. The tool gives no other sign: its name may be that of an MCP server's tool. Pure.
 */
export function tellingArgument(input: unknown): string {
  if (!isJsonObject(input)) return isShown(input) ? shown(input) : ''
  const [whom, what] = [whomNames, whatNames].map((names) => {
    const name = names.find((one) => isShown(input[one]))
    return name === undefined ? [] : [shown(input[name])]
  })
  const named = [...(whom ?? []), ...(what ?? [])]
  const { method } = input
  const verb = typeof method === 'string' && method !== 'GET' && isShown(input['url']) ? `${method} ` : ''
  if (named.length > 0) return oneLine(`${verb}${named.join(': ')}`, shownMaxChars)
  return shown(Object.values(input).find(isShown) ?? '')
}

const isShown = (value: unknown): boolean => value !== undefined && value !== null && value !== ''

function shown(value: unknown): string {
  return oneLine(typeof value === 'string' ? value : (JSON.stringify(value) ?? ''), shownMaxChars)
}
