import type { WatcherFields, WatchView } from '@flotilla/protocol/watch-api'
import type { Command } from 'commander'
import { commandAction, operand, textOption } from '../command-action.ts'
import type { CommandLine } from '../command-action.ts'
import { CommandFailed } from '../command-failed.ts'
import type { CliDeps, CommandContext } from '../context.ts'
import { oneLine } from '../terminal/color.ts'
import { resolve } from 'node:path'

const shownMaxChars = 200

/** Registers the verbs that write `config/watchers.yaml`; entries and comments of others stay as they are. */
export function addWatcherChanges(watchers: Command, deps: CliDeps): void {
  watchers
    .command('add')
    .summary('watch a folder')
    .description('Watches a folder of the machine of the mesh: a new or changed file there starts a run.')
    .argument('<agent>', 'id of the agent')
    .argument('<folder>', 'the folder')
    .requiredOption('--message <text>', 'message to the agent; {filename} and {filepath} name the file')
    .option('--pattern <names>', 'only files with such names', '*')
    .option('--when <condition>', 'only files for which this holds, such as size_bytes > 0')
    .addHelpText(
      'after',
      `\nExample:\n  $ flotilla watchers add analyst /srv/inbox --pattern "*.csv" --message "Summarize {filepath}."`,
    )
    .action(commandAction(deps, add))
  watchers
    .command('remove')
    .summary('stop watching a folder')
    .description('Removes a watcher from config/watchers.yaml. Runs that have started continue.')
    .argument('<folder>', 'the folder, as flotilla watchers lists it')
    .option('--pattern <names>', 'which watcher, if the folder has several')
    .addHelpText('after', '\nExample:\n  $ flotilla watchers remove /srv/inbox')
    .action(commandAction(deps, remove))
}

async function add(context: CommandContext, line: CommandLine): Promise<void> {
  const { terminal, signal } = context
  const after: WatcherFields = {
    agent: operand(line, 0),
    path: resolve(operand(line, 1)),
    pattern: textOption(line, 'pattern') ?? '*',
    message: textOption(line, 'message') ?? '',
    when: textOption(line, 'when') ?? null,
  }
  const reply = await (await context.mesh()).call('watcherChange', { body: { before: null, after }, signal })
  terminal.printJson(reply)
  const shown = oneLine(`${after.path}/${after.pattern}`, shownMaxChars)
  terminal.print(
    `${shown} is watched: each new or changed file starts a run of ${after.agent}.`,
    ...reply.notices,
  )
  terminal.hint('Next: flotilla watchers check')
}

async function remove(context: CommandContext, line: CommandLine): Promise<void> {
  const { terminal, signal } = context
  const client = await context.mesh()
  const pattern = textOption(line, 'pattern')
  const folder = resolve(operand(line, 0))
  const { watchers } = await client.call('watchers', { signal })
  const meant = watchers.filter(
    (watch) => watch.path === folder && (pattern === undefined || watch.pattern === pattern),
  )
  const [one] = meant
  if (one === undefined || meant.length > 1) throw unclear(folder, meant)
  const { path, agent, message, when } = one
  const before = { path, pattern: one.pattern, agent, message, when }
  const reply = await client.call('watcherChange', { body: { before, after: null }, signal })
  terminal.printJson(reply)
  terminal.print(`${oneLine(`${path}/${one.pattern}`, shownMaxChars)} is no longer watched.`)
}

function unclear(folder: string, meant: readonly Pick<WatchView, 'pattern' | 'line'>[]): CommandFailed {
  const shown = oneLine(folder, shownMaxChars)
  if (meant.length === 0)
    return new CommandFailed('not-found', {
      detail: `${shown} is not watched.`,
      repair: 'List the watchers with flotilla watchers.',
    })
  const patterns = [...new Set(meant.map(({ pattern }) => pattern))]
  return new CommandFailed('bad-parameters', {
    detail: `${shown} has several watchers.`,
    repair:
      patterns.length > 1
        ? `Name one: ${patterns.map((pattern) => `--pattern '${pattern}'`).join(', ')}.`
        : `Remove one in config/watchers.yaml: lines ${meant.map(({ line }) => line).join(', ')}.`,
  })
}
