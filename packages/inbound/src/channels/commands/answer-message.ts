import { Problem } from '@flotilla/protocol/problem'
import type { ChannelName } from '@flotilla/protocol/people'
import type { HumanCaller } from '@flotilla/identity/access'
import type { Log } from '@flotilla/foundation/platform'
import { problemText, writeAnswered, writeReply } from './write-answer.ts'
import { withForwarded } from '../messages/forwarded-text.ts'
import type { CommandCall, CommandReply } from './channel-command.ts'
import { parseText } from './command-table.ts'
import type { ParsedText } from './command-table.ts'
import { use } from './looking-commands.ts'
import { agentOfButton, namedAgent } from './find-agent.ts'
import { createSpeakToAgent } from './speak-to-agent.ts'
import type { SpeakDeps } from './speak-to-agent.ts'
import { whereElse } from './where-else.ts'

/** Carries out a message of a known person once. Throws Problems; then nothing was stored. */
export type AnswerMessage = (call: CommandCall) => void

type Deps = SpeakDeps & {
  readonly log: Log
  readonly callerOf: (channel: ChannelName, senderId: string) => HumanCaller | null
}

export function createAnswerMessage(deps: Deps): {
  readonly answer: AnswerMessage
  /** Finishes commands that the previous process persisted but did not complete. */
  readonly resume: () => Promise<void>
} {
  /** Stores a new message, its effect and the reply, in one transaction. Does nothing for a stored message. */
  function atOnce(call: CommandCall, work: () => CommandReply): void {
    const { channel, message, person } = call
    deps.database.transaction(() => {
      if (deps.messages.isTaken(channel, message.id)) return
      deps.strangers.forget(channel, message.senderId)
      deps.talks.spoke({ channel, person, place: message.place }, message.senderId, deps.clock.now())
      const reply = work()
      const became = reply.became ?? 'command'
      writeAnswered(deps, { channel, message, person, became, runId: reply.runId }, reply)
    })
  }

  const { toAgent, words: sendText, albumOf, join } = createSpeakToAgent(deps, atOnce)

  function command(call: CommandCall, { command: found, argument }: ParsedText & { kind: 'command' }): void {
    const given = { ...call, argument }
    deps.guard(call.caller, { do: 'call-route', role: found.role })
    for (const action of found.asks?.(deps, given) ?? []) deps.guard(call.caller, action)
    if (found.when === 'later') return begin(given)
    const { channel, person, message } = call
    const isAlone = found.answersAlone === true && !message.place.isPrivate
    const aloneAt = isAlone ? deps.talks.alonePlaceOf(channel, person) : null
    if (isAlone && aloneAt === null) return atOnce(given, () => ({ text: aloneOnly(found.name) }))
    atOnce(given, () => {
      const reply = found.run(deps, given)
      if (reply instanceof Promise) throw new Error(`/${found.name} is asynchronous but declared as at-once`)
      const text = [reply.text, notTaken(message)].filter((part) => part !== '').join('\n')
      return { ...reply, text, ...(aloneAt === null ? {} : { aloneAt }) }
    })
  }

  function begin(call: CommandCall): void {
    const { channel, message } = call
    const at = deps.clock.now()
    deps.database.transaction(() => {
      deps.talks.spoke({ channel, person: call.person, place: message.place }, message.senderId, at)
      const row = { channel, messageId: message.id, senderId: message.senderId, at } as const
      if (!deps.messages.take({ ...row, became: 'command', open: message })) return
      deps.database.afterCommit(() => {
        // If this fails, the command's row stays open, and the next start of the mesh resumes the command.
        finish(call).catch((error: unknown) =>
          deps.log.error(
            { channel, err: error },
            'failed to store the reply to a chat command; the next start processes it again',
          ),
        )
      })
    })
  }

  async function finish(call: CommandCall): Promise<void> {
    const { channel, message, person } = call
    const reply = await later(call).catch((error: unknown): CommandReply => {
      if (error instanceof Problem) return { text: problemText(error, message.place) }
      deps.log.error({ channel, err: error }, 'internal error in a chat command; its sender is notified')
      return { text: 'Internal error; see the log of the mesh.' }
    })
    deps.database.transaction(() => {
      deps.messages.done(channel, message.id)
      writeReply(deps, { channel, message, person }, reply)
    })
  }

  async function later(call: CommandCall): Promise<CommandReply> {
    const parsed = parseText(call.message.text)
    if (parsed.kind !== 'command') return { text: '' }
    return parsed.command.run(deps, { ...call, argument: parsed.argument })
  }

  function answer(call: CommandCall): void {
    const { message } = call
    if (message.pressed !== null) {
      const agentId = agentOfButton(message.pressed)
      if (agentId === null) return atOnce(call, () => ({ text: 'That button is no longer valid.' }))
      return command(call, { kind: 'command', command: use, argument: agentId })
    }
    const isWordless = withForwarded(message.text, message.forwarded) === ''
    const album = isWordless ? albumOf(call) : null
    if (album !== null) return join(call, album, null)
    // Only the sender's own text can be a command. Forwarded text goes to the agent as data.
    const parsed = parseText(message.text)
    switch (parsed.kind) {
      case 'command':
        return command(call, parsed)
      case 'unknown-command':
        return atOnce(call, () => ({
          text: whereElse(parsed.name) ?? `There is no /${parsed.name}; /help lists all commands.`,
        }))
      case 'to-agent':
        return toAgent(
          call,
          namedAgent(deps, call, parsed.name),
          withForwarded(parsed.text, message.forwarded),
        )
      case 'words':
        return sendText(call, withForwarded(parsed.text, message.forwarded))
    }
  }

  return { answer, resume: () => resume(deps, finish) }
}

/** Returns the reply in a group to a person who has never written to the bot directly. Pure. */
function aloneOnly(name: string): string {
  return `/${name} is answered only in a direct conversation: write to this bot there first, then try again.`
}

/** Returns a note about the files and forwarded text that a command ignored; empty for none. Pure. */
function notTaken({ files, forwarded }: CommandCall['message']): string {
  const notes = [
    ...(files.length === 0
      ? []
      : ['Your files were ignored: send them with plain text or @agent, not with a command.']),
    ...(forwarded === undefined || forwarded.text === ''
      ? []
      : ['The forwarded text was ignored: send it with plain text or @agent, not with a command.']),
  ]
  return notes.join('\n')
}

/** The maximum number of commands that one start of the mesh resumes. The next start resumes the rest. */
const resumedMax = 1000

async function resume(
  deps: Pick<Deps, 'messages' | 'callerOf'>,
  finish: (call: CommandCall) => Promise<void>,
): Promise<void> {
  const left = deps.messages.open(resumedMax).map(async ({ channel: name, open: message }) => {
    const channel = name as ChannelName // The mesh wrote this row.
    const caller = deps.callerOf(channel, message.senderId)
    // The sender was removed, so the command is not carried out.
    if (!caller) deps.messages.done(channel, message.id)
    else await finish({ caller, channel, person: caller.person ?? message.senderId, message, argument: '' })
  })
  // Commands are resumed in parallel, so that agents that do not answer delay the start only once.
  await Promise.all(left)
}
