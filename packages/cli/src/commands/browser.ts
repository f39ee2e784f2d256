import { screenPath } from '@flotilla/protocol/browser-endpoints'
import type { BrowserView } from '@flotilla/protocol/browser-api'
import type { Command } from 'commander'
import { commandAction, flagOption } from '../command-action.ts'
import type { CommandLine } from '../command-action.ts'
import { CommandFailed } from '../command-failed.ts'
import type { CliDeps, CommandContext } from '../context.ts'
import { exitCodes } from '../exit-codes.ts'
import { oneLine } from '../terminal/color.ts'
import { formatTime } from '../terminal/format.ts'
import { renderTable } from '../terminal/table.ts'

export function addBrowserCommand(program: Command, deps: CliDeps): void {
  program
    .command('browser')
    .description(
      'Shows the browsers of agents and their open tabs. The browser of an agent with can_use_browser opens at its first use and closes when idle; its tabs are restored.',
    )
    .argument('[agent]', 'id of one agent')
    .option('--open', 'print the address of its screen, where people can watch and take over')
    .option('--close', 'close it now')
    .addHelpText(
      'after',
      '\nExamples:\n  $ flotilla permissions set scout can_use_browser=true\n  $ flotilla browser scout --open',
    )
    .action(commandAction(deps, browser))
}

async function browser(context: CommandContext, line: CommandLine): Promise<void> {
  const { terminal, signal } = context
  const [agent] = line.operands
  const mesh = await context.mesh()
  const opens = flagOption(line, 'open')
  const closes = flagOption(line, 'close')
  if (agent === undefined && (opens || closes)) {
    throw new CommandFailed('bad-request', {
      detail: '--open and --close are about the browser of one agent',
      repair: 'Name it: flotilla browser AGENT --open.',
      exitCode: exitCodes.usage,
    })
  }
  if (agent !== undefined && closes) {
    const closed = await mesh.call('browserClose', { params: { id: agent }, signal })
    terminal.printJson(closed)
    return terminal.print(
      closed.was_open
        ? `The browser of ${agent} is ${closed.state}. Its tabs are restored at its next use.`
        : `No browser of ${agent} was open.`,
    )
  }
  const reply = await mesh.call('browsers', { signal })
  if (opens && agent !== undefined) {
    const url = new URL(screenPath(agent), mesh.baseUrl).href
    terminal.printJson({ url })
    return terminal.print(url)
  }
  const browsers = reply.browsers.filter(({ agent_id }) => agent === undefined || agent_id === agent)
  terminal.printJson({ ...reply, browsers })
  if (reply.unavailable !== null) return terminal.print(`There are no browsers: ${reply.unavailable}.`)
  if (browsers.length === 0)
    return terminal.print(`No browser was opened yet; at most ${reply.max_live} can be open at a time.`)
  terminal.print(
    ...renderTable(
      ['AGENT', 'STATE', 'SINCE (UTC)', 'WATCHED BY', 'WHAT'].map((title) => ({ title })),
      browsers.map((one) => [
        one.agent_id,
        one.state,
        one.since === 0 ? '' : formatTime(one.since),
        String(one.watchers),
        oneLine(whatOf(one), 80),
      ]),
    ),
  )
}

function whatOf({ reason, page, hand_over: handOver }: BrowserView): string {
  if (reason !== null) return reason
  if (handOver !== null) {
    return handOver.by === null
      ? 'a page needs a person: take over with --open'
      : `${handOver.by} controls the browser`
  }
  return page === null ? '' : page.url
}
