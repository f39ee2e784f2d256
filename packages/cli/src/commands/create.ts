import { defaultHeartbeatSchedule } from '@flotilla/protocol/heartbeat-reply'
import { agentIdSchema } from '@flotilla/protocol/ids'
import { limits } from '@flotilla/protocol/limits'
import { harnessNames } from '@flotilla/protocol/harness-variable'
import { Option } from 'commander'
import type { Command } from 'commander'
import { commandAction, numberOption, operand, textOption } from '../command-action.ts'
import type { CommandLine } from '../command-action.ts'
import { CommandFailed } from '../command-failed.ts'
import type { CliDeps, CommandContext } from '../context.ts'
import { exitCodes } from '../exit-codes.ts'
import { usdWithin } from '../number-argument.ts'
import { readValue } from '../read-value.ts'
import { oneLine } from '../terminal/color.ts'
import { formatUsd } from '../terminal/format.ts'
import { setHarness } from './harness.ts'
import { heartbeatCost } from './heartbeat.ts'

const nameColumnsMax = 60

export function addCreateCommand(program: Command, deps: CliDeps): void {
  addWorkerOptions(
    program
      .command('create')
      .description(
        'Creates a worker, which starts when its first work arrives. The same as flotilla agent add.',
      )
      .argument('<agent>', 'its id: 1 to 64 of A-Z a-z 0-9 _ -')
      .argument('<role>', 'what it is for, in one or two sentences'),
  )
    .addHelpText(
      'after',
      "\nExample:\n  $ flotilla create auditor 'Reads contracts.' --instructions @auditor.md --daily 2 --monthly 20",
    )
    .action(
      commandAction(deps, (context, line) =>
        createWorker(context, line, { id: operand(line, 0), role: operand(line, 1) }),
      ),
    )
}

/** Adds the options of a new worker beside its name and role. */
export function addWorkerOptions(command: Command): Command {
  return command
    .option('--instructions <text>', 'how it works; @file reads it from a file')
    .option('--model <name>', 'provider/model; without it, that of the fleet')
    .option(
      '--daily <usd>',
      'daily budget in US dollars; requires --monthly',
      usdWithin(limits.budgetDailyUsd),
    )
    .option(
      '--monthly <usd>',
      'monthly budget in US dollars; requires --daily',
      usdWithin(limits.budgetMonthlyUsd),
    )
    .addOption(new Option('--harness <name>', 'program that drives its runs').choices(harnessNames))
    .option('--project <name>', 'project whose budget it is charged to, beside its own')
}

/** Creates a worker from the options of `addWorkerOptions`. */
export async function createWorker(
  context: CommandContext,
  line: CommandLine,
  { id, role }: { readonly id: string; readonly role: string },
): Promise<void> {
  const { terminal, signal } = context
  if (!agentIdSchema.safeParse(id).success)
    throw new CommandFailed('bad-agent', {
      detail: `“${oneLine(id, nameColumnsMax)}” is not a valid agent name.`,
      repair: 'Name it with 1 to 64 of A-Z a-z 0-9 _ -, the first a letter or digit.',
      exitCode: exitCodes.usage,
    })
  const instructions = textOption(line, 'instructions')
  const model = textOption(line, 'model')
  const project = textOption(line, 'project')
  const body = {
    id,
    role,
    instructions: instructions === undefined ? '' : await readValue(instructions),
    ...(model === undefined ? {} : { model }),
    ...(project === undefined ? {} : { project }),
    ...budgetOf(line),
  }
  const agent = await (await context.mesh()).call('agentCreate', { body, signal })
  const harness = harnessNames.find((name) => name === textOption(line, 'harness'))
  if (harness !== undefined) await setHarness(context, agent.id, harness)
  terminal.printJson(agent)
  if (terminal.json) return
  // Requests the cost before printing: at the prompt of a conversation, input is accepted after these lines.
  const cost = await heartbeatCost(context, agent.id, defaultHeartbeatSchedule)
  terminal.hint(
    `${agent.id} is created, with ${formatUsd(agent.budget.daily_usd)} a day and ${formatUsd(agent.budget.monthly_usd)} a month. Talk to it with: flotilla chat ${agent.id}`,
  )
  terminal.hint(`Its heartbeat is off. To switch it on: flotilla heartbeat ${agent.id} --every 15m`)
  terminal.hint(`Cost of ${cost}`)
}

function budgetOf(line: CommandLine) {
  const daily = numberOption(line, 'daily')
  const monthly = numberOption(line, 'monthly')
  if (daily === undefined && monthly === undefined) return {}
  if (daily === undefined || monthly === undefined) {
    throw new CommandFailed('half-a-budget', {
      detail: 'A budget needs both a daily and a monthly limit.',
      repair: 'Give --daily and --monthly together, or neither.',
      exitCode: exitCodes.usage,
    })
  }
  return { budget: { daily_usd: daily, monthly_usd: monthly } }
}
