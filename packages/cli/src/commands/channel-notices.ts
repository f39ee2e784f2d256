import { channelNoticeKinds } from '@flotilla/protocol/channels-api'
import type { ChannelNotices, ChannelView } from '@flotilla/protocol/channels-api'
import { nearestName } from '@flotilla/protocol/nearest-name'
import { channelNames } from '@flotilla/protocol/people'
import { textOption } from '../command-action.ts'
import type { CommandLine } from '../command-action.ts'
import { CommandFailed } from '../command-failed.ts'
import type { CommandContext } from '../context.ts'
import { exitCodes } from '../exit-codes.ts'

/** The value that clears the list. */
const none = 'none'

/** Shows which notices owners receive, and changes only the settings that are named. */
export async function showNotices(context: CommandContext, line: CommandLine): Promise<void> {
  const { terminal, signal } = context
  const changes = changesOf(line)
  const mesh = await context.mesh()
  const { channels, notices: before } = await mesh.call('channels', { signal })
  const after =
    Object.keys(changes).length === 0
      ? before
      : await mesh.call('channelNotices', { body: { ...before, ...changes }, signal })
  terminal.printJson(after)
  terminal.hint(...noticeLines(after, channels))
}

function changesOf(line: CommandLine): Partial<ChannelNotices> {
  const [to, about, quiet] = [
    textOption(line, 'to'),
    textOption(line, 'about'),
    textOption(line, 'quietHours'),
  ]
  return {
    ...(to === undefined ? {} : { to: chosen(to, { of: channelNames, flag: '--to' }) }),
    ...(about === undefined ? {} : { about: chosen(about, { of: channelNoticeKinds, flag: '--about' }) }),
    ...(quiet === undefined ? {} : { quiet_hours: hoursOf(quiet) }),
  }
}

/** Returns each name once, in the order of the table of all names. */
function chosen<T extends string>(
  text: string,
  { of, flag }: { readonly of: readonly T[]; readonly flag: string },
): T[] {
  const names = text.split(',').map((one) => one.trim())
  if (names.length === 1 && names[0] === none) return []
  const unknown = names.find((name) => !of.some((one) => one === name))
  if (unknown === undefined) return of.filter((one) => names.includes(one))
  const nearest = nearestName(unknown, of)
  throw new CommandFailed('bad-parameters', {
    detail: `${flag} does not accept ${unknown === '' ? 'an empty name' : unknown}${nearest === null ? '' : `; did you mean ${nearest}?`}`,
    repair: `Name some of ${of.join(', ')}, with commas between them, or ${none}.`,
    exitCode: exitCodes.usage,
  })
}

function hoursOf(text: string): ChannelNotices['quiet_hours'] {
  if (text === none) return null
  const [, from, to] = /^((?:[01]\d|2[0-3]):[0-5]\d)-((?:[01]\d|2[0-3]):[0-5]\d)$/.exec(text) ?? []
  if (from !== undefined && to !== undefined && from !== to) return { from, to }
  throw new CommandFailed('bad-parameters', {
    detail: `--quiet-hours ${text} is not a time range.`,
    repair: `Give a start and an end by the clock of the mesh's machine: --quiet-hours 22:00-07:00, or ${none}.`,
    exitCode: exitCodes.usage,
  })
}

/** Pure. */
function noticeLines(
  { to, about, quiet_hours: quiet }: ChannelNotices,
  channels: readonly ChannelView[],
): readonly string[] {
  const hints = to.flatMap((name) => hintsOf(channels.find((one) => one.name === name)))
  return [
    `sent to      ${to.join(', ') || 'no channel: name some with --to'}`,
    `about        ${about.join(', ') || 'nothing: name some with --about'}`,
    `quiet hours  ${quiet === null ? 'none' : `${quiet.from} to ${quiet.to}, of the mesh's machine`}`,
    ...hints,
  ]
}

/** Explains why a channel would not deliver notices. */
function hintsOf(channel: ChannelView | undefined): readonly string[] {
  if (channel === undefined) return []
  const { name, state, linked } = channel
  if (state === 'off') return [`${name} is off. Switch it on with: flotilla channels add ${name}`]
  if (linked.some(({ role }) => role === 'owner')) return []
  return [`No owner is paired on ${name}. Pair yourself with: flotilla channels pair ${name}`]
}
