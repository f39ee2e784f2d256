import type { Command } from 'commander'
import { commandAction, flagOption } from '../command-action.ts'
import type { CommandLine } from '../command-action.ts'
import { CommandFailed } from '../command-failed.ts'
import type { CliDeps, CommandContext } from '../context.ts'
import { askMeshProgram } from '../mesh-process/ask-mesh-program.ts'
import { holdsWallet } from '../mesh-process/mesh-paths.ts'
import { meshToStop } from '../mesh-process/stop-mesh.ts'
import { confirmByTyping } from '../terminal/confirm.ts'

/** A large fleet goes a few agents at a time, after the lease of a mesh that was killed; cut off midway it is half there. */
const timeoutMs = 24 * 3600_000

export function addResetCommand(program: Command, deps: CliDeps): void {
  program
    .command('reset')
    .description(
      'Removes the containers, volumes and network of a home, then the home folder itself: agents, their files, costs and journal are gone.',
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
      detail: `The mesh of ${place.home} still runs (process ${running.pid}).`,
      repair: environment.isPod
        ? 'Have its pod wait in place of working (deploy/kubernetes/restore.yaml, or restore.enabled=true of the chart), and do it there.'
        : 'Stop it first: flotilla stop',
    })
  }
  if (!flagOption(line, 'yes')) {
    await confirmByTyping(context, {
      what: `reset removes ${place.home} for good`,
      question: `${walletWarning(place.home)}Remove ${place.home} for good?`,
      answer: 'yes',
    })
  }
  terminal.progress.step('Removing containers, volumes and network')
  await removeFleet(context, place.home)
  terminal.progress.done()
  terminal.printJson({ removed: place.home })
  terminal.print(`The fleet of ${place.home} is gone.`)
}

/** Before a home is removed: what of it is money. Empty where there is none. */
export function walletWarning(home: string): string {
  return holdsWallet(home)
    ? 'The seed of a wallet is in it: without its words, or an encrypted backup, all that its addresses hold is lost. '
    : ''
}

/** Removes what the engine holds of a home, then the home; other things in its folder stay. */
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
