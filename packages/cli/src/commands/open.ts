import { spawn } from 'node:child_process'
import type { Command } from 'commander'
import { commandAction } from '../command-action.ts'
import type { CliDeps, CommandContext } from '../context.ts'

/** xdg-open fails within this time if there is no browser. */
const opensWithinMs = 5000

export function addOpenCommand(program: Command, deps: CliDeps): void {
  program
    .command('open')
    .description('Prints the address of the dashboard, and opens it if there is a browser and a terminal.')
    .addHelpText('after', '\nExamples:\n  $ flotilla open\n  $ flotilla open --json | jq -r .url')
    .action(commandAction(deps, openDashboard))
}

async function openDashboard(context: CommandContext): Promise<void> {
  const { terminal, environment } = context
  const url = new URL('/', (await context.mesh()).baseUrl).href
  const opened = terminal.isInteractive && environment.hasDisplay && (await openInBrowser(url))
  terminal.printJson({ url, opened })
  terminal.print(url)
}

/** Resolves to false if no program could open the address. */
function openInBrowser(url: string): Promise<boolean> {
  return new Promise<boolean>((resolve) => {
    const opener = spawn('xdg-open', [url], { stdio: 'ignore', detached: true, timeout: opensWithinMs })
    opener.once('error', () => resolve(false))
    opener.once('exit', (code) => resolve(code === 0))
    opener.unref()
  }).catch(() => false)
}
