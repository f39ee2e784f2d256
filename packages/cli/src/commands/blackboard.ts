import type { BlackboardEntry } from '@flotilla/protocol/blackboard-entry'
import { watchDeliveries } from '@flotilla/protocol/blackboard-limits'
import type { Command } from 'commander'
import { Option } from 'commander'
import { commandAction, numberOption, operand, textOption } from '../command-action.ts'
import type { CommandLine } from '../command-action.ts'
import type { CliDeps, CommandContext } from '../context.ts'
import { wholeNumber } from '../number-argument.ts'
import { readValue } from '../read-value.ts'
import { oneLine } from '../terminal/color.ts'
import { formatTime } from '../terminal/format.ts'
import { renderTable } from '../terminal/table.ts'

export function addBlackboardCommand(program: Command, deps: CliDeps): void {
  const blackboard = program
    .command('blackboard')
    .description(
      'Lists entries of the blackboard under a prefix; --json shows whole values. Entries under history/ are append-only.',
    )
    .argument('[prefix]', 'only keys that start with it', '')
    .addHelpText(
      'after',
      `
Examples:
  $ flotilla blackboard output/
  $ flotilla blackboard get output/report
  $ flotilla blackboard set goals/week '"ship it"' --expect 0
  $ flotilla blackboard set output/prices @prices.json
  $ flotilla blackboard watch auditor 'output/**' --tell steer`,
    )
    .action(commandAction(deps, list))
  blackboard
    .command('get')
    .summary('the whole value of one key')
    .argument('<key>', 'the key')
    .addHelpText('after', '\nExample:\n  $ flotilla blackboard get output/report')
    .action(commandAction(deps, get))
  blackboard
    .command('set')
    .summary('write one entry')
    .argument('<key>', 'the key')
    .argument('<value>', 'JSON or text; @file reads it from a file')
    .option(
      '--expect <version>',
      'only replace this version; 0 when the key must be new',
      wholeNumber(0, 1e15),
    )
    .option('--ttl <seconds>', 'delete it after this time', wholeNumber(1, 316_224_000))
    .addHelpText('after', `\nExample:\n  $ flotilla blackboard set status/release '{"frozen": true}'`)
    .action(commandAction(deps, set))
  blackboard
    .command('delete')
    .summary('delete one entry')
    .argument('<key>', 'the key')
    .addHelpText('after', '\nExample:\n  $ flotilla blackboard delete status/release')
    .action(commandAction(deps, remove))
  blackboard
    .command('watches')
    .summary('which agents watch which keys')
    .addHelpText('after', '\nExample:\n  $ flotilla blackboard watches')
    .action(commandAction(deps, watches))
  blackboard
    .command('watch')
    .summary('notify an agent when others write')
    .description(
      'Notifies an agent when others write to keys that match a pattern: * matches within a segment, ** any number of segments. run: starts a run. steer: adds a message to its current run, or starts a run if it is idle.',
    )
    .argument('<agent>', 'id of the agent')
    .argument('<pattern>', 'pattern of keys')
    .addOption(new Option('--tell <how>', 'how it is notified').choices([...watchDeliveries]).default('run'))
    .addHelpText('after', `\nExample:\n  $ flotilla blackboard watch writer 'output/*'`)
    .action(commandAction(deps, watch))
  blackboard
    .command('unwatch')
    .summary('end that')
    .argument('<agent>', 'id of the agent')
    .argument('<pattern>', 'the pattern, as flotilla blackboard watches shows it')
    .addHelpText('after', `\nExample:\n  $ flotilla blackboard unwatch writer 'output/*'`)
    .action(commandAction(deps, unwatch))
}

const titlesOf = (...names: string[]) => names.map((title) => ({ title }))

