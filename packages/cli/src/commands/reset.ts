import type { Command } from 'commander'
import { commandAction, flagOption } from '../command-action.ts'
import type { CommandLine } from '../command-action.ts'
import { CommandFailed } from '../command-failed.ts'
import type { CliDeps, CommandContext } from '../context.ts'
import { askMeshProgram } from '../mesh-process/ask-mesh-program.ts'
import { holdsWallet } from '../mesh-process/mesh-paths.ts'
import { meshToStop } from '../mesh-process/stop-mesh.ts'
import { confirmByTyping } from '../terminal/confirm.ts'

/** Long enough for a large fleet and a killed mesh's lease, because a timeout would leave a half-removed fleet. */
const timeoutMs = 24 * 3600_000

export function addResetCommand(program: Command, deps: CliDeps): void {
  program
    .command('reset')
    .description(
      'Removes the containers, volumes and network of a home, then the home folder itself: agents, their files, costs and the audit log are lost.',
    )
    .option('-y, --yes', 'do not ask')
    .addHelpText('after', '\nExample:\n  $ flotilla reset --home /srv/old-fleet')
    .action(commandAction(deps, reset))
}

async function reset(context: CommandContext, line: CommandLine): Promise<void> {
  const { terminal, place, environment } = context
  const running = await meshToStop(place.home)
  if (running !== null) {
    throw new CommandFailed('mesh-runs', {
      detail: `The mesh of ${place.home} is still running (process ${running.pid}).`,
      repair: environment.isPod
        ? 'Put its pod into restore mode (deploy/kubernetes/restore.yaml, or restore.enabled=true of the chart), and run the command there.'
        : 'Stop the mesh first: flotilla stop',
    })
  }
  if (!flagOption(line, 'yes')) {
    await confirmByTyping(context, {
      what: `reset removes ${place.home} permanently`,
      question: `${walletWarning(place.home)}Remove ${place.home} permanently?`,
      answer: 'yes',
    })
  }
  terminal.progress.step('Removing containers, volumes and network')
  await removeFleet(context, place.home)
  terminal.progress.done()
  terminal.printJson({ removed: place.home })
  terminal.print(`The fleet of ${place.home} is removed.`)
}

/** Returns a warning for a home that contains a wallet; empty for any other home. */
export function walletWarning(home: string): string {
  return holdsWallet(home)
    ? 'It contains the seed of a wallet: without its words or an encrypted backup, the funds on its addresses are lost. '
    : ''
}

/** Removes the containers, volumes and network of a home, then its files. Other files in the folder stay. */
export async function removeFleet(
  { environment, signal }: Pick<CommandContext, 'environment' | 'signal'>,
  home: string,
): Promise<void> {
  await askMeshProgram({
    verb: 'reset',
    home,
    environment: environment.childEnvironment({}),
    signal,
    timeoutMs,
  })
}
