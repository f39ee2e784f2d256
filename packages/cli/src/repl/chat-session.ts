import { createInterface } from 'node:readline'
import type { Interface } from 'node:readline'
import type { MeshClient } from '@flotilla/client/mesh-client'
import { terminalSession } from '@flotilla/protocol/chat-history'
import type { RunView } from '@flotilla/protocol/run'
import type { CommandContext } from '../context.ts'
import { errorLines, formatError } from '../terminal/format-error.ts'
import { sayRead } from '../say-read.ts'
import { askLive } from './live-run.ts'
import { slashCommands } from './slash-commands.ts'
import { createSteering } from './steering.ts'
import type { LateWords, Steering } from './steering.ts'
import { createTypingRow } from './typing-row.ts'
import { createTypedLines } from './typed-lines.ts'
import type { TypedLines } from './typed-lines.ts'

/**
 * A conversation at the prompt until `/quit`, end of input, or Ctrl-C at an empty prompt. Ctrl-C during a run
 * cancels the run; what is typed during a run is said to it; a refused request is shown and the conversation goes on.
 */
export async function chatSession(
  context: CommandContext,
  client: MeshClient,
  { agentId, session }: { readonly agentId: string; readonly session: string },
): Promise<void> {
  const { terminal } = context
  const tty = context.input.isTTY === true && terminal.isInteractive
  const typing = tty ? createTypingRow(context) : null
  const lines = typing?.lines ?? createInterface({ input: context.input, terminal: false })
  const interrupts = interruptions(context, lines)
  const typed = createTypedLines(lines)
  const show = () => {
    if (!tty) return
    const where = talk.session === terminalSession ? '' : terminal.color.faint(` ${talk.session}`)
    lines.setPrompt(`${terminal.color.name(agentId)}${where} › `)
    // What was typed ahead stays, and the cursor in it.
    lines.prompt(true)
  }
  // A script is read line by line; only a person types while an answer comes.
  const talk: Conversation = {
    client,
    agentId,
    session,
    typed,
    interrupts,
    show,
    beside: typing?.beside ?? null,
  }
  terminal.print(
    terminal.color.faint(
      'Ask something; what you type while an answer comes is said to the agent at work. /help lists commands, Ctrl-C cancels, /quit ends.',
    ),
  )
  try {
    await converse(context, talk)
  } finally {
    interrupts.close()
    lines.close()
  }
}

export interface Conversation {
  readonly client: MeshClient
  readonly agentId: string
  /** What is asked from now on is asked there. */
  session: string
  readonly typed: TypedLines
  readonly interrupts: Interruptions
  /** Shows the prompt. */
  readonly show: () => void
  /** Keeps what is typed during a run apart from what is said; null where lines wait for the end of the run. */
  readonly beside: (() => () => void) | null
}

/** Takes line after line until one ends it. */
export async function converse(context: CommandContext, talk: Conversation): Promise<void> {
  for (;;) {
    talk.show()
    const line = await talk.typed.next()
    if (line === null || isGoodbye(line)) return
    if ((await turn(context, talk, line.trim())) === 'quit') return
  }
}

type TurnEnd = 'quit' | 'answered'

function isGoodbye(line: string): boolean {
  return line.trim() === '/quit' || line.trim() === '/exit'
}

async function turn(context: CommandContext, talk: Conversation, text: string): Promise<TurnEnd> {
  if (text === '') return 'answered'
  const asks: LateWords[] = []
  if (text.startsWith('/')) {
    // Said at the prompt it is mostly a run at once, and its answer is wanted.
    const steering = steeringOf(context, talk)
    await command(context, talk, { text, steering })
    asks.push(...(await steering.late(null)))
  } else asks.push({ text, key: context.newKey() })
  for (let ask = asks.shift(); ask; ask = asks.shift()) {
    const answer = await answered(context, talk, ask)
    if (answer === 'quit') return 'quit'
    asks.push(...answer)
  }
  return 'answered'
}

