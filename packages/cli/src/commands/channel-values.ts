import { channelFields } from '@flotilla/protocol/channel-fields'
import type { ChannelField } from '@flotilla/protocol/channel-fields'
import { channelNames } from '@flotilla/protocol/people'
import type { ChannelName } from '@flotilla/protocol/people'
import { CommandFailed } from '../command-failed.ts'
import type { CommandContext } from '../context.ts'
import { exitCodes } from '../exit-codes.ts'
import { askLine } from '../terminal/ask-line.ts'
import { askHidden, readAll } from '../terminal/read-secret.ts'

/** Returns the error for an unknown channel name. Pure. */
export function channelNamed(name: string): ChannelName {
  const found = channelNames.find((one) => one === name)
  if (found !== undefined) return found
  throw new CommandFailed('no-such-channel', {
    detail: `There is no channel ${name}.`,
    repair: `Choose one of ${channelNames.join(', ')}.`,
    exitCode: exitCodes.usage,
  })
}

export function isAsking({ input, terminal }: Pick<CommandContext, 'input' | 'terminal'>): boolean {
  return input.isTTY === true && !terminal.json
}

/**
 * Reads the credentials of a channel: at a terminal it asks for each and hides secrets, elsewhere it reads
 * standard input. Credentials without a value are left out.
 */
export async function readChannelValues(
  context: CommandContext,
  channel: ChannelName,
): Promise<Record<string, string>> {
  const fields = channelFields[channel]
  if (!isAsking(context)) return valuesIn(await readAll(context.input), channel)
  const values: Record<string, string> = {}
  for (const field of fields) {
    const value = await ask(context, field)
    if (value !== '') values[field.name] = value
  }
  return values
}

async function ask(context: CommandContext, field: ChannelField): Promise<string> {
  context.terminal.note(context.terminal.color.faint(field.hint))
  const none = field.give === 'made' ? ' (Enter keeps the current one, or generates one)' : ''
  const question = `${field.label}${none}: `
  return (field.isSecret ? await askHidden(context, question) : await askLine(context, question)).trim()
}

/** Parses lines of values in the order of the fields, or lines of `NAME=VALUE` as in `.env`. */
function valuesIn(text: string, channel: ChannelName): Record<string, string> {
  const fields = channelFields[channel]
  const lines = text
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '')
  const values: Record<string, string> = {}
  const unnamed = [...fields]
  for (const line of lines) {
    const named = fields.find(({ name }) => nameOf(line) === name)
    const field = named ?? unnamed.shift()
    if (field === undefined) throw tooMany(channel)
    values[field.name] = named === undefined ? line : line.slice(line.indexOf('=') + 1).trim()
  }
  return values
}

/** Pure. */
function nameOf(line: string): string {
  const [before = ''] = line.split('=', 1)
  return before
    .trim()
    .replace(/^FLOTILLA_SYSTEM_/, '')
    .toLowerCase()
}

function tooMany(channel: ChannelName): CommandFailed {
  const names = channelFields[channel].map(({ name }) => name).join(', ')
  return new CommandFailed('too-many-values', {
    detail: `Standard input has more lines than ${channel} has credentials.`,
    repair: `Send one line each, in this order: ${names}.`,
    exitCode: exitCodes.usage,
  })
}
