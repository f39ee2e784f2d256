import type { Command } from 'commander'
import { commandAction } from '../command-action.ts'
import type { CliDeps, CommandContext } from '../context.ts'
import { exitCodes } from '../exit-codes.ts'
import { formatTime } from '../terminal/format.ts'
import { renderTable } from '../terminal/table.ts'

export function addWallsCommand(program: Command, deps: CliDeps): void {
  program
    .command('walls')
    .description(
      'Shows the last isolation check, made from a probe container: each wall is an isolation boundary. Exit code 1 when one fails.',
    )
    .addHelpText('after', '\nExample:\n  $ flotilla walls')
    .action(commandAction(deps, walls))
}

async function walls(context: CommandContext): Promise<void> {
  const { terminal, signal } = context
  const reply = await (await context.mesh()).call('walls', { signal })
  terminal.printJson(reply)
  if (reply.checked_at === null || reply.walls.length === 0)
    return terminal.print('The walls have not been verified: the agents are not isolated.')
  terminal.print(
    `Verified ${formatTime(reply.checked_at)} UTC`,
    ...renderTable(
      [{ title: 'WALL' }, { title: 'HOLDS' }, { title: 'DETAIL', columnsMax: 80 }],
      reply.walls.map((wall) => [
        wall.id,
        wall.holds ? terminal.color.good('yes') : terminal.color.bad('NO'),
        wall.detail,
      ]),
    ),
  )
  for (const { rung, available, detail } of reply.rungs) {
    if (rung === 'container' || available === null) continue
    terminal.print(available ? `${rung}: ${detail}` : `${rung} is not available: ${detail}`)
  }
  if (reply.walls.some((wall) => !wall.holds)) context.setExitCode(exitCodes.failed)
}
