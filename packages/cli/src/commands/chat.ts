import { text } from 'node:stream/consumers'
import { terminalSession } from '@flotilla/protocol/chat-history'
import { agentIdSchema, operatorAgentId } from '@flotilla/protocol/ids'
import { wireLimits } from '@flotilla/protocol/limits'
import { nearestName } from '@flotilla/protocol/nearest-name'
import { describeMissingAgent } from '@flotilla/protocol/no-such-agent'
import { Problem } from '@flotilla/protocol/problem'
import type { RunView } from '@flotilla/protocol/run'
import type { Command } from 'commander'
import { commandAction, numberOption, textOption } from '../command-action.ts'
import type { CommandLine } from '../command-action.ts'
import { CommandFailed } from '../command-failed.ts'
import type { CliDeps, CommandContext } from '../context.ts'
import { exitCodeOfProblem } from '../exit-code-of.ts'
import { exitCodes } from '../exit-codes.ts'
import type { ExitCode } from '../exit-codes.ts'
import { wholeNumber } from '../number-argument.ts'
import { chatSession } from '../repl/chat-session.ts'
import { askLive } from '../repl/live-run.ts'
import { createWaitLimit, timeoutMaxSeconds } from '../repl/wait-limit.ts'
import { confirmRead } from '../confirm-read.ts'
import { oneLine } from '../terminal/color.ts'

const nameColumnsMax = 64
/** A shorter word resembles too many ids to count as a mistyped one. */
const comparedMinChars = 4

export function addChatCommand(program: Command, deps: CliDeps): void {
  program
    .command('chat')
    .description(
      'Talks to an agent, by default the operator. Without a message it opens a conversation. With a message it asks, shows progress on standard error, prints the answer and exits. Without a terminal, or with --json, it ends with exit code 5 when the run needs your approval, unless --timeout is given; the run goes on.',
    )
    .argument('[agent]', 'id of the agent; without it, the operator is asked; put the message in quotes')
    .argument('[message...]', 'what to ask; - reads it from standard input')
    .option('--session <name>', 'conversation that the agent remembers', terminalSession)
    .option(
      '--timeout <seconds>',
      'how long to wait for the answer; the run goes on, and the exit code is 5',
      wholeNumber(1, timeoutMaxSeconds),
    )
    .addHelpText(
      'after',
      `
Examples:
  $ flotilla chat                                a conversation with the operator
  $ flotilla chat auditor                        … with a worker
  $ flotilla chat auditor --session release      … about something else: it remembers each by itself
  $ flotilla chat "What can you do?"             one question to the operator, the answer on standard output
  $ flotilla chat auditor "Check it" --timeout 60   … to a worker, for at most a minute
  $ git diff | flotilla chat reviewer -          the question from a pipe
  $ flotilla chat "Sum up" --json | jq -r .outcome.text`,
    )
    .action(commandAction(deps, chat))
}

async function chat(context: CommandContext, line: CommandLine): Promise<void> {
  // No status line is needed, because streamed text and the prompt show progress themselves.
  const client = await context.mesh({ silent: true })
  const [first = operatorAgentId] = line.operands
  const isOperator = first === operatorAgentId || first === '-'
  const agents = isOperator ? [] : (await client.call('status', { signal: context.signal })).agents
  const { agentId, message } = readChatOperands(
    line.operands,
    agents.map(({ id }) => id),
  )
  const session = textOption(line, 'session') ?? terminalSession
  if (message === '') return chatSession(context, client, { agentId, session })
  const prompt = message === '-' ? (await text(context.input)).trim() : message
  refuseTooLong(prompt)
  let runId: string | null = null
  const giveBack = context.onInterrupt(() => {
    if (runId !== null) client.call('runCancel', { params: { id: runId } }).catch(() => undefined)
  })
  const waitLimit = createWaitLimit(context, client, numberOption(line, 'timeout'))
  const run = await askLive(client, context.terminal, {
    agentId,
    message: prompt,
    session,
    idempotencyKey: context.newKey(),
    signal: waitLimit.signal,
    clock: context.clock,
    eventsBeside: true,
    onAccepted: (id) => {
      runId = id
      waitLimit.begin(id)
    },
    onEvent: waitLimit.onEvent,
  }).finally(() => {
    giveBack()
    waitLimit.end()
  })
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

/**
 * Parses the operands. The first names the agent if an agent has this id. Else all of them are a message to the
 * operator. Throws CommandFailed if the person probably meant an agent: the first word could be an id, and it resembles
 * one or exactly one message follows it. Pure.
 */
export function readChatOperands(
  operands: readonly string[],
  agentIds: readonly string[],
): { agentId: string; message: string } {
  const [first, ...rest] = operands
  if (first === undefined) return { agentId: operatorAgentId, message: '' }
  const known = [...new Set([...agentIds, operatorAgentId])]
  if (known.includes(first)) return { agentId: first, message: rest.join(' ') }
  const couldBeId = agentIdSchema.safeParse(first).success
  const resembles = couldBeId && first.length >= comparedMinChars && nearestName(first, known) !== null
  const readsInput = rest.length === 1 && rest[0] === '-'
  const namesNone = (couldBeId && rest.length === 1) || readsInput
  if (!resembles && !namesNone) return { agentId: operatorAgentId, message: operands.join(' ') }
  throw new CommandFailed('unknown-agent', {
    detail: describeMissingAgent(oneLine(first, nameColumnsMax), known),
    repair:
      rest.length > 0 && !readsInput
        ? 'List the agents with flotilla agents. To ask the operator, quote the whole message: flotilla chat "...".'
        : 'List the agents with flotilla agents. To send the word to the operator: flotilla chat operator "...".',
    exitCode: exitCodes.usage,
  })
}

/** Returns exit code 0 for an answer, 4 if a permission or a budget denied the run, else 1. */
export function exitCodeOfRun(run: RunView): ExitCode {
  if (run.outcome?.status === 'done') return exitCodes.ok
  return exitCodeOfProblem(run.outcome?.code ?? '')
}
