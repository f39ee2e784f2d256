import { writeFile } from 'node:fs/promises'
import { operatorAgentId } from '@flotilla/protocol/ids'
import type { Command } from 'commander'
import { commandAction, operand, textOption } from '../command-action.ts'
import type { CommandLine } from '../command-action.ts'
import type { CliDeps, CommandContext } from '../context.ts'
import { exitCodes } from '../exit-codes.ts'
import type { ExitCode } from '../exit-codes.ts'
import { askLive } from '../repl/live-run.ts'
import { confirmRead } from '../confirm-read.ts'
import { formatBytes } from '../terminal/format.ts'
import { exitCodeOfRun } from './chat.ts'

export function addRecordCommand(program: Command, deps: CliDeps): void {
  program
    .command('record')
    .description(
      'Asks an agent while the mesh records the answers of models, and writes them as a cassette. A model named scripted/<name> replays cassettes/<name>.json without a key.',
    )
    .argument('<file>', 'file for the cassette')
    .argument('<message...>', 'what to ask')
    .option('--agent <id>', 'agent to ask', operatorAgentId)
    .addHelpText(
      'after',
      '\nExample:\n  $ flotilla record cassettes/greeting.json "Say hello to the new worker"',
    )
    .action(commandAction(deps, record))
}

async function record(context: CommandContext, line: CommandLine): Promise<void> {
  const file = operand(line, 0)
  const client = await context.mesh()
  await client.call('recordingStart', { signal: context.signal })
  let cassette: Uint8Array
  let exitCode: ExitCode
  try {
    const run = await askLive(client, context.terminal, {
      agentId: textOption(line, 'agent') ?? operatorAgentId,
      message: line.operands.slice(1).join(' '),
      // A new conversation, because the cassette does not contain earlier messages.
      session: `record-${context.newKey()}`.slice(0, 100),
      idempotencyKey: context.newKey(),
      signal: context.signal,
      clock: context.clock,
      eventsBeside: true,
    })
    await confirmRead(client, run)
    exitCode = exitCodeOfRun(run)
  } finally {
    cassette = await client.bytes('recordingStop')
  }
  if (exitCode !== exitCodes.ok) {
    context.setExitCode(exitCode)
    context.terminal.note(`${file} was not written, because the run did not end well.`)
    return
  }
  await writeFile(file, cassette)
  context.terminal.printJson({ file, size_bytes: cassette.length })
  context.terminal.print(`${file}: ${formatBytes(cassette.length)}`)
}
