import type { Command } from 'commander'
import type { PauseView } from '@flotilla/protocol/pause-api'
import { commandAction, textOption } from '../command-action.ts'
import type { CommandLine } from '../command-action.ts'
import type { CliDeps, CommandContext } from '../context.ts'
import { formatCount, formatTime } from '../terminal/format.ts'

export function addPauseCommands(program: Command, deps: CliDeps): void {
  program
    .command('pause')
    .description(
      'Holds runs of cron jobs, heartbeats, webhooks and file watchers, for the fleet or one agent. Chats, their hand-offs, and commands work as usual. Webhooks are still accepted and wait; due times and changed files are remembered.',
    )
    .argument('[agent]', 'id of one agent; without it, the whole fleet')
    .option('-r, --reason <words>', 'reason to show')
    .option('--now', 'also cancel active runs that triggers started')
    .addHelpText(
      'after',
      '\nExamples:\n  $ flotilla pause --reason "moving the database"\n  $ flotilla pause auditor --now\n  $ flotilla resume',
    )
    .action(commandAction(deps, pause))
  program
    .command('resume')
    .description('Ends a pause of the fleet or of one agent.')
    .argument('[agent]', 'id of one agent; without it, the whole fleet')
    .addHelpText('after', '\nExample:\n  $ flotilla resume auditor')
    .action(commandAction(deps, resume))
}

async function pause(context: CommandContext, line: CommandLine): Promise<void> {
  const reason = textOption(line, 'reason')
  const client = await context.mesh()
  const reply = await client.call('pause', {
    body: {
      agent_id: line.operands[0] ?? null,
      now: line.options['now'] === true,
      ...(reason === undefined ? {} : { reason }),
    },
    signal: context.signal,
  })
  const { terminal } = context
  terminal.printJson(reply)
  terminal.print(pauseWords(reply))
  if (reply.working.length > 0) {
    const name = reply.agent_id === null ? '' : ` ${reply.agent_id}`
    terminal.hint(
      `Started before and still active: ${reply.working.join(', ')}. To cancel them: flotilla pause${name} --now`,
    )
  }
}

async function resume(context: CommandContext, line: CommandLine): Promise<void> {
  const client = await context.mesh()
  const reply = await client.call('resume', {
    body: { agent_id: line.operands[0] ?? null },
    signal: context.signal,
  })
  const { terminal } = context
  terminal.printJson(reply)
  terminal.print(
    `${reply.agent_id ?? 'The fleet'} is resumed; ${formatCount(reply.released, 'held run')} may begin.`,
  )
  if (reply.still_paused.length > 0) {
    terminal.hint(`Still paused: ${reply.still_paused.join(', ')}. To resume one: flotilla resume AGENT`)
  }
}

/** Describes a pause in one line. */
export function pauseWords({ agent_id: agentId, reason, by, since, held }: PauseView): string {
  const who = agentId ?? 'The fleet'
  return `${who} is paused since ${formatTime(since)} UTC by ${by}: ${reason}. Held: ${held} queued. Chats and commands work as usual.`
}
