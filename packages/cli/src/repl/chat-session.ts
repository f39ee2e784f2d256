import { createInterface } from 'node:readline'
import type { Interface } from 'node:readline'
import type { MeshClient } from '@flotilla/client/mesh-client'
import { terminalSession } from '@flotilla/protocol/chat-history'
import type { RunView } from '@flotilla/protocol/run'
import type { CommandContext } from '../context.ts'
import { formatError } from '../terminal/format-error.ts'
import { confirmRead } from '../confirm-read.ts'
import { askLive } from './live-run.ts'
import { requireAgent } from '../require-agent.ts'
import { completeLine } from './complete-line.ts'
import type { KnownNames } from './complete-line.ts'
import { withLineBreaks } from './pasted-input.ts'
import type { Conversation, Interruptions } from './conversation.ts'
import { runSlashLine } from './run-slash-line.ts'
import { slashCommands } from './slash-commands.ts'
import { createSteering } from './steering.ts'
import type { LateWords, Steering } from './steering.ts'
import { createTypingRow } from './typing-row.ts'
import { wrapWords } from './usage-rows.ts'
import { keepTypedHistory, readTypedHistory } from './typed-history.ts'
import { createTypedLines } from './typed-lines.ts'

const openingWords =
  'Type a message. Text that you type during an answer is sent to the working agent. /help lists commands, Ctrl-C cancels, /quit ends.'

/**
 * A conversation at the prompt until `/quit`, end of input, or Ctrl-C at an empty prompt. Ctrl-C during a run
 * cancels the run; text typed during a run is sent to it; a rejected request is shown and the conversation continues.
 */
export async function chatSession(
  context: CommandContext,
  client: MeshClient,
  { agentId, session }: { readonly agentId: string; readonly session: string },
): Promise<void> {
  const { terminal } = context
  const tty = context.input.isTTY === true && terminal.isInteractive
  let names: KnownNames = { agents: [], projects: [] }
  let history: readonly string[] = tty ? await readTypedHistory(context.place.home) : []
  const complete = (line: string) => completeLine(line, slashCommands, names)
  const typing = tty ? createTypingRow(context, { history, complete }) : null
  const lines = typing?.lines ?? createInterface({ input: context.input, terminal: false })
  const interrupts = interruptions(context, lines)
  // True after Ctrl-D, which may also close the input during a question.
  let isClosed = false
  lines.once('close', () => (isClosed = true))
  lines.on('history', (remembered: readonly string[]) => (history = [...remembered]))
  const typed = createTypedLines(lines)
  const learnNames = async () => {
    // If the names cannot be loaded, the known ones stay and new ones are not completed.
    names = await namesOf(client).catch(() => names)
  }
  const show = () => {
    if (!tty || isClosed) return
    void learnNames()
    const where = talk.session === terminalSession ? '' : terminal.color.faint(` ${talk.session}`)
    lines.setPrompt(`${terminal.color.name(talk.agentId)}${where} › `)
    // Shows the prompt and keeps text that was typed in advance, with its cursor position.
    lines.prompt(true)
  }
  const ask = async (question: string, isSecret: boolean): Promise<string | null> => {
    if (!tty) return (await typed.next()) ?? ''
    if (isClosed) return null
    lines.setPrompt(question)
    lines.prompt()
    const shown = isSecret ? typing?.hide() : undefined
    // Ctrl-C ends the question, and the conversation continues.
    const ended = new Promise<null>((resolve) =>
      interrupts.during(() => {
        clearTyped(lines)
        resolve(null)
      }),
    )
    try {
      return await Promise.race([typed.next(), ended])
    } finally {
      interrupts.during(null)
      shown?.()
    }
  }
  // Without a terminal, lines wait until the answer has ended; only a person can type during an answer.
  const talk: Conversation = {
    client,
    agentId,
    session,
    typed,
    interrupts,
    show,
    ask,
    beside: typing?.beside ?? null,
    project: null,
    lastRun: null,
  }
  terminal.print(...wrapWords(openingWords, terminal.columns).map((line) => terminal.color.faint(line)))
  try {
    await converse(context, talk)
  } finally {
    interrupts.close()
    lines.close()
    if (tty) await keepTypedHistory(context.place.home, history)
  }
}

