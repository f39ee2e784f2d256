import { text } from 'node:stream/consumers'
import { terminalSession } from '@flotilla/protocol/chat-history'
import { operatorAgentId } from '@flotilla/protocol/ids'
import { wireLimits } from '@flotilla/protocol/limits'
import { Problem } from '@flotilla/protocol/problem'
import type { RunView } from '@flotilla/protocol/run'
import type { Command } from 'commander'
import { commandAction, textOption } from '../command-action.ts'
import type { CommandLine } from '../command-action.ts'
import type { CliDeps, CommandContext } from '../context.ts'
import { exitCodeOfProblem } from '../exit-code-of.ts'
import { exitCodes } from '../exit-codes.ts'
import type { ExitCode } from '../exit-codes.ts'
import { chatSession } from '../repl/chat-session.ts'
import { askLive } from '../repl/live-run.ts'
import { requireAgent } from '../require-agent.ts'
import { confirmRead } from '../confirm-read.ts'

export function addChatCommand(program: Command, deps: CliDeps): void {
  program
    .command('chat')
    .description(
      'Talks to an agent, by default the operator. Without a message it opens a conversation. With a message it asks, shows progress on standard error, prints the answer and exits.',
    )
    .argument('[agent]', 'id of the agent')
    .argument('[message...]', 'what to ask; - reads it from standard input')
    .option('--session <name>', 'conversation that the agent remembers', terminalSession)
    .addHelpText(
      'after',
      `
Examples:
  $ flotilla chat                                a conversation with the operator
  $ flotilla chat auditor                        … with a worker
  $ flotilla chat auditor --session release      … about something else: it remembers each by itself
  $ flotilla chat operator "What can you do?"    one question, the answer on standard output
  $ git diff | flotilla chat reviewer -          the question from a pipe
  $ flotilla chat operator "Sum up" --json | jq -r .outcome.text`,
    )
    .action(commandAction(deps, chat))
}

async function chat(context: CommandContext, line: CommandLine): Promise<void> {
  const { agentId, message } = readChatOperands(line.operands)
  // No status line is needed, because streamed text and the prompt show progress themselves.
  const client = await context.mesh({ silent: true })
  await requireAgent(context, client, agentId)
  const session = textOption(line, 'session') ?? terminalSession
  if (message === '') return chatSession(context, client, { agentId, session })
  const prompt = message === '-' ? (await text(context.input)).trim() : message
  refuseTooLong(prompt)
  let runId: string | null = null
  const giveBack = context.onInterrupt(() => {
    if (runId !== null) client.call('runCancel', { params: { id: runId } }).catch(() => undefined)
  })
  const run = await askLive(client, context.terminal, {
    agentId,
    message: prompt,
    session,
    idempotencyKey: context.newKey(),
    signal: context.signal,
    eventsBeside: true,
    onAccepted: (id) => (runId = id),
  }).finally(giveBack)
  context.terminal.printJson(run)
  await confirmRead(client, run)
  context.setExitCode(exitCodeOfRun(run))
}

/** Rejects a long message here, because the mesh could only reject it after receiving all of it. */
function refuseTooLong(message: string): void {
  const max = wireLimits.chatMessageMaxChars
  if (message.length <= max) return
  throw new Problem('body-too-large', {
    detail: `The message has ${message.length} characters; one may have ${max}.`,
    repair:
      'Send the text as a file and name it in a short message: flotilla put AGENT FILE, then flotilla chat AGENT "Read /data/FILE".',
  })
}

/** Parses the operands: the first is always the agent; only a lone `-` is a question to the operator. */
export function readChatOperands(operands: readonly string[]): { agentId: string; message: string } {
  const [first, ...rest] = operands
  if (first === undefined) return { agentId: operatorAgentId, message: '' }
  if (first === '-') return { agentId: operatorAgentId, message: operands.join(' ') }
  return { agentId: first, message: rest.join(' ') }
}

/** Returns exit code 0 for an answer, 4 if a permission or a budget denied the run, else 1. */
export function exitCodeOfRun(run: RunView): ExitCode {
  if (run.outcome?.status === 'done') return exitCodes.ok
  return exitCodeOfProblem(run.outcome?.code ?? '')
}
