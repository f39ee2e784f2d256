import { agentSizeBounds, agentSizeNames } from '@flotilla/protocol/agent-size'
import type { AgentSizeName, AgentSizeSet, AgentSizeView } from '@flotilla/protocol/agent-size'
import { InvalidArgumentError } from 'commander'
import type { Command } from 'commander'
import { commandAction, flagOption, numberOption, operand } from '../command-action.ts'
import type { CommandLine } from '../command-action.ts'
import type { CliDeps, CommandContext } from '../context.ts'
import { wholeNumber } from '../number-argument.ts'
import { requireAgent } from '../require-agent.ts'
import { renderTable } from '../terminal/table.ts'

const optionOf = { memory_mb: 'memory', cpus: 'cpus', pids: 'pids', tmp_mb: 'tmp' } as const
const labels = {
  memory_mb: 'memory (MB)',
  cpus: 'processors',
  pids: 'processes',
  tmp_mb: '/tmp (MB)',
} as const

export function addSizeCommand(program: Command, deps: CliDeps): void {
  const within = (name: AgentSizeName) => wholeNumber(agentSizeBounds[name].min, agentSizeBounds[name].max)
  program
    .command('size')
    .description(
      'Shows or changes the size of an agent’s container. Options that are left out stay as they are. The next run uses the new size.',
    )
    .argument('<agent>', 'id of the agent')
    .option('--memory <MB>', 'memory', within('memory_mb'))
    .option('--cpus <number>', 'processors; 0.5 is half of one', processors)
    .option('--pids <number>', 'processes and threads at the same time', within('pids'))
    .option('--tmp <MB>', 'size of /tmp, whose files count toward the memory', within('tmp_mb'))
    .option('--default', 'the default of its kind, before the other options apply')
    .addHelpText(
      'after',
      '\nExamples:\n  $ flotilla size coder\n  $ flotilla size coder --memory 2048 --cpus 1\n  $ flotilla size coder --default',
    )
    .action(commandAction(deps, size))
}

async function size(context: CommandContext, line: CommandLine): Promise<void> {
  const id = operand(line, 0)
  const client = await context.mesh()
  const { terminal, signal } = context
  const params = { id }
  await requireAgent(context, client, id)
  const before = await client.call('agentSize', { params, signal })
  const change = changeOf(line)
  const isDefault = flagOption(line, 'default')
  if (Object.keys(change).length === 0 && !isDefault) {
    terminal.printJson(before)
    return terminal.print(...rows(before))
  }
  const body = { size: { ...(isDefault ? {} : before.set), ...change }, seen: before.set }
  const after = await client.call('setAgentSize', { params, body, signal })
  terminal.printJson(after)
  terminal.print(...rows(after))
  terminal.hint(`The next run of ${id} uses this size.`)
}

function changeOf(line: CommandLine): AgentSizeSet {
  return Object.fromEntries(
    agentSizeNames.flatMap((name) => {
      const value = numberOption(line, optionOf[name])
      return value === undefined ? [] : [[name, value] as const]
    }),
  )
}

function processors(text: string): number {
  const value = Number(text)
  const { min, max } = agentSizeBounds.cpus
  if (text.trim() === '' || !(value >= min && value <= max))
    throw new InvalidArgumentError(`Expected a number from ${min} to ${max}.`)
  return value
}

/** The limits as a table. Pure except for the width of the terminal. */
function rows({ agent_id: id, set_at: root, set, size: limits, preset }: AgentSizeView): string[] {
  const titles = ['LIMIT', 'NOW', 'DEFAULT', 'SET'].map((title) => ({ title }))
  const found = agentSizeNames.map((name) => [
    labels[name],
    String(limits[name]),
    String(preset[name]),
    set[name] === undefined ? '' : 'yes',
  ])
  return [
    ...renderTable(titles, found),
    ...(root === id ? [] : ['', `${id} has the size of ${root}, its root ancestor.`]),
  ]
}
