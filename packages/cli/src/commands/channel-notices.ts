import { channelNoticeKinds } from '@flotilla/protocol/channels-api'
import type { ChannelNotices, ChannelView } from '@flotilla/protocol/channels-api'
import { nearestName } from '@flotilla/protocol/nearest-name'
import { channelNames } from '@flotilla/protocol/people'
import { textOption } from '../command-action.ts'
import type { CommandLine } from '../command-action.ts'
import { CommandFailed } from '../command-failed.ts'
import type { CommandContext } from '../context.ts'
import { exitCodes } from '../exit-codes.ts'

/** What takes all of them away. */
const none = 'none'

/** What owners are told unasked: shown, and changed in what is named; the rest stays. */
export async function showNotices(context: CommandContext, line: CommandLine): Promise<void> {
  const { terminal, signal } = context
  const asked = changesOf(line)
  const mesh = await context.mesh()
  const { channels, notices: before } = await mesh.call('channels', { signal })
  const after =
    Object.keys(asked).length === 0
      ? before
      : await mesh.call('channelNotices', { body: { ...before, ...asked }, signal })
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

/** Each name once, in the order in which all are offered. */
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
    detail: `${flag} knows no ${unknown === '' ? 'name that is empty' : unknown}${nearest === null ? '' : `; did you mean ${nearest}?`}`,
    repair: `Name some of ${of.join(', ')}, with commas between them, or ${none}.`,
    exitCode: exitCodes.usage,
  })
}

function hoursOf(text: string): ChannelNotices['quiet_hours'] {
  if (text === none) return null
  const [, from, to] = /^((?:[01]\d|2[0-3]):[0-5]\d)-((?:[01]\d|2[0-3]):[0-5]\d)$/.exec(text) ?? []
  if (from !== undefined && to !== undefined && from !== to) return { from, to }
  throw new CommandFailed('bad-parameters', {
    detail: `--quiet-hours ${text} are no hours.`,
    repair: `Say from when until when, as the clock of the mesh's machine has it: --quiet-hours 22:00-07:00, or ${none}.`,
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
    `told on      ${to.join(', ') || 'no channel: name some with --to'}`,
    `about        ${about.join(', ') || 'nothing: name some with --about'}`,
    `quiet hours  ${quiet === null ? 'none' : `${quiet.from} to ${quiet.to}, of the mesh's machine`}`,
    ...hints,
  ]
}

/** Why nothing would be told there. */
function hintsOf(channel: ChannelView | undefined): readonly string[] {
  if (channel === undefined) return []
  const { name, state, linked } = channel
  if (state === 'off') return [`${name} is off. Switch it on with: flotilla channels add ${name}`]
  if (linked.some(({ role }) => role === 'owner')) return []
  return [`No owner is known on ${name}. Be one with: flotilla channels pair ${name}`]
}