async function list(context: CommandContext, line: CommandLine): Promise<void> {
  const { terminal, signal } = context
  const reply = await (
    await context.mesh()
  ).call('blackboard', { query: { prefix: line.operands[0] ?? '' }, signal })
  terminal.printJson(reply)
  if (reply.entries.length === 0) return terminal.print('Nothing there.')
  terminal.print(
    ...renderTable(
      [{ title: 'KEY' }, { title: 'VERSION', align: 'right' }, ...titlesOf('BY', 'UPDATED (UTC)', 'VALUE')],
      reply.entries.map((entry) => [
        entry.key,
        `${entry.version}`,
        entry.written_by,
        formatTime(entry.updated_at),
        oneLine(typeof entry.value === 'string' ? entry.value : JSON.stringify(entry.value), 80),
      ]),
    ),
  )
}

async function get(context: CommandContext, line: CommandLine): Promise<void> {
  const { terminal, signal } = context
  const entry = await (
    await context.mesh()
  ).call('blackboardEntry', { params: { key: operand(line, 0) }, signal })
  terminal.printJson(entry)
  const text = typeof entry.value === 'string' ? entry.value : JSON.stringify(entry.value, null, 2)
  terminal.print(...text.split('\n').map((one) => oneLine(one, 100_000)), entryWords(entry))
}

async function set(context: CommandContext, line: CommandLine): Promise<void> {
  const { terminal, signal } = context
  const [expected, ttl] = [numberOption(line, 'expect'), numberOption(line, 'ttl')]
  const entry = await (
    await context.mesh()
  ).call('blackboardPut', {
    params: { key: operand(line, 0) },
    body: {
      value: valueOf(await readValue(operand(line, 1))),
      ...(expected === undefined ? {} : { expected_version: expected }),
      ...(ttl === undefined ? {} : { ttl_s: ttl }),
    },
    signal,
  })
  terminal.printJson(entry)
  terminal.print(entryWords(entry))
}

async function remove(context: CommandContext, line: CommandLine): Promise<void> {
  const reply = await (
    await context.mesh()
  ).call('blackboardDelete', { params: { key: operand(line, 0) }, signal: context.signal })
  context.terminal.printJson(reply)
  context.terminal.print(`${reply.deleted} is deleted.`)
}

async function watches(context: CommandContext): Promise<void> {
  const { terminal, signal } = context
  const reply = await (await context.mesh()).call('blackboardWatchList', { signal })
  terminal.printJson(reply)
  if (reply.watches.length === 0) return terminal.print('No agent watches anything.')
  terminal.print(
    ...renderTable(
      titlesOf('AGENT', 'PATTERN', 'TOLD BY', 'SET BY', 'WAITING', 'WHY'),
      reply.watches.map((one) => [
        one.agent_id,
        one.pattern,
        one.tell,
        one.created_by,
        `${one.waiting}`,
        oneLine(one.held ?? '', 100),
      ]),
    ),
  )
}

async function watch(context: CommandContext, line: CommandLine): Promise<void> {
  const tell = watchDeliveries.find((known) => known === textOption(line, 'tell')) ?? 'run'
  await setWatch(context, line, tell)
  context.terminal.print(`${operand(line, 0)} watches ${operand(line, 1)} and is notified by a ${tell}.`)
}

async function unwatch(context: CommandContext, line: CommandLine): Promise<void> {
  await setWatch(context, line, 'off')
  context.terminal.print(`${operand(line, 0)} no longer watches ${operand(line, 1)}.`)
}

async function setWatch(
  context: CommandContext,
  line: CommandLine,
  tell: 'run' | 'steer' | 'off',
): Promise<void> {
  const body = { agent_id: operand(line, 0), pattern: operand(line, 1), tell }
  const reply = await (await context.mesh()).call('blackboardWatchSet', { body, signal: context.signal })
  context.terminal.printJson(reply)
}

function entryWords({ key, version, written_by: by, expires_at: expiresAt }: BlackboardEntry): string {
  const until = expiresAt === null ? '' : `, expires at ${formatTime(expiresAt)} (UTC)`
  return `${key}: version ${version} by ${by}${until}`
}

function valueOf(text: string): BlackboardEntry['value'] {
  try {
    return JSON.parse(text) as BlackboardEntry['value']
  } catch {
    return text
  }
}
