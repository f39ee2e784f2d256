import type { WatchView } from '@flotilla/protocol/watch-api'
import type { Command } from 'commander'
import { commandAction, numberOption } from '../command-action.ts'
import type { CommandLine } from '../command-action.ts'
import type { CliDeps, CommandContext } from '../context.ts'
import { exitCodes } from '../exit-codes.ts'
import { wholeNumber } from '../number-argument.ts'
import { oneLine } from '../terminal/color.ts'
import { formatBytes, formatTime } from '../terminal/format.ts'
import { renderTable } from '../terminal/table.ts'
import { addWatcherChanges } from './watcher-changes.ts'

const example = `
Example of config/watchers.yaml in the home folder:
  watchers:
    - path: /srv/inbox
      pattern: "*.csv"
      agent: analyst
      message: "New file {filename}: {filepath}. Summarize what it contains."
      when: size_bytes > 0        # optional; fields filename, filepath, size_bytes, change

The mesh checks the folder every 5 seconds. Files that exist when the mesh starts do not start a run. A file that is
added or changed later starts a run when it no longer changes. A name that begins with a dot is matched only by a
pattern that begins with one.`

export function addWatchersCommand(program: Command, deps: CliDeps): void {
  const watchers = program
    .command('watchers')
    .description(
      'File watchers, stored in config/watchers.yaml, which you may also edit by hand; it is reloaded when it changes.',
    )
    .addHelpText(
      'after',
      `${example}\n\nThe same in one line:\n  $ flotilla watchers add analyst /srv/inbox --pattern "*.csv" --message "New file {filepath}. Summarize it."`,
    )
  watchers
    .command('list', { isDefault: true })
    .summary('watchers and their state')
    .description('Lists the active watchers, how many files they know, and how many wait.')
    .addHelpText('after', '\nExample:\n  $ flotilla watchers list')
    .action(commandAction(deps, list))
  addWatcherChanges(watchers, deps)
  watchers
    .command('check')
    .summary('read config/watchers.yaml and show what it matches')
    .description('Reads the current file and shows what each watcher matches now. Starts no runs.')
    .addHelpText('after', `${example}\n\n  $ flotilla watchers check`)
    .action(commandAction(deps, check))
  watchers
    .command('history')
    .summary('runs that watchers started')
    .description('Lists the files that started runs, newest first, and how the runs ended.')
    .option('--limit <count>', 'how many', wholeNumber(1, 500), 50)
    .addHelpText('after', '\nExample:\n  $ flotilla watchers history --limit 10')
    .action(commandAction(deps, history))
}

const titles = (...names: string[]) => names.map((title) => ({ title }))

async function list(context: CommandContext): Promise<void> {
  const { terminal, signal } = context
  const reply = await (await context.mesh()).call('watchers', { signal })
  terminal.printJson(reply)
  if (reply.broken !== null) {
    terminal.print(reply.broken, 'Until config/watchers.yaml is corrected, its last valid version applies.')
  }
  if (reply.watchers.length === 0) {
    terminal.hint('No watchers yet. Next: flotilla watchers add AGENT FOLDER --message "..."')
    return
  }
  const rows = reply.watchers.map((view) => [
    oneLine(`${view.path}/${view.pattern}`, 60),
    view.agent,
    view.files === null ? '-' : String(view.files),
    String(view.waiting),
    String(view.fired),
    oneLine(stateOf(view), 100),
  ])
  terminal.print(...renderTable(titles('WATCHES', 'AGENT', 'FILES', 'WAITING', 'FIRED', 'STATE'), rows))
  if (reply.polls.skipped > 0) {
    terminal.print(
      `${reply.polls.skipped} of ${reply.polls.done + reply.polls.skipped} polls were skipped because the previous one was still running; the longest took ${reply.polls.longest_ms} ms.`,
    )
  }
}

function stateOf(view: WatchView): string {
  const words = [view.trouble, view.held === null ? null : `waits: ${view.held}`].filter(
    (part) => part !== null,
  )
  if (words.length > 0) return words.join('; ')
  return view.files === null ? 'not checked yet' : 'watching'
}

async function check(context: CommandContext): Promise<void> {
  const { terminal, signal } = context
  const reply = await (await context.mesh()).call('watchersCheck', { signal })
  terminal.printJson(reply)
  if (reply.broken !== null) {
    terminal.print(reply.broken)
    context.setExitCode(exitCodes.failed)
    return
  }
  if (reply.watchers.length === 0) {
    terminal.print(
      'config/watchers.yaml has no watchers, or does not exist. An example:',
      ...example.split('\n'),
    )
    return
  }
  for (const one of reply.watchers) {
    const sample = one.names.map((name) => oneLine(name, 60)).join(', ')
    terminal.print(
      `Line ${one.line}: ${oneLine(`${one.path}/${one.pattern}`, 100)} notifies ${one.agent}${one.when === null ? '' : ` when ${oneLine(one.when, 100)}`}`,
      `  matches ${one.files} ${one.files === 1 ? 'file' : 'files'} now${sample === '' ? '' : `: ${sample}${one.files > one.names.length ? ', ...' : ''}`}`,
      ...(one.trouble === null ? [] : [`  ${one.trouble}`]),
    )
  }
}

async function history(context: CommandContext, line: CommandLine): Promise<void> {
  const { terminal, signal } = context
  const reply = await (
    await context.mesh()
  ).call('watcherHistory', { query: { limit: numberOption(line, 'limit') ?? 50 }, signal })
  terminal.printJson(reply)
  const rows = reply.fired.map((one) => [
    formatTime(one.fired_at),
    one.agent_id,
    one.change,
    oneLine(one.filepath, 60),
    formatBytes(one.size_bytes),
    one.run_id,
    one.state ?? 'gone',
    oneLine(one.outcome ?? '', 60),
  ])
  const heads = titles('FIRED (UTC)', 'AGENT', 'CHANGE', 'FILE', 'SIZE', 'RUN', 'STATE', 'OUTCOME')
  terminal.print(...(rows.length === 0 ? ['No watcher has fired yet.'] : renderTable(heads, rows)))
}
