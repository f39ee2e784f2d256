import type { EventsDropped } from '@flotilla/protocol/fleet-event'
import type { Command } from 'commander'
import { commandAction, numberOption } from '../command-action.ts'
import type { CommandLine } from '../command-action.ts'
import type { CliDeps, CommandContext } from '../context.ts'
import { wholeNumber } from '../number-argument.ts'
import { eventLine } from '../repl/event-line.ts'
import { formatTime } from '../terminal/format.ts'

export function addEventsCommand(program: Command, deps: CliDeps): void {
  program
    .command('events')
    .description(
      'Shows events as they happen until Ctrl-C, across restarts of the mesh. With --json one event per line.',
    )
    .option(
      '--since <number>',
      'start after this sequence number; 0 starts with the oldest stored event',
      wholeNumber(0, Number.MAX_SAFE_INTEGER),
      0,
    )
    .addHelpText('after', '\nExamples:\n  $ flotilla events\n  $ flotilla events --json | jq .type')
    .action(commandAction(deps, events))
}

async function events(context: CommandContext, line: CommandLine): Promise<void> {
  const { terminal } = context
  const client = await context.mesh()
  const ended = new AbortController()
  const giveBack = context.onInterrupt(() => ended.abort())
  const signal = AbortSignal.any([ended.signal, context.signal])
  const onDropped = ({ since, dropped_until: until }: EventsDropped) =>
    terminal.note(
      terminal.color.faint(`Events ${since + 1} to ${until} are no longer stored and are left out.`),
    )
  for await (const event of client.events({ since: numberOption(line, 'since') ?? 0, signal, onDropped })) {
    terminal.printJson(event)
    const text = eventLine(event.body, terminal.color, `${terminal.command} `)
    if (text !== null) {
      terminal.print(
        `${terminal.color.faint(`${event.seq}`.padStart(6))} ${terminal.color.faint(formatTime(event.at))} ${text}`,
      )
    }
  }
  giveBack()
}
