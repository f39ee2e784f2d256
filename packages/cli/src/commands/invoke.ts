import type { Command } from 'commander'
import { jsonObjectSchema } from '@flotilla/protocol/json-value'
import { commandAction, operand } from '../command-action.ts'
import type { CommandLine } from '../command-action.ts'
import { CommandFailed } from '../command-failed.ts'
import type { CliDeps, CommandContext } from '../context.ts'
import { exitCodes } from '../exit-codes.ts'
import { parseJsonLine } from '../mesh-process/mesh-lines.ts'
import { confirmRead } from '../confirm-read.ts'
import { exitCodeOfRun } from './chat.ts'

export function addInvokeCommand(program: Command, deps: CliDeps): void {
  program
    .command('invoke')
    .description('Runs one tool of an agent inside its container, without a model, and prints the result.')
    .argument('<agent>', 'id of the agent')
    .argument('<tool>', 'name of the tool')
    .argument('[json]', 'its parameters as a JSON object', '{}')
    .addHelpText(
      'after',
      `
Examples:
  $ flotilla invoke auditor run_command '{"command":"id; ls -la /data"}'
  $ flotilla invoke auditor read_file '{"path":"report.md"}'
  $ flotilla invoke operator list_agents`,
    )
    .action(commandAction(deps, invoke))
}

async function invoke(context: CommandContext, line: CommandLine): Promise<void> {
  const params = parseParams(line.operands[2] ?? '{}')
  const client = await context.mesh()
  const run = await client.call('invoke', {
    params: { id: operand(line, 0) },
    body: { tool: operand(line, 1), params },
    idempotencyKey: context.newKey(),
    confirmsRead: true,
    signal: context.signal,
  })
  context.terminal.printJson(run)
  const { terminal } = context
  terminal.printText(run.outcome?.text ?? terminal.typed(`The run is ${run.state}: flotilla runs ${run.id}`))
  await confirmRead(client, run)
  context.setExitCode(exitCodeOfRun(run))
}

function parseParams(json: string) {
  const parsed = jsonObjectSchema.safeParse(parseJsonLine(json))
  if (parsed.success) return parsed.data
  throw new CommandFailed('bad-parameters', {
    detail: 'The parameters of the tool are not a JSON object.',
    repair: `Write them like this: '{"path":"report.md"}'`,
    exitCode: exitCodes.usage,
  })
}
