import type { MovedConversation } from '../../adapter.ts'
import { cutText } from '../wire-text.ts'
import { plainText } from './plain-text.ts'
import {
  blockActionsSchema,
  channelMovedSchema,
  eventCallbackSchema,
  slashCommandSchema,
} from './slack-wire.ts'
import type { SlackFile, SlackMessageEvent } from './slack-wire.ts'

/** A user action from an envelope, parsed and bounded, before any call to Slack. */
export interface SlackSaid {
  /** The id of the user's message or action, equal for all events about it and for redeliveries. */
  readonly id: string
  readonly teamId: string
  readonly userId: string
  /** The user's name; null if the envelope does not contain it. */
  readonly userName: string | null
  readonly channelId: string
  readonly isPrivate: boolean
  readonly at: SlackPosition
  readonly text: string
  readonly pressed: string | null
  /** True if the envelope shows that it is for the bot: a direct message, mention, command or button. */
  readonly isForUs: boolean
  readonly files: readonly SlackFile[]
  /** Messages of others that the sender shared; null if none exists. */
  readonly shared: SlackShared | null
}

export interface SlackPosition {
  /** The thread of the message; null at the top level. */
  readonly threadTs: string | null
  /** The timestamp of the message, which is also the id of a thread below it. Null for commands and buttons. */
  readonly ts: string | null
}

export interface SlackShared {
  readonly text: string
  readonly by: string
  readonly files: readonly SlackFile[]
}

/** Subtypes of messages that users write. Edits, joins, deletions and the like have others. */
const spokenSubtypes = new Set(['file_share', 'thread_broadcast', 'me_message'])

/** The id under which Slack itself writes reminders and mails. */
const slackbot = 'USLACKBOT'

export interface SlackSelf {
  readonly userId: string
  /** The registered command with its `/`; the mesh's command is its argument: `/flotilla status` means `/status`. */
  readonly command: string
}

/** Returns the user's action; null for envelopes to ignore: bots, this bot, edits, unknown forms. Pure. */
export function readEnvelope(type: string, body: unknown, self: SlackSelf): SlackSaid | null {
  switch (type) {
    case 'events_api':
      return readMessage(body, self)
    case 'slash_commands':
      return readCommand(body, self)
    case 'interactive':
      return readPress(body)
    default:
      return null
  }
}

/** Returns a channel whose id changed; null for any other envelope. Pure. */
export function readMoved(type: string, body: unknown): MovedConversation | null {
  const read = type === 'events_api' ? channelMovedSchema.safeParse(body) : null
  if (read?.success !== true) return null
  const { old_channel_id: from, new_channel_id: to } = read.data.event
  return from === to ? null : { from, to }
}

function readMessage(body: unknown, self: SlackSelf): SlackSaid | null {
  const read = eventCallbackSchema.safeParse(body)
  if (!read.success) return null
  const { event, team_id: teamId } = read.data
  if (event.subtype && !spokenSubtypes.has(event.subtype)) return null
  if (event.bot_id || event.user === self.userId || event.user === slackbot) return null
  const isPrivate = event.channel_type === 'im' || event.channel.startsWith('D')
  const isMention = event.type === 'app_mention' || event.text.includes(`<@${self.userId}>`)
  return {
    id: `${event.channel}:${event.ts}`,
    teamId: event.team ?? teamId,
    userId: event.user,
    userName: null,
    channelId: event.channel,
    isPrivate,
    at: { threadTs: event.thread_ts ?? null, ts: event.ts },
    text: withoutPrefix(plainText(event.text, self.userId), self),
    pressed: null,
    isForUs: isPrivate || isMention,
    files: event.files.filter((file) => !isOfOther(file, event)),
    shared: sharedIn(event, self.userId),
  }
}

/**
 * Returns a text that begins with the registered command as the mesh's command that is its argument. Slack delivers it
 * as a message where it does not run commands, such as in a thread. Other texts are returned unchanged. Pure.
 */
function withoutPrefix(text: string, { command }: SlackSelf): string {
  const [first = ''] = text.trimStart().split(/\s/, 1)
  if (first.toLowerCase() !== command.toLowerCase()) return text
  const argument = text.trimStart().slice(first.length).trim()
  return `/${argument === '' ? 'help' : argument}`
}

/** Whether another person uploaded the file that the sender shares: its content, such as a voice note, is theirs. */
function isOfOther({ user }: SlackFile, event: SlackMessageEvent): boolean {
  return user != null && user !== event.user
}

/**
 * Returns the messages and files of others that the sender shared. Messages are attachments of an event; its text is
 * the sender's own.
 */
function sharedIn(event: SlackMessageEvent, ourUserId: string): SlackShared | null {
  const shared = event.attachments.filter((one) => one.is_share === true || one.is_msg_unfurl === true)
  const files = event.files.filter((file) => isOfOther(file, event))
  if (shared.length + files.length === 0) return null
  return {
    text: shared.map(({ text, fallback }) => plainText(text || fallback, ourUserId)).join('\n\n'),
    by: [...new Set(shared.map(({ author_name: name }) => name))].join(', '),
    files: [...shared.flatMap((one) => one.files), ...files],
  }
}

function readCommand(body: unknown, self: SlackSelf): SlackSaid | null {
  const read = slashCommandSchema.safeParse(body)
  if (!read.success) return null
  const { command, text, trigger_id: triggerId, ...fields } = read.data
  return {
    id: `command:${triggerId}`,
    teamId: fields.team_id,
    userId: fields.user_id,
    userName: fields.user_name,
    channelId: fields.channel_id,
    isPrivate: fields.channel_id.startsWith('D'),
    at: { threadTs: null, ts: null },
    text: withoutPrefix(`${command} ${plainText(text, self.userId)}`.trim(), self),
    pressed: null,
    isForUs: true,
    files: [],
    shared: null,
  }
}

/** Values of the mesh's buttons have at most 64 bytes. */
const pressedMaxChars = 64

function readPress(body: unknown): SlackSaid | null {
  const read = blockActionsSchema.safeParse(body)
  if (!read.success) return null
  const { user, team, channel, message, actions } = read.data
  const [action] = actions
  if (action === undefined) return null
  return {
    id: `${channel.id}:${message.ts}:${action.action_ts}`,
    teamId: user.team_id ?? team.id,
    userId: user.id,
    userName: user.username,
    channelId: channel.id,
    isPrivate: channel.id.startsWith('D'),
    at: { threadTs: message.thread_ts ?? null, ts: null },
    text: '',
    pressed: cutText(action.value, pressedMaxChars),
    isForUs: true,
    files: [],
    shared: null,
  }
}