/** Processes line after line until a line ends the conversation. */
export async function converse(context: CommandContext, talk: Conversation): Promise<void> {
  for (;;) {
    talk.show()
    const line = await talk.typed.next()
    if (line === null || isGoodbye(line)) return
    if ((await turn(context, talk, withLineBreaks(line).trim())) === 'quit') return
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
    // A steer sent while no run is active becomes a run of its own, which is then followed.
    const steering = steeringOf(context, talk)
    await runSlashLine(context, talk, { text, steering, streaming: false })
    asks.push(...(await steering.late(null)))
  } else if (/^@[\w-]+\s/.test(text)) return askOtherAgent(context, talk, text)
  else asks.push({ text, key: context.newKey() })
  return followed(context, talk, asks)
}

/** Asks each message and follows its run. Steers that came too late for a run are asked as further messages. */
async function followed(context: CommandContext, talk: Conversation, asks: LateWords[]): Promise<TurnEnd> {
  for (let ask = asks.shift(); ask; ask = asks.shift()) {
    const answer = await answered(context, talk, ask)
    if (answer === 'quit') return 'quit'
    asks.push(...answer)
  }
  return 'answered'
}

/** Asks and follows the run to its end. Returns steers that came too late for the run, to be followed as runs. */
async function answered(
  context: CommandContext,
  talk: Conversation,
  ask: LateWords,
): Promise<'quit' | readonly LateWords[]> {
  const steering = steeringOf(context, talk)
  const leaving = new AbortController()
  let ended: RunView | null = null
  /** Commands typed during the answer; their output is printed above the next prompt. */
  const meanwhile: Promise<void>[] = []
  const endBeside = talk.beside?.()
  if (talk.beside !== null) {
    talk.typed.hear((line) => {
      const text = withLineBreaks(line).trim()
      if (leaving.signal.aborted) return
      if (isGoodbye(text)) leaving.abort()
      else if (text.startsWith('/'))
        meanwhile.push(runSlashLine(context, talk, { text, steering, streaming: true }))
      else if (text !== '') void steering.say(text)
    })
  }
  try {
    ended = await askCancellable(context, talk, { ask, signal: leaving.signal })
  } catch (error) {
    if (!leaving.signal.aborted) printTurnError(context, error)
  }
  try {
    await allEnded(meanwhile, leaving.signal)
    if (leaving.signal.aborted) return 'quit'
  } finally {
    talk.typed.hear(null)
    endBeside?.()
  }
  return steering.late(ended)
}

/** Resolves when all works have ended, including works that are added during the wait, or when the person leaves. */
async function allEnded(works: readonly Promise<void>[], leaving: AbortSignal): Promise<void> {
  const left = new Promise<void>((resolve) => leaving.addEventListener('abort', () => resolve()))
  for (let at = 0; at < works.length && !leaving.aborted; at++) await Promise.race([works[at], left])
}

function steeringOf(context: CommandContext, { client, agentId, session }: Conversation): Steering {
  const onError = (error: unknown) => printTurnError(context, error)
  return createSteering({ client, agentId, session, newKey: context.newKey, onError })
}

function printTurnError({ terminal }: CommandContext, error: unknown): void {
  terminal.tell(formatError(error))
}

/** Asks another agent once: `@agent text`. The conversation stays with its own. */
async function askOtherAgent(context: CommandContext, talk: Conversation, text: string): Promise<TurnEnd> {
  const [, to = '', message = ''] = /^@([\w-]+)\s+([^]*)$/.exec(text) ?? []
  const own = talk.agentId
  try {
    await requireAgent(context, talk.client, to)
    talk.agentId = to
    return await followed(context, talk, [{ text: message, key: context.newKey() }])
  } catch (error) {
    printTurnError(context, error)
    return 'answered'
  } finally {
    talk.agentId = own
  }
}

async function namesOf(client: MeshClient): Promise<KnownNames> {
  const [{ agents }, { projects }] = await Promise.all([client.call('status'), client.call('projects')])
  return { agents: agents.map(({ id }) => id), projects: projects.map(({ name }) => name) }
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
    client
      .call('runCancel', { params: { id: runId } })
      .catch((error: unknown) => printTurnError(context, error))
  })
  try {
    const ended = await askLive(client, context.terminal, {
      agentId,
      message: ask.text,
      session: talk.session,
      idempotencyKey: ask.key,
      signal: AbortSignal.any([context.signal, signal]),
      eventsBeside: false,
      clock: context.clock,
      onAccepted: (id) => {
        runId = id
        talk.lastRun = id
      },
    })
    await confirmRead(client, ended)
    return ended
  } finally {
    interrupts.during(null)
  }
}

/** Handles Ctrl-C, which readline reports at a terminal and a signal elsewhere, with the same effect. */
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
