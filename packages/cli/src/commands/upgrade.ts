import { existsSync } from 'node:fs'
import { basename, dirname, join, resolve } from 'node:path'
import type { Command } from 'commander'
import { commandAction, flagOption, textOption } from '../command-action.ts'
import type { CommandLine } from '../command-action.ts'
import { CommandFailed } from '../command-failed.ts'
import type { CliDeps, CommandContext } from '../context.ts'
import { exitCodes } from '../exit-codes.ts'
import { repositoryRoot } from '../mesh-process/mesh-paths.ts'
import { confirmByTyping } from '../terminal/confirm.ts'
import { othersThatRun, prepareReplacement, requireInstalled } from '../upgrade/installed-package.ts'
import type { Replacement } from '../upgrade/installed-package.ts'
import { isOlder, readPackage } from '../upgrade/read-package.ts'
import type { ReadPackage } from '../upgrade/read-package.ts'
import {
  databaseBack,
  databaseCopies,
  runningFleet,
  startFleet,
  stopFleet,
} from '../upgrade/restart-fleet.ts'
import type { RunningFleet } from '../upgrade/restart-fleet.ts'
import { readVersion } from './version.ts'

export function addUpgradeCommand(program: Command, deps: CliDeps): void {
  program
    .command('upgrade')
    .description(
      'Replaces the installed package with another release: verifies the file, tries the new program, writes a backup, stops the fleet of the home, and starts it with the new release. If that fails, it restores the old release, its database and the fleet, and reports the reason. No release is published in a registry, so name the file.',
    )
    .option('--from <file>', 'the package file, as written by npm pack')
    .option('--sha256 <digest>', 'required SHA-256 digest of the file')
    .option('--backup <file>', 'file for the backup (default: beside the home)')
    .option('--passphrase-file <file>', 'encrypts the backup; without it the backup contains no secrets')
    .option('-y, --yes', 'do not ask')
    .addHelpText(
      'after',
      '\nExamples:\n  $ flotilla upgrade --from ./flotilla-0.2.0.tgz\n  $ flotilla upgrade --from ./flotilla-0.2.0.tgz --sha256 9f2c… --yes',
    )
    .action(commandAction(deps, upgrade))
}

interface Plan {
  readonly from: string
  readonly to: ReadPackage
  readonly fleet: RunningFleet | null
  /** The backup file; null for a home that was never started, which contains nothing to back up. */
  readonly backup: string | null
}

async function upgrade(context: CommandContext, line: CommandLine): Promise<void> {
  const { terminal, environment } = context
  await requireInstalled(repositoryRoot, environment.command)
  const from = textOption(line, 'from')
  if (from === undefined) {
    throw new CommandFailed('nothing-to-upgrade-to', {
      detail: 'No release of Flotilla is published in a package registry, so a file is required.',
      repair: 'Name the file of the release: flotilla upgrade --from flotilla-VERSION.tgz',
      exitCode: exitCodes.usage,
    })
  }
  terminal.progress.step('Reading the package')
  const plan = await planOf(context, line, resolve(from)).catch((error: unknown) => {
    terminal.progress.fail()
    throw error
  })
  terminal.progress.done()
  showPlan(context, plan)
  if (!flagOption(line, 'yes')) {
    await confirmByTyping(context, {
      what: `upgrade stops the fleet of ${context.place.home} and replaces ${repositoryRoot}`,
      question: 'Go on?',
      answer: 'yes',
    })
  }
  // Loads all modules that are needed from here on, because the files of this package are about to be replaced.
  await import('../print-error.ts')
  await upgradeTo(context, line, plan)
  terminal.progress.done()
  const { to, backup, fleet } = plan
  terminal.printJson({
    from: plan.from,
    to: to.version,
    sha256: to.sha256,
    backup,
    restarted: fleet !== null,
  })
  terminal.hint(
    `Flotilla ${to.version} is installed${fleet === null ? '' : ', and the fleet runs with it'}.`,
    ...(backup === null ? [] : [`The backup of the previous fleet is ${backup}.`]),
    ...(fleet === null ? ['Start the fleet with:  flotilla start -d'] : []),
  )
}