/** Asks and follows to the end; gives what was said too late for that run, as runs to follow next. */
async function answered(
  context: CommandContext,
  talk: Conversation,
  ask: LateWords,
): Promise<'quit' | readonly LateWords[]> {
  const steering = steeringOf(context, talk)
  const leaving = new AbortController()
  let ended: RunView | null = null
  const endBeside = talk.beside?.()
  if (talk.beside !== null) {
    talk.typed.hear((line) => {
      const text = line.trim()
      if (leaving.signal.aborted) return
      if (isGoodbye(text)) leaving.abort()
      else if (text.startsWith('/')) void command(context, talk, { text, steering })
      else if (text !== '') void steering.say(text)
    })
  }
  try {
    ended = await askCancellable(context, talk, { ask, signal: leaving.signal })
  } catch (error) {
    if (leaving.signal.aborted) return 'quit'
    tellError(context, error)
  } finally {
    talk.typed.hear(null)
    endBeside?.()
  }
  return steering.late(ended)
}

function steeringOf(context: CommandContext, { client, agentId, session }: Conversation): Steering {
  const onError = (error: unknown) => tellError(context, error)
  return createSteering({ client, agentId, session, newKey: context.newKey, onError })
}

function tellError({ terminal }: CommandContext, error: unknown): void {
  terminal.note(...errorLines(formatError(error), terminal.color))
}

async function command(
  context: CommandContext,
  talk: Conversation,
  { text, steering }: { readonly text: string; readonly steering: Steering },
): Promise<void> {
  const { terminal } = context
  const { client, agentId } = talk
  const session = {
    name: () => talk.session,
    change: (next: string) => {
      talk.session = next
      talk.show()
    },
  }
  const [name = '', ...rest] = text.slice(1).split(/\s+/)
  const found = slashCommands.find((candidate) => candidate.name === name)
  try {
    if (found) await found.run({ client, terminal, agentId, session, rest, say: steering.say })
    else terminal.print(`There is no /${name}. /help lists what there is.`)
  } catch (error) {
    tellError(context, error)
  }
}

async function askCancellable(
  context: CommandContext,
  talk: Conversation,
  { ask, signal }: { readonly ask: LateWords; readonly signal: AbortSignal },
): Promise<RunView> {
  const { client, agentId, interrupts } = talk
  let runId: string | null = null
  interrupts.during(() => {
    if (runId === null) return
    context.terminal.note('Cancelling …')
    client.call('runCancel', { params: { id: runId } }).catch((error: unknown) => tellError(context, error))
  })
  try {
    const ended = await askLive(client, context.terminal, {
      agentId,
      message: ask.text,
      session: talk.session,
      idempotencyKey: ask.key,
      signal: AbortSignal.any([context.signal, signal]),
      eventsBeside: false,
      onAccepted: (id) => (runId = id),
    })
    await sayRead(client, ended)
    return ended
  } finally {
    interrupts.during(null)
  }
}

export interface Interruptions {
  /** What Ctrl-C does from now on; null: it takes away what is typed, or ends the conversation where nothing is. */
  during(cancel: (() => void) | null): void
  close(): void
}

/** At a terminal readline takes Ctrl-C, elsewhere it comes as a signal; both mean the same. */
function interruptions(context: CommandContext, lines: Interface): Interruptions {
  let cancel: (() => void) | null = null
  const interrupt = () => {
    if (cancel !== null) cancel()
    else if (lines.terminal && lines.line !== '') clearTyped(lines)
    else lines.close()
  }
  lines.on('SIGINT', interrupt)
  const giveBack = context.onInterrupt(interrupt)
  return { during: (next) => (cancel = next), close: giveBack }
}

function clearTyped(lines: Interface): void {
  lines.write(null, { ctrl: true, name: 'e' })
  lines.write(null, { ctrl: true, name: 'u' })
}
