import { channelLimits } from '../channel-limits.ts'
import type { ChannelCommand } from './channel-command.ts'
import { broadcast, reset, steer, stop } from './changing-commands.ts'
import { agents, costs, pending, status, use } from './looking-commands.ts'

const help: ChannelCommand = {
  name: 'help',
  usage: '',
  help: 'show this list',
  role: 'viewer',
  when: 'at-once',
  run: () => ({ text: helpText() }),
}

/** The commands, the same on every channel. The platform's command menu is built from this list. */
export const channelCommands: readonly ChannelCommand[] = [
  use,
  agents,
  status,
  broadcast,
  steer,
  stop,
  pending,
  costs,
  reset,
  help,
]

function helpText(): string {
  const rows = channelCommands.map(
    ({ name, usage, help: description }) => `- /${name}${usage === '' ? '' : ` ${usage}`}: ${description}`,
  )
  return [
    'Write a message; the agent that you chose with /use answers.',
    '- @agent text: send one message to that agent',
    ...rows,
    'Approvals, credentials and permissions are not available here: see /pending.',
  ].join('\n')
}

/** The result of parsing a message: a command, a message to a named agent, or plain text. Pure. */
export type ParsedText =
  | { readonly kind: 'command'; readonly command: ChannelCommand; readonly argument: string }
  | { readonly kind: 'unknown-command'; readonly name: string }
  | { readonly kind: 'to-agent'; readonly name: string; readonly text: string }
  | { readonly kind: 'words'; readonly text: string }

/** Parses a message. `/name@bot` is a command too, which users write in groups with several bots. Pure. */
export function parseText(text: string): ParsedText {
  const command = /^\/([a-z_]{1,32})(?:@\w{1,64})?(?:\s+([\s\S]*))?$/i.exec(text)
  if (command) {
    const name = (command[1] ?? '').toLowerCase()
    const found = channelCommands.find((one) => one.name === name)
    const argument = (command[2] ?? '').trim()
    // Telegram sends `/start` when a user opens the conversation.
    if (name === 'start') return { kind: 'command', command: help, argument: '' }
    return found ? { kind: 'command', command: found, argument } : { kind: 'unknown-command', name }
  }
  const named = /^@([A-Za-z0-9][A-Za-z0-9_-]*)(?:\s+|\s*[:,]\s*)([\s\S]+)$/.exec(text)
  const name = named?.[1] ?? ''
  if (named && name.length <= channelLimits.nameMaxChars) {
    return { kind: 'to-agent', name, text: (named[2] ?? '').trim() }
  }
  return { kind: 'words', text }
}
