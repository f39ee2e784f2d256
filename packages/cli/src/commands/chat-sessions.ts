import { historyMessages, terminalSession } from '@flotilla/protocol/chat-history'
import { operatorAgentId } from '@flotilla/protocol/ids'
import type { Command } from 'commander'
import { commandAction, numberOption, textOption } from '../command-action.ts'
import type { CommandLine } from '../command-action.ts'
import type { CliDeps, CommandContext } from '../context.ts'
import { wholeNumber } from '../number-argument.ts'
import { historyLines, resetLine, sessionRows } from '../repl/history-lines.ts'

export function addChatSessionCommands(program: Command, deps: CliDeps): void {
  program
    .command('history')
    .description(
      'Shows a conversation as the agent remembers it, oldest first; by default that of the operator. Older parts of a long conversation are in workspace/memory/transcripts of the agent.',
    )
    .argument('[agent]', 'id of the agent')
    .option('--session <name>', 'which conversation', terminalSession)
    .option(
      '--limit <count>',
      'how many of the newest messages',
      wholeNumber(1, historyMessages.max),
      historyMessages.default,
    )
    .addHelpText(
      'after',
      `
Examples:
  $ flotilla history auditor
  $ flotilla history auditor --session release --limit 10
  $ flotilla history auditor --json | jq -r '.messages[].text'`,
    )
    .action(commandAction(deps, history))
  program
    .command('sessions')
    .description('Lists the conversations of an agent, newest first; by default those of the operator.')
    .argument('[agent]', 'id of the agent')
    .addHelpText('after', '\nExample:\n  $ flotilla sessions auditor')
    .action(commandAction(deps, sessions))
  program
    .command('reset-chat')
    .description(
      'Archives a conversation and starts a new one: the agent no longer remembers the old one. Rejected while a run is active in it. What the agent wrote into its memory is kept.',
    )
    .argument('[agent]', 'id of the agent; default: the operator')
    .option('--session <name>', 'which conversation', terminalSession)
    .addHelpText(
      'after',
      '\nExamples:\n  $ flotilla reset-chat auditor\n  $ flotilla reset-chat auditor --session release',
    )
    .action(commandAction(deps, resetChat))
}

async function history(context: CommandContext, line: CommandLine): Promise<void> {
  const { terminal, signal } = context
  const client = await context.mesh()
  const found = await client.call('chatHistory', {
    params: { id: agentOf(line) },
    query: { session: sessionOf(line), limit: numberOption(line, 'limit') ?? historyMessages.default },
    signal,
  })
  terminal.printJson(found)
  terminal.print(...historyLines(found, terminal.color))
}

async function sessions(context: CommandContext, line: CommandLine): Promise<void> {
  const client = await context.mesh()
  const found = await client.call('chatSessions', {
    params: { id: agentOf(line) },
    signal: context.signal,
  })
  context.terminal.printJson(found)
  context.terminal.print(...sessionRows(found))
}

async function resetChat(context: CommandContext, line: CommandLine): Promise<void> {
  const client = await context.mesh()
  const reset = await client.call('chatReset', {
    params: { id: agentOf(line) },
    body: { session: sessionOf(line) },
    signal: context.signal,
  })
  context.terminal.printJson(reset)
  context.terminal.print(resetLine(reset))
}

function agentOf(line: CommandLine): string {
  return line.operands[0] ?? operatorAgentId
}

function sessionOf(line: CommandLine): string {
  return textOption(line, 'session') ?? terminalSession
}