async function planOf(context: CommandContext, line: CommandLine, file: string): Promise<Plan> {
  const { home } = context.place
  const [to, from, fleet] = await Promise.all([
    readPackage(file, textOption(line, 'sha256')),
    readVersion(),
    runningFleet(home),
  ])
  if (isOlder(to.version, from)) {
    throw new CommandFailed('package-older', {
      detail: `${file} is release ${to.version}, and ${from} is installed: an older release cannot open the database of a newer one.`,
      repair:
        'To go back, restore a backup of that release into a new home: npm install -g FILE, then flotilla restore.',
    })
  }
  const others = await othersThatRun(repositoryRoot, fleet?.pid ?? null)
  if (others.length > 0) {
    throw new CommandFailed('mesh-runs', {
      detail: `Other fleets run from this package: ${others.join(', ')}.`,
      repair: 'Stop them first (flotilla stop --home HOME), and start them again afterwards.',
    })
  }
  const hasFleet = existsSync(join(home, 'data', 'mesh.db'))
  const stamp = new Date(context.clock.now()).toISOString().replaceAll(/[-:]|\.\d+/g, '')
  const beside = join(dirname(home), `${basename(home)}-before-${to.version}-${stamp}.backup`)
  return { from, to, fleet, backup: hasFleet ? resolve(textOption(line, 'backup') ?? beside) : null }
}

function showPlan({ terminal, place }: CommandContext, { from, to, fleet, backup }: Plan): void {
  terminal.note(
    `From ${from} to ${to.version} (SHA-256 ${to.sha256}):`,
    ...(backup === null ? [] : [`  back up ${place.home} to ${backup}`]),
    ...(fleet === null ? [] : [`  stop the fleet (process ${fleet.pid}); its runs are kept`]),
    `  replace ${repositoryRoot} with the new release`,
    ...(fleet === null ? [] : ['  start the fleet again, or roll back if that fails']),
  )
}

async function upgradeTo(context: CommandContext, line: CommandLine, plan: Plan): Promise<void> {
  const { terminal, signal } = context
  terminal.progress.step(`Trying release ${plan.to.version}`)
  const { file, version } = plan.to
  const replacement = await prepareReplacement(repositoryRoot, { file, version, signal }).catch(
    (error: unknown) => {
      terminal.progress.fail()
      throw error
    },
  )
  // From here on the first Ctrl-C is ignored, so that no half-installed release remains; the second ends the command.
  const giveBack = context.onInterrupt(() =>
    terminal.note('The upgrade is completed or rolled back first; this takes at most a minute.'),
  )
  try {
    if (plan.backup !== null) await backUp(context, line, plan.backup)
    await replace(context, plan, replacement)
  } finally {
    giveBack()
    await replacement.clear()
  }
}

async function backUp(context: CommandContext, line: CommandLine, file: string): Promise<void> {
  const { askForBackup, noteMissingOf } = await import('./backup.ts')
  context.terminal.progress.step('Backing up')
  const passphraseFile = textOption(line, 'passphraseFile')
  try {
    noteMissingOf(context, await askForBackup(context, { file, passphraseFile }))
  } catch (error) {
    context.terminal.progress.fail()
    throw error
  }
}

async function replace(
  context: CommandContext,
  { fleet, from, to }: Plan,
  replacement: Replacement,
): Promise<void> {
  const { terminal, place } = context
  const copies = await databaseCopies(place.home)
  if (fleet !== null) {
    terminal.progress.step('Stopping the fleet')
    await stopFleet(context, fleet)
  }
  terminal.progress.step(`Installing ${to.version}`)
  await replacement.swap()
  if (fleet === null) return
  try {
    terminal.progress.step(`Starting the fleet with ${to.version}`)
    await startFleet(context, repositoryRoot, fleet)
  } catch (error) {
    terminal.progress.fail()
    terminal.progress.step(`Going back to ${from}`)
    // A mesh of the new release that started too late would still hold the lock of the home.
    const late = await runningFleet(place.home)
    if (late !== null) await stopFleet(context, late)
    await replacement.swapBack()
    const isBack = await databaseBack(place.home, copies)
    const again = await startFleet(context, repositoryRoot, fleet).then(
      () => `The fleet runs with ${from} again${isBack ? ', with its previous database' : ''}.`,
      (reason: unknown) => `${from} is installed again, but does not start either: ${errorText(reason)}`,
    )
    terminal.progress.done()
    throw new CommandFailed('upgrade-rolled-back', {
      detail: `${to.version} did not start: ${errorText(error)}\n  ${again}`,
      repair: 'Fix the reported error and try again; nothing was lost.',
    })
  }
}

function errorText(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
