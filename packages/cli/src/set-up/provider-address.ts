import type { ProviderOffer } from '@flotilla/protocol/setup-api'
import { CommandFailed } from '../command-failed.ts'
import type { CommandContext } from '../context.ts'
import { exitCodes } from '../exit-codes.ts'
import { askLine } from '../terminal/ask-line.ts'
import { oneLine } from '../terminal/color.ts'

const addressColumnsMax = 60

/** Parses a typed address. A scheme is required, because `host:port` would be parsed as a scheme. */
export function requireWebAddress(typed: string): string {
  if (/^https?:\/\//i.test(typed) && URL.canParse(typed)) return typed
  throw new CommandFailed('bad-address', {
    detail: `“${oneLine(typed, addressColumnsMax)}” is not an address.`,
    repair: 'Write the full address: http:// or https://, then the host, its port, and usually /v1.',
    exitCode: exitCodes.usage,
  })
}

/** Asks for a provider's address; Enter accepts `standard`. Asks nothing if settings or environment set it. */
export async function askAddress(
  context: CommandContext,
  { name, address }: ProviderOffer,
  standard: string | null,
): Promise<string> {
  if (address !== null && address.from !== 'file') {
    const whose = address.from === 'settings' ? 'config/settings.json' : 'the environment of the mesh'
    context.terminal.note(`The address of ${name} is ${address.url}, from ${whose}.`)
    return address.url
  }
  if (address !== null) context.terminal.note(`The current address of ${name} is ${address.url}.`)
  const example = standard === null ? ', such as http://10.0.0.5:8000/v1' : ` [${standard}]`
  const typed = await askLine(context, `Address${example}: `)
  return typed === '' && standard !== null ? standard : requireWebAddress(typed)
}

/** Whether a key for one address may be sent to the other. Pure. */
export function isSamePlace(one: string | null, other: string | null): boolean {
  const [here, there] = [one, other].map((address) =>
    address !== null && URL.canParse(address) ? new URL(address).origin : null,
  )
  return here != null && here === there
}
