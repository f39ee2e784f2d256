import { createInterface } from 'node:readline'
import type { Interface } from 'node:readline'
import type { MeshClient } from '@flotilla/client/mesh-client'
import type { CommandContext } from '../context.ts'
import { errorLines, errorWords } from '../terminal/error-words.ts'
import { askLive } from './live-run.ts'
import { slashCommands } from './slash-commands.ts'

/**
 * A conversation at the prompt until `/quit`, end of input, or Ctrl-C at an empty prompt. Ctrl-C during a run
 * cancels the run; a refused request is shown and the conversation goes on.
 */
export async function chatSession(
  context: CommandContext,
  client: MeshClient,
  agentId: string,
): Promise<void> {
  const { terminal } = context
  const tty = context.input.isTTY === true && terminal.isInteractive
  const lines = createInterface({
    input: context.input,
    terminal: tty,
    ...(tty ? { output: process.stdout } : {}),
  })
  const interrupts = interruptions(context, lines)
  const show = () => {
    if (!tty) return
    lines.setPrompt(`${terminal.color.name(agentId)} › `)
    lines.prompt()
  }
  terminal.print(terminal.color.faint('Ask something. /help lists commands, Ctrl-C cancels, /quit ends.'))
  show()
  try {
    for await (const line of lines) {
      const text = line.trim()
      if (text === '/quit' || text === '/exit') break
      if (text !== '') await turn(context, { client, agentId, text, interrupts })
      show()
    }
  } finally {
    interrupts.close()
    lines.close()
  }
}

interface Turn {
  readonly client: MeshClient
  readonly agentId: string
  readonly text: string
  readonly interrupts: Interruptions
}

async function turn(context: CommandContext, { client, agentId, text, interrupts }: Turn): Promise<void> {
  const { terminal } = context
  try {
    if (text.startsWith('/')) {
      const [name = '', ...rest] = text.slice(1).split(/\s+/)
      const command = slashCommands.find((candidate) => candidate.name === name)
      if (command) await command.run({ client, terminal, agentId, rest })
      else terminal.print(`There is no /${name}. /help lists what there is.`)
      return
    }
    await askCancellable(context, { client, agentId, message: text, interrupts })
  } catch (error) {
    terminal.note(...errorLines(errorWords(error), terminal.color))
  }
}

export interface CancellableAsk {
  readonly client: MeshClient
  readonly agentId: string
  readonly message: string
  readonly interrupts: Interruptions
}

async function askCancellable(context: CommandContext, ask: CancellableAsk): Promise<void> {
  const { client, interrupts } = ask
  let runId: string | null = null
  interrupts.during(() => {
    if (runId === null) return
    context.terminal.note('Cancelling …')
    client
      .call('runCancel', { params: { id: runId } })
      .catch((error: unknown) =>
        context.terminal.note(...errorLines(errorWords(error), context.terminal.color)),
      )
  })
  try {
    await askLive(client, context.terminal, {
      agentId: ask.agentId,
      message: ask.message,
      idempotencyKey: context.newKey(),
      signal: context.signal,
      eventsBeside: false,
      onAccepted: (id) => (runId = id),
    })
  } finally {
    interrupts.during(null)
  }
}

export interface Interruptions {
  /** What Ctrl-C does from now on; null: it ends the conversation. */
  during(cancel: (() => void) | null): void
  close(): void
}

/** At a terminal readline takes Ctrl-C, elsewhere it comes as a signal; both mean the same. */
function interruptions(context: CommandContext, lines: Interface): Interruptions {
  let cancel: (() => void) | null = null
  const interrupt = () => (cancel === null ? lines.close() : cancel())
  lines.on('SIGINT', interrupt)
  const giveBack = context.onInterrupt(interrupt)
  return { during: (next) => (cancel = next), close: giveBack }
}
